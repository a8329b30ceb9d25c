import type { ClosingStatement } from '../../storage/lazy-transaction.ts'
import type { Tx } from '../../storage/database.ts'
import type { ClaimListener } from '../../storage/postgres/session/claimer.ts'
import type { EventQueueStatus } from '../../storage/tables.ts'
import type { Bound } from '../handlers/plan.ts'
import { deserialize, serialize } from 'node:v8'
import type { SqlValue } from '../../storage/sqlite/connection.ts'
import { lockSpaces } from '../../storage/advisory-locks.ts'
import { CompiledQuery } from 'kysely'
import type { Engine } from '../../storage/query-runner.ts'

/** A verified event on its way into the event queue. Times are milliseconds since 1970. */
export interface IncomingEvent {
  readonly source: string
  readonly eventId: string
  readonly type: string
  readonly contentType: string
  readonly payload: Uint8Array
  /** JSON. */
  readonly headers: string
  readonly receivedAt: number
  /** `processed` from the start if no handler matches its type; lists show it as `unhandled`. */
  readonly status: Extract<EventQueueStatus, 'pending' | 'processed'>
  readonly dueAt: number
  /** Events with the same key are processed one after the other. */
  readonly orderKey: string | null
}

/** What identifies an event: two with the same key are one. */
export type EventKey = Pick<IncomingEvent, 'source' | 'eventId'>

export const keyOf = ({ source, eventId }: EventKey): string => `${source} ${eventId}`

/**
 * Called for each event of an insert that was stored before.
 * @param event missing if only the number of known events of a batch is certain, or if it was spooled earlier
 */
export type OnDuplicate = (source: string, event?: IncomingEvent) => void

/** An event that a worker holds a lease on. Times are milliseconds since 1970. */
export interface ClaimedEvent {
  /** The number in the event log. */
  readonly event: number
  /** Whose lease it is. */
  readonly claim: string
  readonly source: string
  readonly eventId: string
  readonly type: string
  readonly payload: Uint8Array
  /** JSON. */
  readonly headers: string | null
  readonly receivedAt: number
  /** The number of the attempt that this claim is for, from 1. */
  readonly attempts: number
  /** Attempts before it was last reprocessed: the retry schedule does not count them. */
  readonly attemptsBefore: number
  readonly orderKey: string | null
}

/** An event under a claim that was made by a statement of its own. The attempt is the next one. */
export async function readClaimed(tx: Tx, event: number, claim: string): Promise<ClaimedEvent> {
  const row = await tx
    .selectFrom('event_queue as q')
    .innerJoin('events as e', 'e.id', 'q.event')
    .select(['q.event', 'q.source', 'q.event_id as eventId', 'q.type', 'q.order_key as orderKey'])
    .select(['q.attempts', 'q.attempts_before as attemptsBefore'])
    .select(['e.payload', 'e.headers', 'e.created_at as receivedAt'])
    .where('q.event', '=', event)
    .executeTakeFirstOrThrow()
  return { ...row, claim, attempts: row.attempts + 1 }
}

/** A source and an event type. Their events have the same handlers. */
export interface Kind {
  readonly source: string
  readonly type: string
}

export interface PendingKind extends Kind {
  /** The earliest due time of its pending events without a valid lease. */
  readonly dueAt: number
}

/** A request to claim up to `count` events of a kind, leased until `until`. */
export interface ClaimRequest extends Kind {
  readonly count: number
  readonly until: number
}

/**
 * Events of a kind, in the order of their due times, among which a leased one is looked for. Claims take the earliest events, and
 * inserts claim only while no event waits, so a leased one is among the first of a backlog.
 */
export const mostLookedAt = 500

/** The marker of a processed event. `at` is in milliseconds since 1970. */
export interface ProcessedMarker {
  readonly event: number
  readonly claim: string
  readonly at: number
  readonly orderKey: string | null
}

export type InsertClaiming = (
  events: readonly IncomingEvent[],
  leases?: InsertLeases,
  within?: number,
) => Promise<readonly ClaimedEvent[]>

