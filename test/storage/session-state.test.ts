// What a handler does to the session of its connection does not reach the next event on that connection.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../src/storage/database.ts'
import { applyProductMigrations } from '../../src/storage/product-migrations.ts'
import type { SavepointScope } from '../../src/storage/sharing/savepoint-scope.ts'
import type { SharedTransactions } from '../../src/storage/sharing/shared-transaction-queue.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { kindOf, rejectBeyondTransaction, StatementRejected } from '../../src/storage/statement-kinds.ts'
import { onEachEngine, started } from '../harness/index.ts'

const rejected = {
  postgres: [
    'set default_transaction_read_only = on',
    'SET SESSION search_path TO other',
    '/* a /* nested */ comment */ set role nobody',
    '; set default_transaction_read_only = on',
    ' ;; commit',
    '-- a comment\n reset all',
    'discard all',
    'listen somebody',
    'unlisten *',
    'prepare mine as select 1',
    'deallocate all',
    "select set_config('search_path', lower('OTHER'), false)",
    "select pg_catalog.\"set_config\"('search_path', 'other', FALSE)",
    'with a as (select 1) select pg_advisory_lock(1)',
    'select pg_try_advisory_lock_shared (1, 2)',
    'select pg_advisory_unlock_all()',
    'declare mine cursor with hold for select 1',
    'set session characteristics as transaction read only',
  ],
  sqlite: [
    'pragma query_only = on',
    '/* a */ PRAGMA main.foreign_keys(0)',
    "attach 'other.db' as other",
    'detach other',
    '; pragma query_only = on',
    ';/* */; commit',
  ],
}
const allowed = {
  postgres: [
    'set local search_path to public',
    "select set_config('postern.mine', 'a', true)",
    'select pg_advisory_xact_lock(1)',
    "select 'pg_advisory_lock(1)', $$set_config(a, b, false)$$, E'it\\'s; reset all' -- discard",
    'create temporary table mine (a integer) on commit drop',
    'do $$ begin perform 1; end $$',
  ],
  sqlite: ['pragma table_info(letters)', "select 'pragma query_only = on'"],
}

