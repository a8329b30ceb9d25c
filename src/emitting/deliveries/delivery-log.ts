import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { invalidBody, Problem } from '../../errors.ts'
import {
  type PageOfRows,
  type PageRequest,
  readChoice,
  readText,
  readTimeParameter,
} from '../../paging/parameters.ts'
import type { Cursors, CursorScope } from '../../paging/cursor.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { SigningScheme, DeliveryStatus, Row } from '../../storage/tables.ts'
import { isForOwner, type Reach, reaches, dataIn } from '../events/event.ts'
import { type DeliverySource, newest, type Place, search, sourceOf } from './delivery-sources.ts'
import type { Clock } from '../../runtime/clock.ts'
import { schemesOf, type SubscriberSecrets } from '../subscribers/secrets.ts'
import { bodyKey, sizeKey } from '../attempt/attempt.ts'
import { signatures } from '../attempt/signature.ts'

/** Those of the deliveries that fulfil the conditions, in their order. Reads only the tables that these need. */
async function matching(
  { slowReader: db, engine }: Database,
  places: readonly Place[],
  conditions: ReturnType<typeof conditionsOf>,
): Promise<readonly Place[]> {
  if (places.length === 0 || conditions.length === 0) return places
  const found = places.map(({ id }) => id)
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where(isOneOf(engine, 'deliveries.id', found))
    .where(sql<SqlBool>`${sql.join(conditions, sql` and `)}`)
    .execute()
  const ids = new Set(rows.map(({ id }) => id))
  return places.filter(({ id }) => ids.has(id))
}

const placeKeys = [
  { name: 'event', type: 'integer' },
  { name: 'id', type: 'integer' },
] as const

/** SQL for the conditions of a search on `deliveries`, without the one that its source ensures. */
function conditionsOf(
  filter: DeliverySearch,
  reach: Reach,
  ensured: DeliverySource['ensured'],
): RawBuilder<SqlBool>[] {
  const { subscriberId, owner, status } = filter
  const conditions = sharedConditions(filter)
  if (reach !== 'all') conditions.push(isForOwner(reach.owner))
  // A job deletes the deliveries of a removed subscriber by and by: pages must not be filled with them.
  if (ensured !== 'subscriber')
    conditions.push(sql`exists (select 1 from subscribers where subscribers.id = deliveries.subscriber_id)`)
  // A condition that holds anyway would be a reason for a planner to read all deliveries of the subscriber.
  if (subscriberId !== undefined && ensured !== 'subscriber')
    conditions.push(sql`deliveries.subscriber_id = ${subscriberId}`)
  if (owner !== undefined && ensured !== 'owner')
    conditions.push(owner === null ? sql`deliveries.owner is null` : sql`deliveries.owner = ${owner}`)
  if (status) conditions.push(sql`deliveries.status = ${status}`)
  return conditions
}

/** SQL for a delivery's event type. No join: a planner could begin with all events of the type. */
export const typeOfEvent = sql`(select type from events where events.id = deliveries.event)`

