import { sql } from 'kysely'
import { isoTime } from '../../runtime/iso-time.ts'
import { parseExactly } from '../../json/exact.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import { isOneOf, isStorableText } from '../../storage/sql-text.ts'
import { bounds } from '../deliveries/delivery-sources.ts'
import { type IdStream, idsIn } from '../../storage/id-order.ts'
import { deliveryStream, eventsFor, type OpenStatus } from '../deliveries/id-streams.ts'
import { dataIn, everybody } from '../events/event.ts'
import type { EventOwner } from '../subscribers/owner-directory.ts'
import { notFound } from './call.ts'
import { messageIdOf } from './ids.ts'
import type { AskedPage, Walk } from './pages.ts'

function messages(db: Queryable) {
  return db
    .selectFrom('idempotency_keys as k')
    .leftJoin('events as e', 'e.id', 'k.event')
    .leftJoin('event_options as o', 'o.event', 'k.event')
    .leftJoin('scheduled_events as s', 's.event', 'k.event')
    .select(['k.event', 'k.event_id as id', 'k.audience', 'e.type', 'e.created_at', 's.deliver_at'])
    .select(['o.uid', 'o.channels', 'o.tags', 'o.expunged_at'])
    .select(sql<number | null>`octet_length(e.payload)`.as('size'))
}

/** A message without its payload. The type is null once its event was deleted. */
export type MessageRow = Awaited<ReturnType<ReturnType<typeof messages>['executeTakeFirstOrThrow']>>

function deliveries(db: Queryable) {
  return messages(db)
    .innerJoin('deliveries as d', 'd.event', 'k.event')
    .select(['d.id as delivery', 'd.status', 'd.attempts', 'd.due_at'])
}

export type DeliveryRow = Awaited<ReturnType<ReturnType<typeof deliveries>['executeTakeFirstOrThrow']>>

/** The messages of these events, in the order of their numbers. */
export function messagesOf(
  { slowReader, engine }: Database,
  events: readonly number[],
): Promise<MessageRow[]> {
  return messages(slowReader)
    .where(isOneOf(engine, 'k.event', events))
    .orderBy('k.event')
    .execute()
}

/** Conditions on messages, all of which must apply. */
interface MessageFilter {
  event_types?: readonly string[]
  channel?: string
  tag?: string
}

/** Returns a check of whether a message belongs to an application and matches the filter. */
export function selector({ owner, eventsAfter }: EventOwner, { event_types, channel, tag }: MessageFilter) {
  const has = (json: string | null, text: string | undefined): boolean =>
    text === undefined || (json !== null && (JSON.parse(json) as string[]).includes(text))
  return (row: MessageRow): boolean =>
    row.type !== null &&
    row.event > eventsAfter &&
    (row.audience === owner || row.audience === everybody) &&
    (event_types?.includes(row.type) ?? true) &&
    has(row.channels, channel) &&
    has(row.tags, tag)
}

export function isWithin(time: number, { before, after }: AskedPage): boolean {
  return time < (before ?? Infinity) && time >= (after ?? 0)
}

/**
 * Returns a function for the next ids after a place, limited to rows that can belong between the two times of a list.
 * @param limits.lead milliseconds by which a row can be older than the listed time
 * @param limits.floor the id after which the list begins
 */
async function idReader(
  { slowReader: db, engine }: Database,
  streams: readonly IdStream[],
  { after, before, ascending }: AskedPage,
  { table, lead = 0, floor = 0 }: { table: 'events' | 'deliveries'; lead?: number; floor?: number },
): Promise<(behind: number | undefined, count: number) => Promise<number[]>> {
  const since = after === undefined ? undefined : after - lead
  const range = await bounds(db, table, { since, until: before })
  const least = Math.max(range.after, floor)
  return (behind, count) =>
    idsIn(db, engine, streams, {
      after: ascending ? Math.max(least, behind ?? 0) : least,
      before: ascending ? range.before : Math.min(range.before, behind ?? range.before),
      ascending,
      count,
    })
}

