import { CompiledQuery, sql } from 'kysely'
import type { RunLast, Tx } from '../../storage/database.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { everybody, isFor, matchesType, type PreparedEvent } from './event.ts'
import { type Condition, holds } from '../subscribers/conditions.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import { type Column, encodeArrays } from '../../storage/postgres/driver/queries.ts'
import type { Row } from '../../storage/tables.ts'

interface FanOutParts {
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
  event: Pick<PreparedEvent, 'type' | 'audience' | 'data' | 'channels' | 'nonce'>
}

/** An event from the log. @param row without the payload if no subscriber has conditions */
export function storedEvent(row: {
  event: number
  type: string
  nonce: number | null
  audience: string | null
  channels: string | null
  payload?: Uint8Array | undefined
}): LoggedEvent {
  const { event: id, type, audience, nonce, payload } = row
  // Conditions read it, and they compare JavaScript's numbers.
  const { data } = JSON.parse(payload ? Buffer.from(payload).toString() : '{}') as { data?: unknown }
  const channels = row.channels === null ? null : (JSON.parse(row.channels) as string[])
  return { id, event: { type, audience, data: JSON.stringify(data ?? null), channels, nonce: nonce! } }
}

/** A subscriber that may match an event. */
type Candidate = Pick<
  Row<'subscribers'>,
  'id' | 'event_types' | 'channels' | 'conditions' | 'owner' | 'retry_schedule'
> & {
  /** The last event that was for a removed customer with the same owner. */
  events_after?: number | null
}

interface FanOutTargets {
  /** The subscribers that may match any of the events. */
  candidates: readonly Candidate[]
  now: number
  /** Sends the last statement. Default: at once. */
  run?: RunLast | undefined
}

/** Inserts a delivery of each event for each subscriber that it matches. */
export class FanOut {
  readonly #parts: FanOutParts
  readonly #texts = new ParseCache<string[]>()
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
    const { engine } = this.#parts
    let rows: NewDelivery[] = []
    let inOneStatement = true
    for (const event of events) {
      rows = rows.concat(this.#rows(event, candidates, now))
      // Inserts whenever a statement is full: all rows of many events might not fit into memory.
      for (; rows.length >= rowsPerInsert; rows = rows.slice(rowsPerInsert)) {
        inOneStatement = false
        await tx.executeQuery(insertStatement(engine, rows.slice(0, rowsPerInsert)))
      }
    }
    if (rows.length === 0) return { inserted: Promise.resolve(inOneStatement ? [] : undefined) }
    const result = run(insertStatement(engine, rows)) as Promise<{ rows: InsertedDelivery[] }>
    const complete = inOneStatement && rows.length <= maxReturned
    return { inserted: result.then((returned) => (complete ? returned.rows : undefined)) }
  }