/** SQL for the conditions of a filter that the delivery log and replays apply in the same way. */
export function sharedConditions({
  eventType,
  since,
  until,
  responseClass,
}: Omit<DeliverySearch, 'status'>): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = []
  if (eventType) conditions.push(sql`${typeOfEvent} = ${eventType}`)
  if (since !== undefined) conditions.push(sql`deliveries.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`deliveries.created_at < ${until}`)
  if (responseClass) conditions.push(answeredWith(responseClass))
  return conditions
}

/** SQL for whether a delivery's newest attempt got a response of this class. */
function answeredWith(responseClass: ResponseClass): RawBuilder<SqlBool> {
  const of = sql`attempts.delivery = deliveries.id and attempts.number = deliveries.attempts`
  const from = Number(responseClass[0]) * 100
  const status =
    responseClass === 'none'
      ? // A destination takes an event without a response.
        sql`status is null and (error is not null or failure is not null)`
      : sql`status between ${from} and ${from + 99}`
  return sql<SqlBool>`exists (select 1 from attempts where ${of} and ${status})`
}

/** The newest attempts that one response shows. Each can have 64 KiB. */
const mostAttempts = 100

/** Bytes of the payload that one response shows. */
const payloadShown = 64 * 1024

/** A delivery with its subscriber, and the response to its newest recorded attempt. */
export type DeliveryEntry = Awaited<ReturnType<ReturnType<typeof entries>['executeTakeFirstOrThrow']>>

export interface DeliveryDetail {
  entry: DeliveryEntry
  /** The signing setting of the subscriber now. */
  signing: SigningScheme
  /** The beginning of the body that is sent: `payloadShown` bytes. */
  payload: Buffer
  /** Bytes of the whole body. */
  size: number
  attempts: Row<'attempts'>[]
}

export class DeliveryLog {
  readonly #database: Database
  readonly #cursors: Cursors

  constructor(database: Database, cursors: Cursors) {
    this.#database = database
    this.#cursors = cursors
  }

  /**
   * Deliveries, newest first; of one event type, by the age of their events. Owners do not see deliveries of events that are not for
   * them. Each page examines a bounded number of deliveries. If few of them match, it has fewer rows, and its cursor continues the
   * search.
   * @throws Problem `invalid-cursor`
   */
  async page(
    filter: DeliverySearch,
    reach: Reach,
    { limit, cursor }: PageRequest,
  ): Promise<PageOfRows<DeliveryEntry>> {
    const [database, cursors] = [this.#database, this.#cursors]
    const query = [reach, Object.entries(filter).toSorted(([a], [b]) => (a < b ? -1 : 1))]
    const source = await sourceOf(database, filter)
    const scope: CursorScope = { list: 'deliveries', keys: placeKeys, query }
    const keysOf = ({ event, id }: Place): number[] => [event, id]
    const [event, id] = (cursor === undefined ? keysOf(newest) : cursors.decode(scope, cursor)) as number[]
    const start: Place = { event: event!, id: id! }
    const { found, last } = await search(limit, start, async (behind, count) => {
      const { places, last } = await source.read(behind, count)
      return { rows: await matching(database, places, conditionsOf(filter, reach, source.ensured)), last }
    })
    const { rows, nextCursor } =
      found.length > limit || last === undefined
        ? cursors.page(scope, found, limit, keysOf)
        : { rows: found, nextCursor: cursors.encode(scope, keysOf(last)) }
    if (rows.length === 0) return { rows: [], nextCursor }
    const ids = rows.map(({ id }) => id)
    const read = await entries(database.slowReader)
      .where(isOneOf(database.engine, 'deliveries.id', ids))
      .execute()
    const byId = new Map(read.map((row) => [row.id, row]))
    return { rows: ids.flatMap((id) => byId.get(id) ?? []), nextCursor }
  }

  /** One delivery with its newest attempts, in their order. @throws Problem `not-found`, also outside the caller's reach */
  async get(id: number, reach: Reach): Promise<DeliveryDetail> {
    const db = this.#database.slowReader
    const found = await entries(db)
      .select('subscribers.signing')
      .select(sql<number>`octet_length(events.payload)`.as('size'))
      .select(sql<Uint8Array>`substr(events.payload, 1, ${sql.lit(payloadShown)})`.as('payload'))
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
    const { payload, size, signing, ...entry } = found
    return { entry, signing, payload: Buffer.from(payload), size, attempts: attempts.toReversed() }
  }
}

function entries(db: Queryable) {
  return db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.id', 'deliveries.event')
    .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
    .leftJoin('owners', 'owners.owner', 'subscribers.owner')
    .leftJoin('attempts', (join) =>
      join
        .onRef('attempts.delivery', '=', 'deliveries.id')
        .onRef('attempts.number', '=', 'deliveries.attempts'),
    )
    .select([
      'deliveries.id',
      'deliveries.event',
      'events.event_id as eventId',
      'events.type as eventType',
      'deliveries.subscriber_id as subscriberId',
      'deliveries.status',
      'deliveries.attempts as attemptCount',
      'deliveries.due_at as dueAt',
      'deliveries.created_at as createdAt',
      'deliveries.finished_at as finishedAt',
      'attempts.status as lastStatus',
      'attempts.error as lastError',
      'subscribers.url as subscriberUrl',
      'subscribers.owner',
      'owners.name as ownerName',
    ])
}

/** Milliseconds for which receivers accept a signature: the tolerance of Standard Webhooks. */
const tolerance = 5 * 60_000

/**
 * Returns a function that computes the signatures of an attempt again, from the keys that signed then and are still stored. They
 * are not recorded, because they are valid for some minutes; until that time is over, and without such a key, it returns null.
 */
export async function pastSignatures(
  { database, secrets, clock }: { database: Database; secrets: SubscriberSecrets; clock: Clock },
  { entry, signing, payload, size }: DeliveryDetail,
): Promise<(attempt: Row<'attempts'>) => string | null> {
  const keys = await secrets.load(database.reader, entry.subscriberId, schemesOf(signing))
  const expired = clock.now() - tolerance
  return ({ at, request_headers, request_body }) => {
    const headers = JSON.parse(request_headers) as Record<string, string>
    const timestamp = headers['webhook-timestamp'] ?? headers['svix-timestamp']
    const isWhole = request_body === null ? size <= payloadShown : headers[sizeKey] === undefined
    if (at > expired || timestamp === undefined || !isWhole) return null
    const then = keys.filter(
      ({ createdAt, expiresAt }) => createdAt <= at && (expiresAt === null || expiresAt > at),
    )
    if (then.length === 0) return null
    const signers = then.map((key) => key.signing)
    const body = request_body ?? ((headers[bodyKey] === 'data' && dataIn(payload)) || payload)
    return signatures(signers, entry.eventId, Number(timestamp), body)
  }
}

/** Selects deliveries of a subscriber. All given conditions must hold. */
export interface DeliveryFilter {
  status?: DeliveryStatus
  eventType?: string
  /** Created at this time or later, in milliseconds since 1970. */
  since?: number
  /** Created before this time. */
  until?: number
}

export interface DeliverySearch extends DeliveryFilter {
  subscriberId?: string
  /** The owner of the subscriber; null: subscribers without an owner. */
  owner?: string | null
  /** The id that is sent as `webhook-id`. */
  eventId?: string
  responseClass?: ResponseClass
}

export const deliveryStatuses = ['pending', 'delivered', 'dead'] as const satisfies readonly DeliveryStatus[]

/** The response to the newest attempt; `none`: no response came. */
export const responseClasses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const
export type ResponseClass = (typeof responseClasses)[number]

type Texts<Name extends string> = { [N in Name]?: string | undefined }
type FilterTexts = Texts<'status' | 'eventType' | 'since' | 'until'>
type SearchTexts = FilterTexts & Texts<'subscriber' | 'owner' | 'eventId' | 'response'>

/** Characters of the longest type, id or owner that exists. */
const longestText = 256

/** Reads the filters of a query string and ignores empty ones. @throws Problem `invalid-parameter` with the parameter's name */
export function readDeliveryFilter(texts: FilterTexts): DeliveryFilter {
  const filter: DeliveryFilter = {}
  if (texts.status) filter.status = readChoice(texts.status, 'status', deliveryStatuses)
  if (texts.eventType) filter.eventType = readText(texts.eventType, 'eventType', longestText)
  if (texts.since) filter.since = readTimeParameter(texts.since, 'since')
  if (texts.until) filter.until = readTimeParameter(texts.until, 'until')
  return filter
}

/**
 * The same for a replay, also of missing events.
 * @throws Problem `invalid-parameter`; `invalid-body` if missing events are requested without `since`, or with `dryRun`
 */
export function readReplayFilter(texts: FilterTexts & { dryRun?: boolean | undefined }) {
  const { status, ...others } = texts
  if (status !== 'missing') return readDeliveryFilter(texts)
  if (!texts.since) throw invalidBody('/since', 'A replay of missing events requires `since`.')
  if (texts.dryRun) throw invalidBody('/dryRun', 'Missing events cannot be counted in advance.')
  return { ...readDeliveryFilter(others), status } as const
}

/**
 * The same for the deliveries of all subscribers. An empty `owner` selects the subscribers without an owner.
 * @throws Problem `invalid-parameter` with the parameter's name
 */
export function readDeliverySearch(texts: SearchTexts): DeliverySearch {
  const search: DeliverySearch = readDeliveryFilter(texts)
  if (texts.subscriber) search.subscriberId = readText(texts.subscriber, 'subscriber', longestText)
  if (texts.owner !== undefined)
    search.owner = texts.owner === '' ? null : readText(texts.owner, 'owner', longestText)
  if (texts.eventId) search.eventId = readText(texts.eventId, 'eventId', longestText)
  if (texts.response) search.responseClass = readChoice(texts.response, 'response', responseClasses)
  return search
}