onEachEngine('the session of a handler', (engine) => {
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  let sharing: SharedTransactions<string>
  before(async () => {
    await database.transaction((tx) => sql`create table letters (letter text)`.execute(tx))
    sharing = database.share<string>(() => Promise.resolve(undefined))
  })
  const begin = (alone: boolean): SavepointScope<string> =>
    sharing.begin({ alone, timeLimit: 9_000, turnLimit: 9_000, onEnd() {}, group: 'test' })
  const commit = async (alone: boolean, work: (tx: Tx) => Promise<unknown>): Promise<void> => {
    const scope = begin(alone)
    try {
      await work(scope.tx)
      const { committed } = await scope.release('')
      await committed
    } finally {
      await scope.rollback()
    }
  }

  test('what would outlive the transaction is rejected, with what to use instead', async () => {
    for (const statement of rejected[engine.name]) {
      const scope = begin(false)
      await assert.rejects(sql.raw(statement).execute(scope.tx), (error) => {
        assert.ok(error instanceof StatementRejected, `${statement}: ${String(error)}`)
        assert.match(error.message, /^remove ".+": ./s)
        return true
      })
      await scope.rollback()
    }
  })

  test('what ends with the transaction is allowed', async () => {
    for (const statement of allowed[engine.name]) await commit(true, (tx) => sql.raw(statement).execute(tx))
  })

  test('a statement is scanned in one pass, whatever stands before it', () => {
    for (const before of ['/* */ -- a\n', '/*', '"', "'", '$a$ ', ' ', '$1', 'a.'])
      kindOf(engine.name, `${before.repeat(200_000)} commit`)
    const after = `${'/* a */ -- b\n'.repeat(10_000)}commit`
    assert.throws(() => rejectBeyondTransaction(engine.name, after), StatementRejected)
  })

  if (engine.name === 'sqlite') {
    test('temporary tables end with the handler', async () => {
      await commit(false, (tx) => sql`create temp table mine (a integer)`.execute(tx))
      await commit(false, (tx) => sql`create temp table mine (a integer)`.execute(tx))
      await assert.rejects(
        commit(true, (tx) => sql`select a from mine`.execute(tx)),
        /no such table/,
      )
    })

    test('a migration cannot change the settings of the connection', async () => {
      const migration = {
        name: '0001-a',
        file: 'migrations/0001-a.sql',
        sql: 'select 1; pragma query_only = on;',
      }
      await assert.rejects(applyProductMigrations(database, [migration]), /0001-a\.sql.*remove "pragma"/s)
      await commit(true, (tx) => sql`insert into letters values ('a')`.execute(tx))
    })
    return
  }

  const settings = [
    'default_transaction_read_only',
    'search_path',
    'statement_timeout',
    'lock_timeout',
    'role',
    'session_authorization',
    'client_connection_check_interval',
    'extra_float_digits',
  ]
  interface State {
    settings: unknown
    mine: unknown
    temporary: unknown
    locks: unknown
    channels: unknown
    cursors: unknown
  }
  const rowsOf = async (tx: Tx, statement: string): Promise<unknown> =>
    (await sql.raw(statement).execute(tx)).rows
  /** What a handler could see of the one before it. */
  const state = async (tx: Tx): Promise<State> => ({
    settings: await rowsOf(
      tx,
      `select name, setting from pg_settings where name = any (array['${settings.join("','")}']) order by name`,
    ),
    mine: await rowsOf(
      tx,
      `select coalesce(nullif(current_setting('postern.mine', true), ''), 'none') as mine`,
    ),
    temporary: await rowsOf(tx, `select relname from pg_class where relpersistence = 't'`),
    locks: await rowsOf(
      tx,
      `select objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
    ),
    channels: await rowsOf(tx, 'select pg_listening_channels() as channel'),
    cursors: await rowsOf(tx, `select name from pg_cursors where name = 'poisoned'`),
  })
  const inScope = async (alone: boolean): Promise<State & { pid: unknown }> => {
    let seen: (State & { pid: unknown }) | undefined
    await commit(alone, async (tx) => {
      seen = { ...(await state(tx)), pid: await rowsOf(tx, 'select pg_backend_pid() as pid') }
    })
    return seen!
  }
  const poison = `
    perform set_config('default_transaction_read_only', 'on', false);
    perform set_config('search_path', 'pg_catalog', false);
    perform set_config('statement_timeout', '1min', true);
    perform set_config('lock_timeout', '1min', false);
    perform set_config('postern.mine', 'poisoned', true);
    perform pg_advisory_lock(42);
    create temp table if not exists poisoned (a integer);
    execute 'declare poisoned cursor with hold for select 1';
    listen poisoned;`
  const poisonBlock = `do $do$ begin ${poison} end $do$`

  test('what functions and DO blocks change does not reach the next transaction on the connection', async () => {
    for (const alone of [true, false]) {
      const before = await inScope(alone)
      await commit(alone, (tx) => sql.raw(poisonBlock).execute(tx))
      assert.deepEqual(await inScope(alone), before)
      await database.single((db) => sql`insert into letters values ('the service')`.execute(db))
    }
  })

  test('what functions and DO blocks change does not reach the next handler of a shared transaction', async () => {
    const [first, second, third] = [begin(false), begin(false), begin(false)]
    const seen: Promise<State>[] = []
    await sql`select 1`.execute(first.tx)
    seen.push(state(second.tx))
    const { committed } = await first.release('')
    const before = await seen[0]!
    await sql.raw(poisonBlock).execute(second.tx)
    seen.push(state(third.tx))
    // On a slow machine the third one may have the next transaction, which the test before is about.
    const released = await second.release('')
    assert.deepEqual(await seen[1], before)
    await Promise.all([committed, released.committed, (await third.release('')).committed])
  })

  test('what a trigger changes does not reach the next transaction', async () => {
    await database.transaction(async (tx) => {
      await sql`create table watched (a integer)`.execute(tx)
      await sql
        .raw(
          `create function poison() returns trigger language plpgsql as $f$ begin ${poison} return new; end $f$`,
        )
        .execute(tx)
      await sql`create trigger poison before insert on watched for each row execute function poison()`.execute(
        tx,
      )
    })
    const before = await inScope(true)
    await commit(true, (tx) => sql`insert into watched values (1)`.execute(tx))
    assert.deepEqual(await inScope(true), before)
  })

  test('a temporary table of a query does not reach the next handler of a shared transaction', async () => {
    for (const table of ['temp mine', 'temporary table mine', 'pg_temp.mine', '"pg_temp".mine']) {
      const [first, second] = [begin(false), begin(false)]
      await sql.raw(`select 1 as a into ${table}`).execute(first.tx)
      const other = sql.raw(`select 1 as a into ${table}`).execute(second.tx)
      await first.release('')
      await other
      await (
        await second.release('')
      ).committed
    }
  })

  test('a handler that fails leaves no lock of its session', async () => {
    const before = await inScope(true)
    const scope = begin(true)
    await sql.raw(poisonBlock).execute(scope.tx)
    await scope.rollback()
    assert.deepEqual(await inScope(true), before)
  })
})
