import { sql, type Insertable } from 'kysely'
import { equalBytes } from '../crypto/tokens.ts'
import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { Engine } from '../storage/query-runner.ts'
import type { Tx } from '../storage/database.ts'
import type { DeliveriesTable } from '../storage/tables.ts'
import { matchesType } from './event-types.ts'
import { prepareEvent, type NewEvent, type PreparedEvent } from './event.ts'

export interface Emitted {
  /** The event's place in the log. */
  id: number
  /** The stable id that subscribers get. */
  eventId: string
}

/**
 * Emits events within the caller's transaction: they and their deliveries exist when it commits, and never did when it
 * rolls back. After the commit the caller wakes the dispatcher: `database.signal('deliveries')`. `causedBy` is the number of
 * the received event whose handler emits them.
 * @throws Problem `invalid-body`; `id-conflict` when an id is taken by an event of another type or other data.
 */
export type EmitWithin = (tx: Tx, events: readonly NewEvent[], causedBy?: number) => Promise<Emitted[]>

export interface EmitterParts {
  engine: Engine
  clock: Clock
  /** Milliseconds before the first attempt where the subscriber has no schedule of its own. */
  firstDelay: number
}

/** Rows of one statement: well under the engines' bounds on parameters. */
const rowsPerInsert = 500

export interface Emitter {
  /** To every subscriber whose patterns match. */
  within: EmitWithin
  /** To one subscriber alone, whatever its patterns are. Returns the delivery's id. */
  toOne: (tx: Tx, event: NewEvent, subscriberId: string) => Promise<Emitted & { deliveryId: number }>
}

export function createEmitter(parts: EmitterParts): Emitter {
  const patterns = new PatternCache()

  return {
    async within(tx, events, causedBy) {
      const now = parts.clock.now()
      const emitted: Emitted[] = []
      for (const event of events) {
        const prepared = prepareEvent(event, now)
        const { isNew, ...result } = await record(tx, prepared, now, causedBy ?? null)
        if (isNew) await fanOut(tx, result.id, prepared.type, now)
        emitted.push(result)
      }
      return emitted
    },
    async toOne(tx, event, subscriberId) {
      const now = parts.clock.now()
      const { id, eventId } = await record(tx, prepareEvent(event, now), now, null)
      const row = newDelivery(id, subscriberId, now, now)
      const delivery = await tx.insertInto('deliveries').values(row).returning('id').executeTakeFirstOrThrow()
      return { id, eventId, deliveryId: delivery.id }
    },
  }

  /** Writes the event down, unless its id was there before. */
  async function record(
    tx: Tx,
    event: PreparedEvent,
    now: number,
    causedBy: number | null,
  ): Promise<Emitted & { isNew: boolean }> {
    const before = await findEmitted(tx, event)
    if (before) return { ...before, isNew: false }
    const { eventId, type, payload, digest } = event
    const { id } = await tx
      .insertInto('events')
      .values({
        event_id: eventId,
        direction: 'emitted',
        source: null,
        type,
        content_type: 'application/json',
        payload,
        headers: null,
        created_at: now,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    // A unique violation would end a transaction of PostgreSQL, and the caller's work with it.
    const mark = await tx
      .insertInto('outbox')
      .values({ event: id, event_id: eventId, digest, created_at: now, caused_by: causedBy })
      .onConflict((conflict) => conflict.column('event_id').doNothing())
      .returning('event')
      .executeTakeFirst()
    if (!mark) {
      // Another transaction with the same id committed while this one waited for it.
      await tx.deleteFrom('events').where('id', '=', id).execute()
      const winner = await findEmitted(tx, event)
      if (!winner) throw new Error(`the outbox refused ${eventId} and does not hold it`)
      return { ...winner, isNew: false }
    }
    return { id, eventId, isNew: true }
  }

  async function fanOut(tx: Tx, event: number, type: string, now: number): Promise<void> {
    const subscribers = await tx
      .selectFrom('subscribers')
      .select(['id', 'event_types', 'retry_schedule'])
      .where('status', 'in', ['active', 'paused'])
      .orderBy('id')
      .execute()
    const rows = subscribers
      .filter(({ event_types }) => matchesType(patterns.of(event_types), type))
      .map(({ id, retry_schedule }) =>
        newDelivery(event, id, now, now + firstDelay(retry_schedule, parts.firstDelay)),
      )
    if (rows.length === 0) return
    if (parts.engine === 'postgres') return insertUnlessRemoved(tx, rows)
    for (let from = 0; from < rows.length; from += rowsPerInsert) {
      await tx
        .insertInto('deliveries')
        .values(rows.slice(from, from + rowsPerInsert))
        .execute()
    }
  }
}

/**
 * One statement for any number of rows. A subscriber that is removed at this moment gets none: its row is locked or
 * skipped, where a plain insert would break the foreign key and the caller's transaction with it.
 */
async function insertUnlessRemoved(tx: Tx, rows: readonly NewDelivery[]): Promise<void> {
  const [{ event, created_at }] = rows as [NewDelivery]
  const ids = rows.map(({ subscriber_id }) => subscriber_id)
  const due = rows.map(({ due_at }) => due_at)
  await sql`
    insert into deliveries (event, subscriber_id, status, attempts, attempts_before, due_at, created_at)
    select ${event}::bigint, s.id, 'pending', 0, 0, want.due_at, ${created_at}::bigint
    from unnest(${ids}::text[], ${due}::bigint[]) as want (id, due_at) join subscribers s on s.id = want.id
    for key share of s`.execute(tx)
}

type NewDelivery = Insertable<DeliveriesTable>

function newDelivery(event: number, subscriberId: string, now: number, dueAt: number): NewDelivery {
  return {
    event,
    subscriber_id: subscriberId,
    status: 'pending',
    attempts: 0,
    attempts_before: 0,
    due_at: dueAt,
    claim: null,
    created_at: now,
    finished_at: null,
  }
}

async function findEmitted(tx: Tx, { eventId, digest }: PreparedEvent): Promise<Emitted | undefined> {
  const row = await tx
    .selectFrom('outbox')
    .select(['event', 'digest'])
    .where('event_id', '=', eventId)
    .executeTakeFirst()
  if (!row) return undefined
  if (!equalBytes(row.digest, digest)) {
    throw new Problem('id-conflict', {
      detail: `An event with the id ${eventId} was emitted before, with another type or other data.`,
    })
  }
  return { id: row.event, eventId }
}

/** Milliseconds from the emit to the first attempt. */
function firstDelay(retrySchedule: string | null, fallback: number): number {
  return retrySchedule === null ? fallback : ((JSON.parse(retrySchedule) as number[])[0] ?? 0)
}

/** Subscribers mostly share a few lists of patterns: each is parsed once. */
class PatternCache {
  readonly #parsed = new Map<string, string[]>()

  of(json: string): string[] {
    let patterns = this.#parsed.get(json)
    if (!patterns) {
      if (this.#parsed.size > 10_000) this.#parsed.clear()
      patterns = JSON.parse(json) as string[]
      this.#parsed.set(json, patterns)
    }
    return patterns
  }
}
