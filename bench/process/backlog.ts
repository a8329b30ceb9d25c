import { setTimeout as wait } from 'node:timers/promises'
import { type BenchDatabase, readNumber } from '../harness/databases.ts'
import { sampleBody } from '../load/sample.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { IncomingEvent } from '../../src/receiving/queue/store.ts'
import { insertEvents } from '../../src/receiving/sqlite/insert-events.ts'
import { postgresEventQueue } from '../../src/receiving/postgres/store.ts'
import { openDatabase } from '../../src/storage/open.ts'
import type { Database } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'

export interface Backlog {
  prefix: string
  count: number
  /** Length of each event's body. */
  bytes: number
}

/** Events that one commit stores. */
const chunk = 500
/** Milliseconds that storing takes at most, so that a backlog is complete before it is due: four times what the last one took. */
let timePerEvent = 0.3
const timeAtLeast = 2_000

/**
 * Puts a backlog into the event queue by the statements of the service, all of it due at the same moment, when it is complete
 * and the running service begins.
 */
export async function storeBacklog({ url }: BenchDatabase, backlog: Backlog): Promise<void> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    const keep = storeOf(database)
    const receivedAt = Date.now()
    const dueAt = receivedAt + timeAtLeast + Math.ceil(backlog.count * timePerEvent)
    for (let first = 0; first < backlog.count; first += chunk)
      await keep(eventsOf(backlog, first, receivedAt, dueAt))
    // As autovacuum would have done long ago on a server that has been running for a while.
    if (database.engine === 'postgres') await database.pool.query('analyze')
    if (Date.now() > dueAt)
      throw new Error('the backlog was not complete in time: the machine is busy or its disk slow')
    timePerEvent = (4 * (Date.now() - receivedAt)) / backlog.count
  } finally {
    await database.close()
  }
}

function storeOf(database: Database): (events: readonly IncomingEvent[]) => Promise<void> {
  if (database.engine === 'sqlite')
    return (events) => database.batch('work', (connection) => void insertEvents(connection, events))
  const queue = postgresEventQueue({ database, clock: systemClock })
  return (events) => queue.insert(events)
}

function eventsOf(
  { prefix, count, bytes }: Backlog,
  first: number,
  receivedAt: number,
  dueAt: number,
): IncomingEvent[] {
  return Array.from({ length: Math.min(chunk, count - first) }, (_, index) => {
    const eventId = `${prefix}-${first + index}`
    return {
      source: 'provider',
      eventId,
      type: 'order.paid',
      contentType: 'application/json',
      payload: Buffer.from(sampleBody({ id: eventId, type: 'order.paid' }, bytes)),
      headers: '{"content-type":"application/json"}',
      receivedAt,
      status: 'pending',
      orderKey: null,
      dueAt,
    }
  })
}

/** @throws Error when events are left after `limit` milliseconds. */
export async function waitUntilProcessed(database: BenchDatabase, limit: number): Promise<void> {
  const pending = `select count(*) from (select 1 from event_queue where status = 'pending' limit 1) as left_over`
  for (const deadline = performance.now() + limit; (await readNumber(database, pending)) > 0;) {
    if (performance.now() > deadline) throw new Error(`events were left after ${limit / 1000} s`)
    await wait(250)
  }
}
