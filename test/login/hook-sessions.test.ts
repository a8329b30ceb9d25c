// What a hook does to the session of its connection does not outlive the sign-in.
import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { sql, type RawBuilder } from 'kysely'
import { Browser, onEachEngine, started, startedService, startOAuthProvider } from '#test/harness/index.ts'
import type { Hook } from '../../src/login/hooks.ts'
import { clockWith } from '../harness/manual-clock.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { signIn } from './harness.ts'

onEachEngine('the session of a hook', (engine) => {
  let hook: Hook = () => undefined
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    parts: { clock: clockWith({ 5_000: 200 }) },
    login: { onSignIn: (context) => hook(context) },
  }))
  before(async () => {
    await service.database.transaction((tx) => sql`create table letters (letter text)`.execute(tx))
  })
  let people = 0
  beforeEach(() => {
    people += 1
    provider.profile = { id: `person-${people}`, displayName: 'Ada' }
  })
  const during = async (statement: RawBuilder<unknown>): Promise<string> => {
    hook = async ({ tx }) => void (await statement.execute(tx))
    return signIn(service, new Browser())
  }
  const worksAsBefore = async (): Promise<void> => {
    for (let count = 0; count < 30; count += 1) {
      const answer = await postWebhook(service, { id: `${people}-${count}`, type: 'a' })
      assert.equal(answer.status, 200)
    }
    hook = async ({ tx }) => void (await sql`insert into letters values ('a')`.execute(tx))
    assert.equal(await signIn(service, new Browser()), '/dashboard')
  }

  const beyond = {
    postgres: [
      'set default_transaction_read_only = on',
      'select pg_advisory_lock(1)',
      'listen somebody',
      'commit',
    ],
    sqlite: ['pragma query_only = on', 'commit'],
  }
  for (const statement of beyond[engine.name])
    test(`${statement} fails the sign-in`, async () => {
      assert.match(await during(sql.raw(statement)), /^\/login\?error=hook-failed/)
      await worksAsBefore()
    })

  if (engine.name === 'sqlite') {
    test('temporary tables end with the hook', async () => {
      for (let count = 0; count < 2; count += 1)
        assert.equal(await during(sql`create temp table mine (a integer)`), '/dashboard')
    })
    return
  }

  test('what functions and DO blocks change ends with the hook', async () => {
    const block = sql`do $$ begin
      perform set_config('default_transaction_read_only', 'on', false);
      perform set_config('search_path', 'pg_catalog', false);
      perform set_config('role', 'pg_monitor', true);
      create temp table mine (a integer);
      perform pg_advisory_lock(42); end $$`
    for (let count = 0; count < 2; count += 1) assert.equal(await during(block), '/dashboard')
    hook = async ({ tx }) => {
      await block.execute(tx)
      throw new Error('no')
    }
    assert.match(await signIn(service, new Browser()), /hook-failed/)
    const { rows } = await sql`select pid from pg_locks where locktype = 'advisory' and objid = 42
      and database = (select oid from pg_database where datname = current_database())`.execute(
      service.database.reader,
    )
    assert.deepEqual(rows, [])
    await worksAsBefore()
  })

  test('so does what a query or a trigger changes', async () => {
    await service.database.transaction(async (tx) => {
      await sql`create table watched (a integer)`.execute(tx)
      await sql`create function poison() returns trigger language plpgsql as $$ begin
        perform set_config('default_transaction_read_only', 'on', false); return new; end $$`.execute(tx)
      await sql`create trigger poison before insert on watched for each row execute function poison()`.execute(
        tx,
      )
    })
    for (const statement of [sql`select 1 as a into temp mine`, sql`insert into watched values (1)`])
      for (let count = 0; count < 2; count += 1) assert.equal(await during(statement), '/dashboard')
    await worksAsBefore()
  })

  test('a statement that is running at the time limit of the hook is canceled', async () => {
    let began = 0
    hook = async ({ tx }) => {
      began = performance.now()
      await sql`select pg_sleep(600)`.execute(tx)
    }
    assert.match(await signIn(service, new Browser()), /hook-failed/)
    // The transaction's own limit is ten seconds.
    assert.ok(performance.now() - began < 8_000, 'the browser does not wait for the statement')
    const running = async (): Promise<number> => {
      const { rows } = await sql`select pid from pg_stat_activity where datname = current_database()
        and query like '%pg_sleep(600)%' and pid <> pg_backend_pid() and state <> 'idle'`.execute(
        service.database.reader,
      )
      return rows.length
    }
    await eventually(async () => (await running()) === 0, 'the statement has ended', 8_000)
    await worksAsBefore()
  })
})
