// What comes again is the event that is there, however it comes again: later, at the same time, within one batch.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Pool } from 'pg'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { openEventQueue } from '../../src/receiving/store-events.ts'
import type { EventQueue, IncomingEvent } from '../../src/receiving/queue/store.ts'
import { eventInserter } from '../../src/receiving/postgres/insert-events.ts'
import type { Database, PostgresDatabase } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, onPostgres, postgres, type TestDatabase } from '../harness/engines.ts'
import { eventually } from './harness.ts'
import { incomingEvent } from './incoming-event.ts'

const unexpected = (error: unknown): never => assert.fail(String(error))

const incoming = (eventId: string, text = eventId): IncomingEvent =>
  incomingEvent(eventId, { payload: Buffer.from(text), status: 'processed' })

/** What is stored, in the order of receipt, with the payload of each that has a row in both tables. */
async function stored({ reader }: Database): Promise<string[]> {
  const rows = await reader
    .selectFrom('event_queue')
    .fullJoin('events', 'events.id', 'event_queue.event')
    .select(['event_queue.event', 'events.id', 'event_queue.event_id', 'events.payload'])
    .orderBy('events.id')
    .execute()
  return rows.map(({ event, id, event_id: eventId, payload }) => {
    assert.equal(event, id, 'a row without the other one')
    return `${eventId} ${Buffer.from(payload!).toString()}`
  })
}

onEachEngine('duplicates', (engine) => {
  let home: TestDatabase
  let database: Database
  let queue: EventQueue
  const repeated: (IncomingEvent | undefined)[] = []

  before(async () => {
    home = await engine.createMigratedDatabase()
    database = await openDatabase(home.url)
    queue = openEventQueue({
      database,
      clock: systemClock,
      onError: unexpected,
      onDuplicate: (_source, event) => void repeated.push(event),
    })
  })
  after(async () => {
    await queue.close()
    await database.close()
    await home.drop()
  })

  const keep = (...events: IncomingEvent[]): Promise<void> => queue.insert(events)

  test('the first content stays, and new events of the batch are stored in order', async () => {
    await keep(incoming('b', 'first'), incoming('a', 'first'))
    await keep(incoming('z'), incoming('b', 'again'), incoming('c'), incoming('a', 'again'))
    await eventually(() => repeated.length === 2)
    const onceMore = incoming('b', 'once more')
    await keep(onceMore)
    assert.equal(repeated[2], onceMore, 'the log says of which webhook the event was stored before')
    assert.deepEqual(await stored(database), ['b first', 'a first', 'z z', 'c c'])
  })

  test('of two in one batch the first is stored', async () => {
    await keep(incoming('d', 'first'), incoming('e'), incoming('d', 'second'))
    assert.deepEqual((await stored(database)).slice(4), ['d first', 'e e'])
  })

  test('concurrent duplicates are stored once', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `at once ${index}`)
    const batches = Array.from({ length: 12 }, (_, batch) =>
      ids.filter((_, index) => (index * 7 + batch) % 3 > 0).map((id) => incoming(id)),
    )
    await Promise.all(batches.map((batch, index) => keep(...(index % 2 === 0 ? batch : batch.toReversed()))))
    const all = async (): Promise<string[]> => (await stored(database)).slice(6).toSorted()
    await eventually(async () => (await all()).length >= ids.length)
    assert.deepEqual(await all(), ids.map((id) => `${id} ${id}`).toSorted())
  })
})

describe('the check for duplicates on PostgreSQL', onPostgres, () => {
  let home: TestDatabase
  let database: PostgresDatabase
  let now = 1_000_000
  /** The statements that were run, failed ones too. */
  let run: string[] = []
  let keep: (events: readonly IncomingEvent[]) => Promise<unknown>

  before(async () => {
    home = await postgres!.createMigratedDatabase()
    database = (await openDatabase(home.url)) as PostgresDatabase
    const query = (own: { name: string }, ...rest: unknown[]): unknown => {
      run.push(own.name)
      return (database.pool.query as unknown as (...all: unknown[]) => unknown).call(
        database.pool,
        own,
        ...rest,
      )
    }
    const clock: Clock = { ...systemClock, now: () => now }
    keep = eventInserter({ query } as unknown as Pool, clock)
  })
  after(async () => {
    await database.close()
    await home.drop()
  })

  async function statements(...ids: string[]): Promise<string[]> {
    run = []
    await keep(ids.map((id) => incoming(id)))
    return run
  }
  const [asNew, missing] = ['event_queue_insert_new', 'event_queue_insert_missing']

  test('is omitted until a duplicate arrives, and done for one minute after the last', async () => {
    assert.deepEqual(await statements('a', 'b'), [asNew])
    assert.deepEqual(await statements('c', 'a'), [asNew, missing], 'the whole batch again')
    now += 59_999
    assert.deepEqual(await statements('d', 'b'), [missing], 'expected')
    now += 59_999
    assert.deepEqual(await statements('e'), [missing], 'still expected')
    now += 1
    assert.deepEqual(await statements('f'), [asNew])
    assert.deepEqual(await stored(database), ['a a', 'b b', 'c c', 'd d', 'e e', 'f f'])
  })

  test('unexpected concurrent duplicates are stored once', async () => {
    now += 120_000
    run = []
    const ids = Array.from({ length: 200 }, (_, index) => `at once ${index}`)
    const events = ids.map((id) => incoming(id))
    await Promise.all([0, 1, 2, 3].map((turn) => keep(turn % 2 === 0 ? events : events.toReversed())))
    assert.equal(run.filter((name) => name === asNew).length, 4)
    assert.equal(run.filter((name) => name === missing).length, 3, 'one of the four was the first')
    assert.deepEqual((await stored(database)).slice(6).toSorted(), ids.map((id) => `${id} ${id}`).toSorted())
  })

  test('a duplicate does not wait for the handler that marks its event', async () => {
    const ordered = { ...incoming('ordered'), orderKey: 'k', status: 'pending' as const }
    const keepOrdered = eventInserter(database.pool, systemClock)
    await keepOrdered([ordered])
    const handler = await database.pool.connect()
    try {
      await handler.query('begin')
      await handler.query(`update event_queue set status = 'processed' where event_id = 'ordered'`)
      await keepOrdered([{ ...ordered, payload: Buffer.from('again') }, incoming('beside')])
      await handler.query('commit')
    } finally {
      handler.release()
    }
    assert.deepEqual((await stored(database)).slice(-2), ['ordered ordered', 'beside beside'])
  })

  test('another failure is reported unchanged, without a retry', async () => {
    now += 120_000
    run = []
    const broken = { ...incoming('g'), type: null as unknown as string }
    await assert.rejects(keep([broken]), { code: '23502' })
    assert.deepEqual(run, [asNew])
  })
})
