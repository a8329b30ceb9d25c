import { type CompiledQuery, sql } from 'kysely'
import type { RunLast, Tx } from '../../storage/database.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { everybody, isFor } from './audience.ts'
import { holds, type Condition } from '../subscribers/conditions.ts'
import { matchesType } from './event-types.ts'
import type { PreparedEvent } from './event.ts'
import {
  maxReturned,
  rowsPerInsert,
  type InsertedDelivery,
  insertAll,
  insertUnlessRemoved,
  type NewDelivery,
  newDelivery,
} from './insert-deliveries.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'

export interface FanOutParts {
  engine: Engine
  /** Milliseconds before the first attempt if the subscriber has no schedule of its own. */
  firstDelay: number
  /** Whether subscribers without an owner also get the events for an owner. */
  ownerlessGetAll: boolean
}

/** An event that was recorded. */
export interface LoggedEvent {
  /** Its number in the log. */
  id: number
  event: PreparedEvent
}

/** A subscriber that may match an event. */
export interface Candidate {
  id: string
  event_types: string
  conditions: string | null
  owner: string | null
  retry_schedule: string | null
}

export interface FanOutTargets {
  /** The subscribers that may match any of the events. */
  candidates: readonly Candidate[]
  now: number
  /** Sends the last statement. Default: at once. */
  run?: RunLast | undefined
}

/** Inserts a delivery of each event for each subscriber that it matches. */
export class FanOut {
  readonly #parts: FanOutParts
  readonly #patterns = new ParseCache<string[]>()
  readonly #conditions = new ParseCache<Condition[]>()
  readonly #delays = new ParseCache<number[]>()

  constructor(parts: FanOutParts) {
    this.#parts = parts
  }

  /**
   * Inserts in the order of the events: an ordered subscriber gets deliveries in the order of their ids.
   * @returns the deliveries, with the result of the last statement; `undefined` if they are more than `maxReturned`
   */
  async insertDeliveries(
    tx: Tx,
    events: readonly LoggedEvent[],
    { candidates, now, run = (query) => tx.executeQuery(query) }: FanOutTargets,
  ): Promise<{ inserted: Promise<InsertedDelivery[] | undefined> }> {
    let rows: NewDelivery[] = []
    let inOneStatement = true
    for (const event of events) {
      rows = rows.concat(this.#rows(event, candidates, now))
      // Inserts whenever a statement is full: all rows of many events might not fit into memory.
      for (; rows.length >= rowsPerInsert; rows = rows.slice(rowsPerInsert)) {
        inOneStatement = false
        await tx.executeQuery(this.#insert(rows.slice(0, rowsPerInsert)))
      }
    }
    if (rows.length === 0) return { inserted: Promise.resolve(inOneStatement ? [] : undefined) }
    const result = run(this.#insert(rows)) as Promise<{ rows: InsertedDelivery[] }>
    const complete = inOneStatement && rows.length <= maxReturned
    return { inserted: result.then((returned) => (complete ? returned.rows : undefined)) }
  }

  /** Inserts these deliveries, at most `maxReturned` of one `created_at`, and returns those whose subscriber still exists. */
  async insertReturning(tx: Tx, rows: readonly NewDelivery[]): Promise<InsertedDelivery[]> {
    return (await tx.executeQuery(this.#insert(rows))).rows as InsertedDelivery[]
  }

  /** Inserts these deliveries, which have the same `created_at`. */
  async insert(tx: Tx, rows: readonly NewDelivery[]): Promise<void> {
    for (let from = 0; from < rows.length; from += rowsPerInsert)
      await tx.executeQuery(this.#insert(rows.slice(from, from + rowsPerInsert)))
  }

  /** Returns the subscribers that may match any of the events, in the order of their ids. */
  async candidates(tx: Tx, events: readonly PreparedEvent[]): Promise<Candidate[]> {
    if (events.length === 0) return []
    const audiences = new Set(events.map(({ audience }) => audience))
    const owners = [...audiences].filter((audience) => audience !== null)
    const { engine, ownerlessGetAll } = this.#parts
    const ownerless = audiences.has(null) || ownerlessGetAll
    let query = tx
      .selectFrom('subscribers')
      .select(['id', 'event_types', 'conditions', 'owner', 'retry_schedule'])
      .where('status', 'in', ['active', 'paused'])
      .where('operational', '=', 0)
      .orderBy('id')
    if (!audiences.has(everybody)) {
      query = query.where((eb) =>
        eb.or([
          // The same text for any number of owners, so that PostgreSQL plans it once.
          ...(owners.length === 0
            ? []
            : [
                engine === 'postgres'
                  ? eb('owner', '=', sql<string>`any(${owners})`)
                  : eb('owner', 'in', owners),
              ]),
          ...(ownerless ? [eb('owner', 'is', null)] : []),
        ]),
      )
    }
    if (engine === 'sqlite') return query.execute()
    return (await tx.executeQuery(prepare(query.compile()))).rows as Candidate[]
  }

  #rows({ id, event }: LoggedEvent, candidates: readonly Candidate[], now: number): NewDelivery[] {
    const { ownerlessGetAll, firstDelay } = this.#parts
    let data: unknown
    let parsed = false
    return candidates
      .filter(({ event_types, conditions, owner }) => {
        if (!isFor(event.audience, owner, ownerlessGetAll)) return false
        if (!matchesType(this.#patterns.of(event_types), event.type)) return false
        if (conditions === null) return true
        if (!parsed) data = JSON.parse(event.data)
        parsed = true
        return holds(this.#conditions.of(conditions), data)
      })
      .map(({ id: subscriberId, retry_schedule }) => {
        const delay = retry_schedule === null ? firstDelay : (this.#delays.of(retry_schedule)[0] ?? 0)
        return newDelivery({ id, nonce: event.nonce }, subscriberId, now, now + delay)
      })
  }

  #insert(rows: readonly NewDelivery[]): CompiledQuery {
    return this.#parts.engine === 'postgres' ? insertUnlessRemoved(rows) : insertAll(rows)
  }
}

/** Parses each text once: many subscribers share a few texts. */
class ParseCache<T> {
  readonly #parsed = new BoundedCache<string, T>(10_000)

  of(json: string): T {
    let value = this.#parsed.get(json)
    if (value === undefined) {
      value = JSON.parse(json) as T
      this.#parsed.set(json, value)
    }
    return value
  }
}
