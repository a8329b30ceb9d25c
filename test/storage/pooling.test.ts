// Connection poolers between the service and PostgreSQL.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { tmpdir } from 'node:os'
import pg from 'pg'
import { postern } from '../cli/command.ts'
import { emit, subscribe } from '../emitting/harness.ts'
import { onPostgres, postgres, scoped, started, startReceiver, startTestService } from '../harness/index.ts'
import { hasPgbouncer, startPgbouncer } from '../harness/pgbouncer.ts'
import { startTransactionPooler, type Pooler } from '../harness/transaction-pooler.ts'
import { createEffects, eventually, postWebhook, readEffects, writeEffect } from '../receiving/harness.ts'
import { checkDatabase, checkStandby } from '../../src/diagnostics/database.ts'
import { ok } from '../../src/diagnostics/finding.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { UnsuitablePooler } from '../../src/storage/postgres/pool/pooler-check.ts'

describe('poolers', onPostgres, () => {
  const database = started(() => postgres!.createDatabase())
  const pooler = started(() => startTransactionPooler(database.url))

  async function check(databaseUrl: string, databaseSessionUrl?: string): Promise<void> {
    await using opened = scoped(await openDatabase({ databaseUrl, databaseSessionUrl }))
    assert.equal(opened.engine, 'postgres')
    await (opened.engine === 'postgres' && opened.checkPooling())
  }

  test('a database without a pooler, and a pooler with a session URL, pass', async () => {
    await check(database.url)
    await check(database.url, database.url)
    await check(pooler.url, database.url)
  })

  for (const order of ['last', 'turn'] as const)
    for (const sessions of [1, 2, 3, 7])
      test(`a pooler that changes sessions is detected: ${sessions}, ${order === 'last' ? 'the latest first' : 'round robin'}`, async () => {
        await using changing = scoped(await startTransactionPooler(database.url, { sessions, order }))
        await assert.rejects(check(changing.url), (error: Error) => {
          assert.ok(error instanceof UnsuitablePooler)
          assert.match(
            error.message,
            /^DATABASE_URL leads to a connection pooler .*pool_mode = session.*DATABASE_SESSION_URL/,
          )
          return true
        })
        await assert.rejects(
          check(database.url, changing.url),
          /^UnsuitablePooler: DATABASE_SESSION_URL leads to a/,
        )
      })

  test('the two addresses must lead to one database', async () => {
    await using other = await postgres!.createDatabase()
    await assert.rejects(check(pooler.url, other.url), /DATABASE_SESSION_URL leads to another database/)
  })

  test('the default formats of pooled sessions must be readable', async () => {
    await using home = await postgres!.createDatabase()
    const client = new pg.Client({ connectionString: home.url })
    await client.connect()
    await client.query(`alter database ${new URL(home.url).pathname.slice(1)} set datestyle = 'German'`)
    await client.end()
    await using behind = scoped(await startTransactionPooler(home.url))
    await assert.rejects(check(behind.url, home.url), /run alter role \S+ set datestyle = 'ISO, MDY'$/)
    await check(home.url)
  })

  test('the start of a service is refused, without changing settings of the sessions of the pooler', async () => {
    await assert.rejects(startTestService(postgres!, { databaseUrl: pooler.url }), UnsuitablePooler)
    const client = new pg.Client({ connectionString: pooler.url })
    await client.connect()
    for (let n = 0; n < 10; n += 1) {
      const { rows } = await client.query<{ bound: string; scans: string }>(
        "select current_setting('statement_timeout') as bound, current_setting('enable_seqscan') as scans",
      )
      assert.deepEqual(rows, [{ bound: '0', scans: 'on' }])
    }
    await client.end()
  })

  test('postern doctor and postern migrate tell what to do', async () => {
    const env = {
      POSTERN_SECRET: 'a-master-secret-of-32-bytes-or-more',
      DATABASE_URL: pooler.url,
      DATABASE_SESSION_URL: '',
    }
    const refusal = /DATABASE_URL leads to a connection pooler that changes the session of a connection/
    const doctor = await postern(tmpdir(), ['doctor'], env)
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, new RegExp(`^✖ database: ${refusal.source}`, 'm'))
    const migrate = await postern(tmpdir(), ['migrate'], env)
    assert.equal(migrate.code, 1)
    assert.match(migrate.stderr, refusal)
    const past = { databaseUrl: pooler.url, databaseSessionUrl: database.url }
    const findings = await Array.fromAsync(checkDatabase(past, 20, async function* () {}))
    const sessions = findings.find(({ about }) => about === 'sessions')
    assert.deepEqual(sessions, ok('sessions', 'no pooler changes the sessions of connections'))
  })

  test('doctor changes no setting of the sessions of a pooler before the standby', async () => {
    await using home = await postgres!.createMigratedDatabase()
    await using behind = scoped(await startTransactionPooler(home.url))
    await using client = scoped(new pg.Client({ connectionString: behind.url }))
    const [found] = await checkStandby({ databaseReplicaUrl: behind.url, databaseSessionUrl: home.url })
    assert.match(found!.text, /not a standby/)
    await client.connect()
    const { rows } = await client.query<{ bound: string }>(
      "select current_setting('statement_timeout') as bound",
    )
    assert.deepEqual(rows, [{ bound: '0' }])
  })

  test('with a session URL, two services receive, handle, emit and deliver through it', async () => {
    await serveThrough((url) => startTransactionPooler(url, { sessions: 6 }))
  })

  test('connections through a pooler are replaced and checked after a direct session ended', async () => {
    await using opened = scoped(
      await openDatabase({ databaseUrl: pooler.url, databaseSessionUrl: database.url }),
    )
    assert.ok(opened.engine === 'postgres')
    let checked = 0
    opened.addCheck(async (client) => {
      if (client.port === Number(new URL(pooler.url).port)) checked += 1
    })
    await opened.pool.query('select 1')
    await opened.pool.query('select 1')
    assert.equal(checked, 1)
    opened.onSignal('jobs', () => undefined)
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'postern-listen' and datname = current_database()`
    await eventually(async () => (await opened.pool.query(end)).rows.length === 1, 'a direct session ended')
    await eventually(async () => {
      await opened.pool.query('select 1')
      return checked >= 2
    }, 'the connections are replaced')
    const before = checked
    await opened.pool.query('select 1')
    assert.equal(checked, before)
  })

  describe('PgBouncer', { skip: !hasPgbouncer && 'PgBouncer is not installed' }, () => {
    for (const inTurn of [false, true])
      test(`is refused if it changes sessions${inTurn ? ', round robin' : ''}`, async () => {
        await using changing = scoped(
          await startPgbouncer(database.url, { mode: 'transaction', sessions: 5, inTurn }),
        )
        await assert.rejects(
          check(changing.url),
          /^UnsuitablePooler: DATABASE_URL leads to a .*DATABASE_SESSION_URL/,
        )
        await check(changing.url, database.url)
        await assert.rejects(
          check(database.url, changing.url),
          /: DATABASE_SESSION_URL leads to a connection pooler/,
        )
      })

    test('is refused in statement mode, and accepted in session mode', async () => {
      const split = await startPgbouncer(database.url, { mode: 'statement', sessions: 5 })
      await assert.rejects(check(split.url), UnsuitablePooler)
      await assert.rejects(
        check(split.url, database.url),
        /without transactions .*pool_mode = transaction or session/,
      )
      await split.close()
      await using keeping = scoped(await startPgbouncer(database.url, { mode: 'session', sessions: 20 }))
      await check(keeping.url)
      await check(keeping.url, keeping.url)
    })

    test('that cannot connect is not taken for one in statement mode', async () => {
      await using failing = scoped(await startPgbouncer(database.url, { mode: 'transaction', sessions: 5 }))
      const stranger = new URL(failing.url)
      stranger.username = 'nobody'
      await assert.rejects(
        check(stranger.href, database.url),
        (error) =>
          !(error instanceof UnsuitablePooler) && /authentication failed|no such user/.test(String(error)),
      )
    })

    test('serves two services with a session URL', async () => {
      await serveThrough((url) => startPgbouncer(url, { mode: 'transaction', sessions: 6, inTurn: true }))
    })
  })

  /** Two services on a database of their own, whose transactions go through a pooler. */
  async function serveThrough(startPooler: (url: string) => Promise<Pooler>): Promise<void> {
    await using home = await postgres!.createDatabase()
    await using behind = scoped(await startPooler(home.url))
    await using direct = scoped(await openDatabase(home.url))
    await using receiver = await startReceiver()
    const start = () =>
      startTestService(postgres!, {
        databaseUrl: behind.url,
        env: { DATABASE_SESSION_URL: home.url, ALLOW_PRIVATE_NETWORK: 'true' },
        handlers: {
          work: async (event, { tx, emit }) => {
            await writeEffect(tx, event.id)
            emit({ type: 'work.done', data: event.id })
          },
        },
      })
    await createEffects(direct)
    const services = [await start(), await start()]
    try {
      const [first, second] = services as [(typeof services)[0], (typeof services)[0]]
      await subscribe(first, { url: receiver.url })
      const ids = Array.from({ length: 100 }, (_, n) => `event-${n}`)
      const answers = await Promise.all(
        ids.flatMap((id, n) => {
          const service = n % 2 === 0 ? first : second
          return [
            postWebhook(service, { id, type: 'work' }),
            // The same once more: a duplicate takes another statement.
            postWebhook(service, { id, type: 'work' }),
          ]
        }),
      )
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
      await emit(second, { type: 'went.out', data: 1 })
      await eventually(async () => (await readEffects(direct)).length === ids.length, 'handled')
      await eventually(
        () => new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])).size === ids.length + 1,
        'delivered',
      )
      for (const service of services) {
        assert.equal((await service.fetch('/readyz')).status, 200)
        assert.equal((await service.admin('/events?limit=5')).status, 200)
        assert.equal((await service.admin('/subscribers')).status, 200)
      }
      assert.deepEqual(behind.misplaced, [])
    } finally {
      for (const service of services) await service.close()
    }
  }
})
