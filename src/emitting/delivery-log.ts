import { Problem } from '../errors.ts'
import type { PageOfRows } from '../paging/page.ts'
import type { Cursors, CursorScope } from '../paging/cursor.ts'
import type { Database, Queryable } from '../storage/database.ts'
import type { AttemptsTable, DeliveryStatus } from '../storage/tables.ts'
import { isForOwner, reaches, type Reach } from './audience.ts'
import type { DeliveryFilter } from './delivery-filter.ts'

/** The newest attempts that one response shows. Each can have 64 KiB. */
const mostAttempts = 100

export interface DeliveryEntry {
  id: number
  event: number
  event_id: string
  type: string
  subscriber_id: string
  status: DeliveryStatus
  attempts: number
  due_at: number
  created_at: number
  finished_at: number | null
  /** Of the newest recorded attempt. */
  last_status: number | null
  last_error: string | null
}

export interface DeliveryPage {
  filter: DeliveryFilter
  limit: number
  cursor: string | undefined
}

/** Reads deliveries and their attempts. */
export class DeliveryLog {
  readonly #database: Database
  readonly #cursors: Cursors

  constructor(database: Database, cursors: Cursors) {
    this.#database = database
    this.#cursors = cursors
  }

  /**
   * A subscriber's deliveries, newest first. Owners do not see deliveries of events that are not for them.
   * @throws Problem `invalid-cursor`
   */
  async list(
    subscriberId: string,
    reach: Reach,
    { filter, limit, cursor }: DeliveryPage,
  ): Promise<PageOfRows<DeliveryEntry>> {
    const scope = scopeOf(subscriberId, filter)
    let query = entries(this.#database.reader).where('deliveries.subscriber_id', '=', subscriberId)
    if (reach !== 'all') query = query.where(isForOwner(reach.owner))
    if (filter.status) query = query.where('deliveries.status', '=', filter.status)
    if (filter.eventType) query = query.where('events.type', '=', filter.eventType)
    if (filter.since !== undefined) query = query.where('deliveries.created_at', '>=', filter.since)
    if (filter.until !== undefined) query = query.where('deliveries.created_at', '<', filter.until)
    if (cursor !== undefined)
      query = query.where('deliveries.id', '<', this.#cursors.decode(scope, cursor)[0] as number)
    const rows = await query
      .orderBy('deliveries.id', 'desc')
      .limit(limit + 1)
      .execute()
    return this.#cursors.page(scope, rows, limit, ({ id }) => [id])
  }

  /** One delivery with its newest attempts, in their order. @throws Problem `not-found`, also outside the caller's reach */
  async get(id: number, reach: Reach): Promise<{ entry: DeliveryEntry; attempts: AttemptsTable[] }> {
    const db = this.#database.reader
    const found = await entries(db)
      .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
      .select('subscribers.owner')
      .where('deliveries.id', '=', id)
      .$if(reach !== 'all', (own) => own.where(isForOwner((reach as { owner: string }).owner)))
      .executeTakeFirst()
    if (!found || !reaches(reach, found.owner))
      throw new Problem('not-found', { detail: 'There is no such delivery.' })
    const attempts = await db
      .selectFrom('attempts')
      .selectAll()
      .where('delivery', '=', id)
      .orderBy('number', 'desc')
      .limit(mostAttempts)
      .execute()
    return { entry: found, attempts: attempts.toReversed() }
  }
}

function entries(db: Queryable) {
  return db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event')
    .leftJoin('attempts', (join) =>
      join
        .onRef('attempts.delivery', '=', 'deliveries.id')
        .onRef('attempts.number', '=', 'deliveries.attempts'),
    )
    .select([
      'deliveries.id',
      'deliveries.event',
      'events.event_id',
      'events.type',
      'deliveries.subscriber_id',
      'deliveries.status',
      'deliveries.attempts',
      'deliveries.due_at',
      'deliveries.created_at',
      'deliveries.finished_at',
      'attempts.status as last_status',
      'attempts.error as last_error',
    ])
}

function scopeOf(subscriberId: string, { status, eventType, since, until }: DeliveryFilter): CursorScope {
  return {
    list: 'deliveries',
    keys: [{ name: 'id', type: 'integer' }],
    query: [subscriberId, status ?? null, eventType ?? null, since ?? null, until ?? null],
  }
}
