import type { Activity } from './activity.ts'
import { createAcceptor, type InsertEvents } from './endpoint/endpoint.ts'
import { Fallback, measureSpool } from './spool/fallback.ts'
import { type Clock, systemClock, Period } from '../runtime/clock.ts'
import { BlockedLoop } from './worker/blocked-loop.ts'
import { AbortBroadcast } from '../runtime/abort-broadcast.ts'
import {
  type ClaimInserts,
  type EventQueue,
  type IncomingEvent,
  insertWithClaim,
  type OnDuplicate,
  type ProcessedMarker,
} from './queue/store.ts'
import type { ReceivingParts } from './plan-handling.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Database } from '../storage/database.ts'
import { postgresEventQueue } from './postgres/store.ts'
import { sqliteEventQueue } from './sqlite/store.ts'

/** SQLite result codes: read-only, I/O error, full; and SQLSTATE disk_full. */
const unwritable = new Set<unknown>([8, 10, 13, '53100'])

/** Whether the database answers and cannot store more, as on a full disk. */
function isUnwritable(error: unknown): boolean {
  if (!(error instanceof StorageUnavailable)) return false
  const { errcode, code } = (error.cause ?? {}) as { errcode?: number; code?: unknown }
  return unwritable.has(errcode === undefined ? code : errcode & 0xff)
}

/** Milliseconds for which a failure counts. Without new webhooks it would count for ever, and a load balancer would send none. */
const countsFor = 10_000

/**
 * Records whether the last attempt to store webhooks failed because the database could not write, as on a full disk. This shows only
 * there: such a database answers. Other failures do not count: a check of the database finds them, and finds at once that they are over.
 */
export function recordFailures(insert: InsertEvents, clock: Pick<Clock, 'now'>) {
  const failed = new Period()
  return {
    isRefusing: (): boolean => failed.has(clock.now()),
    /** The same function, with its outcomes recorded. */
    insert: async (events: readonly IncomingEvent[]): Promise<void> => {
      try {
        await insert(events)
        failed.end()
      } catch (error) {
        if (isUnwritable(error)) failed.start(clock.now(), countsFor)
        throw error
      }
    },
  }
}

/** The event queue, and what stores events into it. */
export function storeEvents({ database, clock, log, metrics, spool }: ReceivingParts, activity: Activity) {
  const onError = (error: unknown): void =>
    log.warn({ err: error }, 'spooled events could not be moved to the database')
  const onCommitError = (error: unknown): void =>
    log.error({ err: error }, 'webhooks could not be stored: their senders got an error')
  const duplicates = metrics.counter(
    'postern_webhook_duplicates_total',
    'Acknowledged webhooks whose event was stored before',
  )
  const repeated = new WeakSet<IncomingEvent>()
  const store = openEventQueue({
    database,
    clock,
    onError,
    onDuplicate(source, event) {
      if (event) repeated.add(event)
      duplicates.inc(1)
      activity.of('source', source, 'duplicate').add()
    },
  })
  const spooled =
    spool &&
    metrics.counter(
      'postern_spool_webhooks_total',
      'Webhooks that arrived while the database was unavailable: stored in the spool, or rejected because it did not accept them',
      ['outcome'],
    )
  const fallback =
    spool &&
    new Fallback({
      ...spool,
      store: (events, within) => store.insert(events, within),
      ping: () => database.ping(),
      count: (outcome, events) => spooled?.inc({ outcome }, events),
      clock,
      log,
    })
  if (fallback) measureSpool(fallback, metrics, clock, log)
  const storeOnly: InsertEvents = (events) => store.insert(events)
  const { insert, isRefusing } = recordFailures(fallback?.insert ?? storeOnly, clock)
  const acceptor = createAcceptor(insert, onCommitError, { concurrency: store.commits })
  metrics.gauge('postern_inbox_waiting_events', 'Verified events that wait for their commit', [], (gauge) =>
    gauge.set(acceptor.waiting),
  )
  metrics.gauge(
    'postern_inbox_waiting_bytes',
    'Bytes of verified events that wait for their commit',
    [],
    (gauge) => gauge.set(acceptor.waitingBytes),
  )
  return { store, acceptor, fallback, isRefusing, isRepeated: (event: IncomingEvent) => repeated.has(event) }
}

/** What a run of handlers and a dry run need. */
export function attemptParts(
  { configuration, database, clock, log, emitWithin }: ReceivingParts,
  store: EventQueue,
) {
  return {
    transactions: database.share<ProcessedMarker>((tx, marks) => store.markProcessed(tx, marks)),
    aborts: new AbortBroadcast(),
    clock,
    log,
    loop: new BlockedLoop({ clock: systemClock, log }),
    emitWithin,
    // On PostgreSQL an open transaction does not block other writers.
    transactionTimeout: database.engine === 'sqlite' ? configuration.handlerTransactionTimeout : undefined,
  }
}

/**
 * Opens the event queue on the database's engine. An insert wakes the worker of its own process, which wakes the others if it cannot
 * process everything; a process without a worker wakes the others. Waking all would make all but one of them poll in vain. Events that the
 * insert has claimed wake nobody.
 */
export function openEventQueue(parts: {
  database: Database
  clock: Clock
  /** On SQLite, called when spooled events could not be moved. */
  onError: (error: unknown) => void
  onDuplicate?: OnDuplicate | undefined
}): EventQueue {
  const { database, clock, onError, onDuplicate } = parts
  const wake = (): void => {
    if (!database.signalHere('event_queue')) database.signal('event_queue')
  }
  const store =
    database.engine === 'sqlite'
      ? sqliteEventQueue({ database, clock, onError, onMoved: wake, onDuplicate })
      : postgresEventQueue({ database, clock, onDuplicate })
  const { insertClaiming } = store
  let choose: ClaimInserts | undefined
  return {
    ...store,
    async insert(events, within) {
      const claim = insertClaiming && choose?.(events)
      let claimed = 0
      if (claim) claimed = await insertWithClaim((leases) => insertClaiming(events, leases, within), claim)
      else await store.insert(events, within)
      const pending = events.filter(({ status }) => status === 'pending').length
      if (pending > claimed) wake()
    },
    claimInserts(by) {
      choose = by
    },
  }
}
