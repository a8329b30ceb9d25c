import type { SqliteDatabase } from '../../storage/database.ts'
import type { SqliteConnection } from '../../storage/sqlite/connection.ts'
import {
  choose,
  isHeld,
  pagesOf,
  type Candidate,
  type EventCandidate,
  type Removed,
  type RetentionStore,
  type Step,
  stepsByTime,
} from './store.ts'

/** Rows that one step examines. */
const rowsPerStep = 100
/** Deliveries of one event that one step removes, with their attempts. */
const deliveriesPerStep = 50
/** Milliseconds after which a step commits, because it blocks all other writers. */
const longestStep = 1.5

const pages = pagesOf('?', '?')

const readHeld = `select ${isHeld} as held from events e where e.id = ?`
const someDeliveries = 'select id from deliveries where event = ? limit ?'
const deleteAttempts = 'delete from attempts where delivery = ?'
const deleteDelivery = 'delete from deliveries where id = ?'
const deleteFailures = 'delete from handler_failures where event = ?'
const deleteSchedule = 'delete from scheduled_events where event = ?'
const deleteOptions = 'delete from event_options where event = ?'
const deleteEvent = 'delete from events where id = ?'
const deleteEventQueue = `
  delete from event_queue where event = ? and status in ('processed', 'failed')
    and not exists (select 1 from events e where e.id = event_queue.event)`
const deleteIdempotencyKey =
  'delete from idempotency_keys where event = ? and not exists (select 1 from events e where e.id = idempotency_keys.event)'
const deleteRejected = 'delete from rejected_webhooks where id = ?'

/** Reads pages without the write lock, and holds it only to delete, for a few milliseconds at a time. */
export function sqliteRetention(database: SqliteDatabase): RetentionStore {
  async function step<Row extends Candidate>(
    page: string,
    after: number,
    until: number,
    remove: (connection: SqliteConnection, row: Row, count: Count) => boolean,
  ): Promise<Step> {
    const rows = database.readConnection.all<Row>(page, [after, rowsPerStep])
    const { chosen, next } = choose(rows, until)
    if (chosen.length === 0) return { removed: {}, next }
    const removed: Removed = {}
    const last = await database.batch('work', (connection) => {
      const end = performance.now() + longestStep
      for (const row of chosen) {
        const whole = remove(connection, row, (table, changes) => {
          if (changes > 0) removed[table] = (removed[table] ?? 0) + changes
        })
        if (!whole) return row.id - 1
        if (performance.now() >= end) return row.id
      }
      return next
    })
    return { removed, next: last }
  }

  const stepOf = (table: keyof Removed, page: string, statement: string) => (after: number, until: number) =>
    step(page, after, until, (connection, { id }, count) => {
      count(table, connection.run(statement, [id]).changes)
      return true
    })

  return {
    // One process serves a file.
    async alone(work) {
      await work({
        removeEvents: (after, until) => step(pages.events, after, until, removeEvent),
        removeProcessedMarkers: stepOf('event_queue', pages.eventQueue, deleteEventQueue),
        removeIdempotencyKeys: stepOf('idempotency_keys', pages.idempotencyKeys, deleteIdempotencyKey),
        removeRejected: stepOf('rejected_webhooks', pages.rejected, deleteRejected),
        ...stepsByTime((statement, until) =>
          database.batch('work', (connection) => connection.run(statement('?'), [until]).changes),
        ),
      })
      return true
    },
  }
}

type Count = (table: keyof Removed, changes: number) => void

/** Returns false if an event has more deliveries than one step removes: the next step continues with the same event. */
function removeEvent(connection: SqliteConnection, { id, direction }: EventCandidate, count: Count): boolean {
  if (connection.get<{ held: number }>(readHeld, [id])?.held !== 0) return true
  if (direction === 'emitted') {
    const deliveries = connection.all<{ id: number }>(someDeliveries, [id, deliveriesPerStep])
    for (const { id: delivery } of deliveries) {
      count('attempts', connection.run(deleteAttempts, [delivery]).changes)
      count('deliveries', connection.run(deleteDelivery, [delivery]).changes)
    }
    if (deliveries.length === deliveriesPerStep) return false
    connection.run(deleteSchedule, [id])
    connection.run(deleteOptions, [id])
  } else {
    count('handler_failures', connection.run(deleteFailures, [id]).changes)
  }
  count('events', connection.run(deleteEvent, [id]).changes)
  return true
}