/** The hot and the locking statements of the event queue. Each engine has its own implementation. */
export interface EventQueue {
  /** Calls of `insert` that should run at once. */
  readonly commits: number
  /**
   * Stores events durably: a row in the log and one in the event queue for each (source, event id) that is not stored yet.
   * @param within on PostgreSQL, the time limit of each statement in milliseconds, after which its connection is closed. Default 10,000.
   * @throws StorageUnavailable
   */
  insert(events: readonly IncomingEvent[], within?: number): Promise<void>
  /**
   * On SQLite: checks that the spool beside the database can be read. Without it no event is stored, because a later one could
   * overtake those in it.
   * @throws StorageUnavailable
   */
  checkSpool?(): Promise<void>
  /**
   * As `insert`, and claims the events of `leases` that are new. May claim none. Only on PostgreSQL: it saves two round trips and a
   * version of the row.
   */
  insertClaiming?: InsertClaiming
  /** From now on, events that `choose` names are claimed by the statement that inserts them, where the engine can do that. */
  claimInserts?(choose: ClaimInserts): void
  /** The kinds after `after`, in the order of source and type, that have pending events without a valid lease. */
  pendingKinds(after: Kind, limit: number, now: number): Promise<PendingKind[]>
  /** The kinds of which an event is leased. */
  kindsAtWork(kinds: readonly Kind[], now: number): Promise<Kind[]>
  /**
   * Must be called before the first claim, and again if it fails. Releases the claims of processes that have ended; on PostgreSQL
   * also those of each process that ends later.
   */
  acquireSession(listener: ClaimListener): Promise<void>
  /**
   * Returns the id of a new claim. Writes for an event must name the claim that holds it.
   * @throws StorageUnavailable while other processes could consider this one dead
   */
  newClaim(): string
  /** Leases due events, the earliest of each kind first. Skips events that another process is claiming. */
  claim(wanted: readonly ClaimRequest[], claim: string, now: number): Promise<ClaimedEvent[]>
  /**
   * Marks events as processed, and makes the next events of their order keys pending. A returned statement must be sent with the
   * commit.
   * @throws ClaimLost if another claim holds one of the events; the returned statement may fail with it too
   */
  markProcessed(tx: Tx, marks: readonly ProcessedMarker[]): Promise<ClosingStatement | undefined>
  /** For handlers that declare a concurrency, where several processes share their slots. */
  readonly shareSlots?: ShareSlots
  /**
   * Releases all claims of this process except `held`: a database that was restored to an earlier state may hold claims that this
   * process has ended. Only on PostgreSQL; nothing can restore an SQLite file under a running process.
   * @throws StorageUnavailable
   */
  releaseAllBut?(held: readonly Pick<ClaimedEvent, 'event' | 'claim'>[]): Promise<void>
  /**
   * Must be called after the last claim has ended.
   * @param clean whether this process holds no event; otherwise other processes release its events, as those of a process that died
   */
  releaseSession(clean: boolean): Promise<void>
  close(): Promise<void>
}

/** Which events of an insert are claimed, and until when: milliseconds since 1970. */
export interface InsertLeases {
  readonly claim: string
  readonly until: ReadonlyMap<IncomingEvent, number>
}

/** A claim that is made by the statement that inserts its events. It ends with one of the two calls. */
export interface InsertClaim extends InsertLeases {
  /** Called with the events that are claimed now: those of `until` that were new. */
  stored(claimed: readonly ClaimedEvent[]): void
  /** Called if the statement failed. It may have taken effect nevertheless. */
  failed(): void
}

/** Chooses the events of an insert that this process claims. Returns `undefined` if it claims none of them. */
export type ClaimInserts = (events: readonly IncomingEvent[]) => InsertClaim | undefined

/** Runs an insert with a claim. @returns the number of claimed events @throws what `insert` throws */
export async function insertWithClaim(
  insert: (leases: InsertLeases) => Promise<readonly ClaimedEvent[]>,
  claim: InsertClaim,
): Promise<number> {
  let claimed: readonly ClaimedEvent[]
  try {
    claimed = await insert(claim)
  } catch (error) {
    claim.failed()
    throw error
  }
  claim.stored(claimed)
  return claimed.length
}

export interface SlotRequest extends Bound {
  /** The slots that it may use until the response. */
  readonly keeps: number
  /** The slots that it has work for. */
  readonly wants: number
  /** When its slots expire unless it requests them again, in milliseconds since 1970. */
  readonly until: number
}

export interface SlotsShared {
  readonly key: string
  /** Slots that this process has. */
  readonly held: number
  /** How many of them it may use from now on: fewer than it holds if another process waits for slots. */
  readonly share: number
  /** Whether slots were released that another process waits for. */
  readonly freed: boolean
}