/** The messages of an application, by the numbers of their events. */
export async function messageWalk(
  database: Database,
  application: EventOwner,
  asked: AskedPage,
  filter: MessageFilter,
): Promise<Walk<MessageRow, Pick<MessageRow, 'event' | 'id'>>> {
  const streams = [application.owner, everybody].map(eventsFor)
  const limits = { table: 'events', floor: application.eventsAfter } as const
  const next = await idReader(database, streams, asked, limits)
  const selects = selector(application, filter)
  return {
    find: (text) => searchMessage(database.slowReader, application, text),
    idOf: ({ id }) => id,
    async read(behind, count) {
      const numbers = await next(behind?.event, count)
      const rows = await messagesOf(database, numbers)
      if (!asked.ascending) rows.reverse()
      return {
        rows: rows.filter((row) => selects(row) && isWithin(row.created_at!, asked)),
        last: numbers.length < count ? undefined : rows.at(-1),
      }
    },
  }
}

/** @param text the message's id, or its eventId */
export async function searchMessage(
  db: Queryable,
  application: EventOwner,
  text: string,
): Promise<MessageRow | undefined> {
  // An iterator can have any text.
  if (!isStorableText(text)) return undefined
  const rows = await messages(db)
    .where('k.event_id', 'in', [text, messageIdOf('eventId', application, text)])
    .execute()
  const found = rows.filter(selector(application, {}))
  return found.find(({ id }) => id === text) ?? found[0]
}

/** @throws SvixError 404, also for a message of another application */
export async function findMessage(db: Queryable, application: EventOwner, text: string): Promise<MessageRow> {
  const row = await searchMessage(db, application, text)
  if (!row) throw notFound()
  return row
}

/** Milliseconds for which a delivery is expected to be retried. Filters by time do not find later attempts. */
const longestRetries = 7 * 86_400_000

/** Reads an endpoint's deliveries, with one status or any. */
export async function deliveryReader(
  database: Database,
  application: EventOwner,
  { subscriberId, status }: { subscriberId: string; status?: OpenStatus | undefined },
  asked: AskedPage,
  filter: MessageFilter,
) {
  const { slowReader: db, engine } = database
  const streams = [deliveryStream({ subscriberId, status })]
  const limits = { table: 'deliveries', lead: longestRetries } as const
  const next = await idReader(database, streams, asked, limits)
  const selects = selector(application, filter)
  return async (behind: number | undefined, count: number) => {
    const ids = await next(behind, count)
    const rows = await deliveries(db)
      .where(isOneOf(engine, 'd.id', ids))
      .orderBy('d.id', asked.ascending ? 'asc' : 'desc')
      .execute()
    return {
      rows: rows.filter((row) => row.attempts > 0 && selects(row)),
      last: ids.length < count ? undefined : rows.at(-1),
    }
  }
}

/** The most bytes of payloads in one response. */
const mostBytes = 8 * 1024 * 1024

/** The number of rows whose payloads fit into one response, at least 1. */
export function fitting(rows: readonly MessageRow[]): number {
  let bytes = 0
  const end = rows.findIndex((row) => (bytes += row.size ?? 0) > mostBytes)
  return end < 0 ? rows.length : Math.max(1, end)
}

/** The payload of a message whose content was removed. */
export const expired = '{"expired":true}'

/** The JSON of messages' content by event number. Removed content is absent. */
export async function contentsOf(
  { slowReader, engine }: Database,
  rows: readonly MessageRow[],
): Promise<Map<number, string>> {
  const numbers = rows.map(({ event }) => event)
  const found = await slowReader
    .selectFrom('events')
    .select(['id', 'payload'])
    .where(isOneOf(engine, 'id', numbers))
    .execute()
  return new Map(
    found.flatMap(({ id, payload }) => {
      const data = dataIn(payload)
      return data ? [[id, data.toString()] as const] : []
    }),
  )
}

/** Messages as clients read them, in the order of the rows. */
export async function viewMessages(
  database: Database,
  rows: readonly MessageRow[],
  withContent: boolean,
): Promise<object[]> {
  const contents = withContent ? await contentsOf(database, rows) : new Map<number, string>()
  return rows.map(({ event, id, ...row }) => ({
    eventId: row.uid,
    eventType: row.type,
    payload: withContent ? readContent(contents.get(event) ?? expired) : {},
    channels: row.channels === null ? null : (JSON.parse(row.channels) as string[]),
    id,
    timestamp: isoTime(row.created_at!),
    ...(row.tags !== null && { tags: JSON.parse(row.tags) as string[] }),
    ...(row.deliver_at !== null && { deliverAt: isoTime(row.deliver_at) }),
  }))
}

/** Clients expect an object. Postern's own API accepts any JSON value. */
export function readContent(json: string): unknown {
  const data = parseExactly(json)
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? data : { data }
}
