// A limit that fires ends the statement at the server: nothing waits there any more, and its locks are free.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { openPostgres } from '../../src/storage/postgres/database.ts'
import type { Tx } from '../../src/storage/database.ts'
import type { EndedBy } from '../../src/storage/sharing/savepoint-scope.ts'
import { onPostgres, postgres as engine, started, startTestService } from '../harness/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

/** Milliseconds of the limits that fire. On a busy machine the statements before that take some of them. */
const limit = 1_000
/** Milliseconds within which the server has ended a statement: far less than a statement of the service may take. */
const soon = 30_000

describe('statements that reach a limit', onPostgres, () => {
  const home = started(() => engine!.createMigratedDatabase())
  const database = started(async () =>
    openPostgres(home.url, { connections: 16, handlerAnswerWithin: 5_000, answerWithin: 60_000 }),
  )
  /** Holds row 1 during all tests, so that no statement ends by itself. */
  started(async () => {
    await database.transaction((tx) => sql`create table rows (id integer primary key)`.execute(tx))
    await database.transaction((tx) => sql`insert into rows values (1), (2)`.execute(tx))
    const holder = new pg.Client({ connectionString: home.url })
    await holder.connect()
    await holder.query('begin; select id from rows where id = 1 for update')
    return { close: () => holder.end() }
  })

  const lock = (tx: Tx, id: number) => sql`select id from rows where id = ${id} for update`.execute(tx)
  /** No session waits any more, long before the limit of the service's own statements, and row 2 can be locked. */
  const allFree = async (): Promise<void> => {
    await eventually(
      async () => {
        const { rows } = await database.pool.query(
          `select pid from pg_stat_activity where datname = current_database() and state in ('active', 'idle in transaction (aborted)')
            and pid <> pg_backend_pid()`,
        )
        return rows.length === 0
      },
      'the sessions have ended',
      soon,
    )
    await database.transaction((tx) => sql`select id from rows where id = 2 for update nowait`.execute(tx))
  }
  const begin = (options: { alone: boolean; timeLimit: number; turnLimit: number }) => {
    const ended = Promise.withResolvers<EndedBy>()
    const scope = database
      .share<string>(() => Promise.resolve(undefined))
      .begin({ ...options, onEnd: ended.resolve, group: 'test' })
    return { scope, ended: ended.promise }
  }

  test('the time limit of a handler alone', async () => {
    const { scope, ended } = begin({ alone: true, timeLimit: limit, turnLimit: 9_000 })
    await lock(scope.tx, 2)
    await assert.rejects(lock(scope.tx, 1))
    assert.equal(await ended, 'time limit')
    await allFree()
  })

  test('the turn limit of a handler that shares its transaction', async () => {
    const { scope, ended } = begin({ alone: false, timeLimit: 9_000, turnLimit: limit })
    await lock(scope.tx, 2)
    await assert.rejects(sql`select pg_sleep(600)`.execute(scope.tx))
    assert.equal(await ended, 'turn limit')
    await allFree()
  })

  test('a rollback during a statement', async () => {
    const { scope } = begin({ alone: true, timeLimit: 9_000, turnLimit: 9_000 })
    await lock(scope.tx, 2)
    const waits = lock(scope.tx, 1)
    await eventually(async () => {
      const { rows } = await database.pool.query(
        `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length === 1
    })
    await Promise.all([assert.rejects(waits), scope.rollback()])
    await allFree()
  })

  test('the limit of a statement of a handler', async () => {
    const { scope } = begin({ alone: true, timeLimit: 9_000, turnLimit: 9_000 })
    await lock(scope.tx, 2)
    await assert.rejects(lock(scope.tx, 1), /database is unavailable/)
    await scope.rollback()
    await allFree()
  })

  test('the time limit of a transaction of the service', async () => {
    await assert.rejects(
      database.transaction(
        async (tx) => {
          await lock(tx, 2)
          await lock(tx, 1)
        },
        { timeLimit: limit },
      ),
    )
    await allFree()
  })

  test('a connection that is closed because of an error', async () => {
    const client = await database.pool.connect()
    await client.query('begin; select id from rows where id = 2 for update')
    const waits = client.query('select id from rows where id = 1 for update')
    client.release(true)
    await assert.rejects(waits)
    await allFree()
  })

  test('the server notices by itself that a connection was closed', async () => {
    const { rows } = await database.pool.query<{ client_connection_check_interval: string }>(
      'show client_connection_check_interval',
    )
    assert.deepEqual(rows, [{ client_connection_check_interval: '500ms' }])
  })

  test('HANDLER_TIMEOUT', async () => {
    let timedOut = false
    await using service = await startTestService(engine!, {
      env: { HANDLER_RETRY_SCHEDULE: '' },
      handlers: {
        endless: {
          timeout: limit / 1_000,
          handle: async (_event, { tx, signal }) => {
            signal.addEventListener('abort', () => (timedOut = true))
            await sql`select pg_sleep(600)`.execute(tx)
          },
        },
      },
    })
    const running = async () => {
      const { rows } = await sql`select pid from pg_stat_activity
          where datname = current_database() and query like '%pg_sleep(600)' and state <> 'idle'`.execute(
        service.database.reader,
      )
      return rows.length
    }
    await postWebhook(service, { id: 'endless', type: 'endless' })
    await eventually(() => timedOut)
    await eventually(async () => (await running()) === 0, 'the statement has ended', soon)
  })
})