  /** Returns the subscribers that may match any of the events, in the order of their ids. */
  async candidates(tx: Tx, events: readonly Pick<PreparedEvent, 'audience'>[]): Promise<Candidate[]> {
    if (events.length === 0) return []
    const audiences = new Set(events.map(({ audience }) => audience))
    const owners = [...audiences].filter((audience) => audience !== null)
    const { engine, ownerlessGetAll } = this.#parts
    const ownerless = audiences.has(null) || ownerlessGetAll
    let query = tx
      .selectFrom('subscribers')
      .select(['id', 'event_types', 'channels', 'conditions', 'owner', 'retry_schedule'])
      .$if(
        owners.some((owner) => owner !== everybody),
        (all) => all.select(eventsAfter),
      )
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
      .filter(({ event_types, channels, conditions, owner, events_after }) => {
        if (!isFor(event.audience, owner, ownerlessGetAll)) return false
        if (event.audience !== everybody && id <= (events_after ?? 0)) return false
        if (!matchesType(this.#texts.of(event_types), event.type)) return false
        if (channels !== null && !this.#texts.of(channels).some((one) => event.channels?.includes(one)))
          return false
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
}

/** An event may be recorded, or scheduled, before the customer is removed, and sent after another one with the same owner is created. */
const eventsAfter = sql<
  number | null
>`(select events_after from owners where owners.owner = subscribers.owner)`.as('events_after')

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

/** More deliveries than this are not returned: the dispatcher reads them from the table. */
const maxReturned = 1_000

/** Rows of one statement, which has one parameter for each column. */
const rowsPerInsert = 20_000

export type InsertedDelivery = Pick<Row<'deliveries'>, 'id' | 'event' | 'subscriber_id' | 'due_at' | 'nonce'>

const returning = 'returning id, event, subscriber_id, due_at, nonce'

/** One parameter for all rows. SQLite parses JSON faster than it binds thousands of parameters. */
const insertListed = `
  insert into deliveries (event, subscriber_id, owner, status, attempts, attempts_before, due_at, created_at, nonce)
  select value ->> 0, value ->> 1, (select owner from subscribers where id = value ->> 1),
    'pending', 0, 0, value ->> 2, ?1, value ->> 3
  from json_each(?2) order by key`

function insertAll(rows: readonly NewDelivery[]): CompiledQuery {
  const [{ created_at }] = rows as [NewDelivery]
  const json = JSON.stringify(
    rows.map(({ event, subscriber_id, due_at, nonce }) => [event, subscriber_id, due_at, nonce]),
  )
  return CompiledQuery.raw(rows.length > maxReturned ? insertListed : `${insertListed} ${returning}`, [
    created_at,
    json,
  ])
}

/**
 * Locks the rows of the subscribers and skips those that were removed meanwhile: the job that removes their deliveries would not see
 * one that is inserted later.
 */
const insertJoined = `
  insert into deliveries (event, subscriber_id, owner, status, attempts, attempts_before, due_at, created_at, nonce)
  select want.event, s.id, s.owner, 'pending', 0, 0, want.due_at, $5::bigint, want.nonce
  from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) as want (event, id, due_at, nonce)
    join subscribers s on s.id = want.id
  order by want.event, s.id
  for key share of s`

/** In the order of the parameters of `insertJoined`. */
const deliveryColumns: readonly Column<NewDelivery>[] = [
  { kind: 'bigints', read: ({ event }) => event },
  { kind: 'texts', read: ({ subscriber_id }) => subscriber_id },
  { kind: 'bigints', read: ({ due_at }) => due_at },
  { kind: 'bigints', read: ({ nonce }) => nonce },
]

function insertUnlessRemoved(rows: readonly NewDelivery[]): CompiledQuery {
  const [{ created_at }] = rows as [NewDelivery]
  const values = [...encodeArrays(rows, deliveryColumns), created_at]
  // PostgreSQL joins many rows differently than few, so such a statement is planned each time.
  if (rows.length > maxReturned) return CompiledQuery.raw(insertJoined, values)
  return prepare(CompiledQuery.raw(`${insertJoined} ${returning}`, values))
}

type NewDelivery = Omit<InsertedDelivery, 'id'> & Pick<Row<'deliveries'>, 'created_at'>

function insertStatement(engine: Engine, rows: readonly NewDelivery[]): CompiledQuery {
  return engine === 'postgres' ? insertUnlessRemoved(rows) : insertAll(rows)
}

/**
 * Inserts deliveries with the same `created_at`, unless their subscribers were removed.
 * @returns the inserted ones, unless they are more than `maxReturned`
 */
export async function insertRows(
  engine: Engine,
  tx: Tx,
  rows: readonly NewDelivery[],
): Promise<InsertedDelivery[] | undefined> {
  const inserted: InsertedDelivery[] = []
  for (let from = 0; from < rows.length; from += rowsPerInsert) {
    const { rows: returned } = await tx.executeQuery(
      insertStatement(engine, rows.slice(from, from + rowsPerInsert)),
    )
    inserted.push(...(returned as InsertedDelivery[]))
  }
  return rows.length > maxReturned ? undefined : inserted
}

export function newDelivery(
  event: { id: number; nonce: number },
  subscriberId: string,
  now: number,
  dueAt: number,
): NewDelivery {
  return { event: event.id, nonce: event.nonce, subscriber_id: subscriberId, due_at: dueAt, created_at: now }
}
