// Several processes on one PostgreSQL: what a killed one had claimed is taken over soon, what a living one has is not.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import type { PoolClient } from 'pg'
import { systemClock } from '../../src/runtime/clock.ts'
import { openEventQueue } from '../../src/receiving/store-events.ts'
import type { EventQueue } from '../../src/receiving/queue/store.ts'
import { openDeliveryStore } from '../../src/emitting/parts.ts'
import { subscriberRow } from '../emitting/harness.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { PostgresDatabase } from '../../src/storage/database.ts'
import { onPostgres, postgres as engine, scoped } from '../harness/index.ts'
import { startTestService } from '../harness/service.ts'
import {
  createEffects,
  eventually,
  postWebhook,
  readEffects,
  startCrashService,
  type CrashService,
} from './harness.ts'
import { incomingEvent } from './incoming-event.ts'

test(
  'events of a killed process are taken over; a process that lost its session keeps its events',
  onPostgres,
  async () => {
    await using home = await engine!.createMigratedDatabase()
    await using database = scoped((await openDatabase(home.url)) as PostgresDatabase)
    await createEffects(database)
    const processes: CrashService[] = []
    try {
      for (let count = 0; count < 2; count += 1)
        processes.push(await startCrashService(home.url, { HANDLER_TIMEOUT: '600' }))
      const response = await postWebhook(processes[0]!, { id: 'stuck', type: 'stuck' })
      assert.equal(response.status, 200)
      const owner = await eventually(() => processes.find(({ begun }) => begun.length > 0))
      const other = processes.find((one) => one !== owner)!

      // Longer than a take-over would need: sessions break now and then, and are made anew.
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'postern-claims' and datname = current_database()`,
      )
      await wait(8_000)
      assert.deepEqual([owner.begun, other.begun], [['stuck'], []], 'no two processes work on one event')

      owner.child.kill('SIGKILL')
      await eventually(() => other.begun.length > 0, 'the other process has taken over')
      other.child.send('end')
      await eventually(async () => (await readEffects(database)).length === 1)
      const claimers = await database.pool.query('select id from claimers')
      assert.equal(claimers.rowCount, 1, 'the dead one is off the list')
    } finally {
      for (const { child } of processes) child.kill('SIGKILL')
    }
  },
)

test('after a stop, other processes wait for no lease', onPostgres, async () => {
  await using home = await engine!.createMigratedDatabase()
  await using database = scoped((await openDatabase(home.url)) as PostgresDatabase)
  await createEffects(database)
  const config = { receiving: { handlers: {} } }
  const service = await startTestService(engine!, { databaseUrl: home.url, config })
  await eventually(async () => (await database.pool.query('select id from claimers')).rowCount === 1)
  await service.close()
  assert.equal((await database.pool.query('select id from claimers')).rowCount, 0)
})

/** A process that dies with the claims of events, and another one that is to take them over. */
async function dying(
  ids: readonly string[],
  run: (scene: {
    /** A session beside those of the processes. */
    client: PoolClient
    claim: string
    insert: () => Promise<void>
    /** Ends the dying process without a farewell, and starts the other one. */
    die: () => Promise<void>
    freed: () => number
    /** The ids of the events that are still claimed. */
    claimed: () => Promise<string[]>
  }) => Promise<void>,
): Promise<void> {
  await using home = await engine!.createMigratedDatabase()
  const [first, second] = (await Promise.all([openDatabase(home.url), openDatabase(home.url)])) as [
    PostgresDatabase,
    PostgresDatabase,
  ]
  const unexpected = (error: unknown): never => assert.fail(String(error))
  const open = (database: PostgresDatabase): EventQueue =>
    openEventQueue({ database, clock: systemClock, onError: unexpected })
  const [dead, alive] = [open(first), open(second)]
  const client = await second.pool.connect()
  let freed = 0
  try {
    await dead.acquireSession({ lost: () => undefined, freed: () => undefined })
    const claim = dead.newClaim()
    await run({
      client,
      claim,
      insert: () => dead.insert(ids.map((id) => incomingEvent(id))),
      async die() {
        await dead.releaseSession(false)
        await dead.close()
        await alive.acquireSession({ lost: () => undefined, freed: () => (freed += 1) })
        await eventually(async () => {
          const [number] = claim.split(':')
          const { rowCount } = await second.pool.query('select from claimers where id = $1', [number])
          return rowCount === 0
        }, 'the dead process is struck off')
      },
      freed: () => freed,
      async claimed() {
        const { rows } = await second.pool.query<{ event_id: string }>(
          'select event_id from event_queue where claim is not null order by event',
        )
        return rows.map(({ event_id }) => event_id)
      },
    })
  } finally {
    client.release()
    await alive.releaseSession(true)
    await alive.close()
    await Promise.all([first.close(), second.close()])
  }
}

test('the queues of subscribers of a dead process are free before its events are', onPostgres, async () => {
  await using home = await engine!.createMigratedDatabase()
  const open = async (): Promise<PostgresDatabase> => (await openDatabase(home.url)) as PostgresDatabase
  const [first, second] = await Promise.all([open(), open()])
  const listener = { lost: () => undefined, freed: () => undefined }
  const dead = openDeliveryStore(first, () => undefined)
  const count = async (table: string): Promise<number | null> =>
    (await second.pool.query(`select from ${table}`)).rowCount
  await second.transaction((tx) => tx.insertInto('subscribers').values(subscriberRow('one')).execute())
  await dead.acquireSession(listener)
  assert.deepEqual(await dead.claim(['one']), ['one'])
  const leave = await second.claimer.join(listener)
  const backlog = await second.pool.connect()
  try {
    await backlog.query('begin; lock table event_queue')
    first.abandon(new Error('killed'))
    await eventually(async () => (await count('queue_owners')) === 0)
    assert.equal(await count('claimers'), 2, 'its events are not free yet')
    await backlog.query('commit')
    await eventually(async () => (await count('claimers')) === 1)
  } finally {
    backlog.release()
    await dead.releaseSession()
    await leave(true)
    await second.close()
  }
})

test(
  'a process that finds another at a long take-over waits for it without an error',
  onPostgres,
  async () => {
    await using home = await engine!.createMigratedDatabase()
    const errors: unknown[] = []
    const database = (await openDatabase(home.url, {
      onError: (error) => void errors.push(error),
    })) as PostgresDatabase
    const { rows } = await database.pool.query<{ id: number }>(
      'insert into claimers (ended) values (1) returning id',
    )
    const other = await database.pool.connect()
    const leave = await database.claimer.join({ lost: () => undefined, freed: () => undefined })
    try {
      await other.query('begin')
      await other.query('delete from claimers where id = $1', [rows[0]!.id])
      await eventually(async () => {
        const waits = await database.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and clock_timestamp() - query_start > interval '2.5 s'`,
        )
        return waits.rowCount === 1 || errors.length > 0
      }, 'the second take-over waits for the first one')
      await other.query('commit')
      assert.deepEqual(errors, [])
    } finally {
      other.release()
      await leave(true)
      await database.close()
    }
  },
)

const claimAll = 'update event_queue set claim = $1, leased_until = $2'

test('a claim of a dead process that commits after the takeover is taken over, too', onPostgres, () =>
  dying(['late'], async ({ client, claim, insert, die, freed, claimed }) => {
    await insert()
    await client.query('begin')
    await client.query(claimAll, [claim, Date.now() + 600_000])
    await die()
    assert.equal(freed(), 0)
    await client.query('commit')
    await eventually(() => freed() > 0, 'its claim is freed')
    assert.deepEqual(await claimed(), [])
  }),
)

test(
  'a takeover waits for no event: waiting in another order than its process would be a deadlock',
  onPostgres,
  () =>
    dying(['locked', 'free'], async ({ client, claim, insert, die, freed, claimed }) => {
      await insert()
      await client.query(claimAll, [claim, Date.now() + 600_000])
      await client.query('begin')
      await client.query(`select from event_queue where event_id = 'locked' for update`)
      await die()
      await eventually(() => freed() > 0, 'the other event is freed')
      assert.deepEqual(await claimed(), ['locked'])
      await client.query('commit')
      await eventually(async () => (await claimed()).length === 0, 'the locked one is freed later')
    }),
)