/**
 * Changes the slots of this process for some handlers. Returns an empty list if others consider this process dead.
 * @throws StorageUnavailable also while this process has no session
 */
export type ShareSlots = (asked: readonly SlotRequest[], now: number) => Promise<readonly SlotsShared[]>

/** The columns of a spooled event, in the order of `toRow`. */
export const eventColumns =
  'source, event_id, type, content_type, payload, headers, received_at, status, due_at, order_key'

export function toRow(event: IncomingEvent) {
  const { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey } = event
  return [source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey] as const
}

function fromRow(row: readonly SqlValue[]): IncomingEvent {
  const [source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey] =
    row as ReturnType<typeof toRow>
  return { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey }
}

const payloadColumn = 4

/** Events as they go to another thread: rows with the length of the payload in its place. */
export interface PackedEvents {
  readonly rows: readonly (readonly SqlValue[])[]
  /** One behind the other. As values of their own they would be copied with the whole chunk of the connection they are part of. */
  readonly payloads: Uint8Array<ArrayBuffer>
}

export function packEvents(events: readonly IncomingEvent[]): PackedEvents {
  const payloads = new Uint8Array(events.reduce((size, { payload }) => size + payload.length, 0))
  let at = 0
  const rows = events.map((event) => {
    const { length } = event.payload
    payloads.set(event.payload, at)
    at += length
    return (toRow(event) as readonly SqlValue[]).with(payloadColumn, length)
  })
  return { rows, payloads }
}

export function unpackEvents({ rows, payloads }: PackedEvents): IncomingEvent[] {
  let at = 0
  return rows.map((row) => {
    const payload = payloads.subarray(at, (at += row[payloadColumn] as number))
    return fromRow(row.with(payloadColumn, payload))
  })
}

/** The version of the format of `encodeEvents`. */
const format = 1

/**
 * Events as bytes, to be stored outside of this process. Later versions of Node.js can read them
 * (https://nodejs.org/api/v8.html#serialization-api).
 */
export function encodeEvents(events: readonly IncomingEvent[]): Uint8Array {
  return serialize([format, events.map(toRow)])
}

/** @throws Error if these are not the bytes of events in the format that this version writes. */
export function decodeEvents(bytes: Uint8Array): IncomingEvent[] {
  const decoded: unknown = deserialize(bytes)
  if (!Array.isArray(decoded) || decoded[0] !== format)
    throw new Error('the bytes are not events in a format that this version knows')
  return (decoded[1] as SqlValue[][]).map(fromRow)
}

/** On SQLite: makes the next event of an order key (given twice) pending if none is. */
export const advanceOne = `
  update event_queue set status = 'pending' where event = (
    select min(event) from event_queue where order_key = ? and status = 'blocked'
  ) and not exists (select 1 from event_queue where order_key = ? and status = 'pending')`

/** On PostgreSQL: locks these keys until the end of the transaction. */
export const lockKeys = `
  select pg_advisory_xact_lock(${lockSpaces.orderKeys}, hash)
  from (select distinct hashtext(key) as hash from unnest($1::text[]) as key order by hash) as keys`

/** On PostgreSQL: `advanceOne` for many keys. A statement of its own sees the commits before the lock. */
export const advanceAll = `
  update event_queue set status = 'pending' where event in (
    select next.event from unnest($1::text[]) as wanted (key) cross join lateral (
      select min(event) as event from event_queue where order_key = wanted.key and status = 'blocked'
    ) next
    where not exists (select from event_queue where order_key = wanted.key and status = 'pending')
  )`

export function orderKeysOf(events: Iterable<{ readonly orderKey: string | null }>): string[] {
  const keys = new Set<string>()
  for (const { orderKey } of events) if (orderKey !== null) keys.add(orderKey)
  return [...keys]
}

/** Makes the next event of each order key pending. Call it last in a transaction: on PostgreSQL it locks the keys. */
export async function advance(engine: Engine, tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  if (engine === 'sqlite') {
    for (const key of keys) await tx.executeQuery(CompiledQuery.raw(advanceOne, [key, key]))
    return
  }
  await tx.executeQuery(CompiledQuery.raw(lockKeys, [keys]))
  await tx.executeQuery(CompiledQuery.raw(advanceAll, [keys]))
}
