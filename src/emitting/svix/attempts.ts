import { isUtf8 } from 'node:buffer'
import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import { addressKey } from '../attempt/attempt.ts'
import { responseBody, responseHeaders } from '../routes/deliveries.ts'
import { isOpenToOwners } from '../subscribers/destinations.ts'
import { notFound, type SvixCall, type SvixOperations, SvixError } from './call.ts'
import { endpointOf, viewEndpoint } from './endpoints.ts'
import { attemptId, endpointId, lastNumber, readAttemptId } from './ids.ts'
import { type AskedPage, pageOf, pageOfSorted, readPage, type Walk } from './pages.ts'
import {
  deliveryReader,
  type DeliveryRow,
  fitting,
  isWithin,
  messagesOf,
  searchMessage,
  selector,
  viewMessages,
} from './rows.ts'

/** Svix's statuses of attempts and deliveries that Postern uses. */
const success = { status: 0, statusText: 'success' }
const fail = { status: 2, statusText: 'fail' }
const sending = { status: 3, statusText: 'sending' }
const ofDelivery = { delivered: success, dead: fail, pending: sending }

function attempts(db: Queryable, withContent = true) {
  const body = withContent ? sql.ref<Uint8Array | null>('a.response_body') : sql<null>`null`
  return (
    db
      .selectFrom('attempts as a')
      .innerJoin('deliveries as d', 'd.id', 'a.delivery')
      .innerJoin('idempotency_keys as k', 'k.event', 'd.event')
      // The deliveries of a removed endpoint remain until a job deletes them.
      .innerJoin('subscribers as s', 's.id', 'd.subscriber_id')
      .select(['a.delivery', 'a.number', 'a.at', 'a.duration_ms', 'a.status', 'a.error', 'a.failure'])
      .select(['a.request_headers', 'a.response_headers', body.as('response_body')])
      .select(['d.attempts_before', 'd.subscriber_id', 'd.event', 'k.event_id', 's.url'])
  )
}

/** Conditions on attempts `a`. */
function matching({ status, status_code_class: code }: SvixCall['query'], asked: AskedPage) {
  const { before, after } = asked
  const conditions: RawBuilder<unknown>[] = [sql`a.at >= ${after ?? 0}`]
  if (before !== undefined) conditions.push(sql`a.at < ${before}`)
  if (status === success.status) conditions.push(sql`a.failure is null`)
  else if (status === fail.status) conditions.push(sql`a.failure is not null`)
  // No attempt has another status.
  else if (status !== undefined) conditions.push(sql`1 = 0`)
  if (code !== undefined) conditions.push(sql`coalesce(a.status, 0) between ${code} and ${code + 99}`)
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

type Place = NonNullable<ReturnType<typeof readAttemptId>>

interface AttemptSearch {
  query: SvixCall['query']
  asked: AskedPage
  behind: Place | undefined
  count: number
}

/** The attempts of these deliveries, in the order of their ids. */
function attemptsOf(
  { slowReader: db, engine }: Database,
  deliveries: readonly number[],
  { query, asked, behind, count }: AttemptSearch,
) {
  const [order, than] = asked.ascending ? (['asc', '>'] as const) : (['desc', '<'] as const)
  let search = attempts(db, query['with_content'] !== false)
    .where(isOneOf(engine, 'a.delivery', deliveries))
    .where(matching(query, asked))
  if (behind)
    search = search.where((eb) =>
      eb(eb.refTuple('a.delivery', 'a.number'), than, eb.tuple(behind.delivery, behind.number)),
    )
  return search.orderBy('a.delivery', order).orderBy('a.number', order).limit(count).execute()
}

type Attempt = Awaited<ReturnType<typeof attemptsOf>>[number]

const ids = { find: readAttemptId, idOf: ({ delivery, number }: Place) => attemptId(delivery, number) }

/** The attempts of an endpoint, by delivery. */
async function byEndpoint(
  call: SvixCall,
  asked: AskedPage,
  query = call.query,
): Promise<Walk<Attempt, Place>> {
  const { ascending, limit } = asked
  const { database } = call.parts
  const read = await deliveryReader(database, call, { subscriberId: call.endpoint.id }, asked, query)
  return {
    ...ids,
    async read(behind, count) {
      // Further attempts of the same delivery can come after this place.
      const before = behind && behind.delivery + (ascending ? -1 : 1)
      const { rows: deliveries, last } = await read(before, count)
      const numbers = deliveries.map(({ delivery }) => delivery)
      const rows = await attemptsOf(database, numbers, { query, asked, behind, count: limit + 1 })
      return { rows, last: last && { delivery: last.delivery, number: ascending ? lastNumber : 0 } }
    },
  }
}

/** The attempts of a message at the endpoints of the application. */
async function byMessage(call: SvixCall, asked: AskedPage): Promise<Walk<Attempt, Place>> {
  const { owner, message, query } = call
  const { database } = call.parts
  const endpoint = query['endpoint_id'] as string | undefined
  const only = endpoint === undefined ? undefined : await endpointOf(call, endpoint)
  const deliveries = selector(call, query)(message) ? await deliveriesOf(database, owner, message.event) : []
  const numbers = deliveries.filter((one) => !only || one.subscriber_id === only.id).map(({ id }) => id)
  return {
    ...ids,
    async read(behind, count) {
      const rows = await attemptsOf(database, numbers, { query, asked, behind, count })
      return { rows, last: rows.length < count ? undefined : rows.at(-1) }
    },
  }
}

/** An event's deliveries to an application's endpoints. Not paged, because an application has a limited number of endpoints. */
function deliveriesOf({ slowReader: db }: Database, owner: string, event: number) {
  return db
    .selectFrom('deliveries')
    .select(['id', 'subscriber_id'])
    .where('event', '=', event)
    .where('owner', '=', owner)
    .execute()
}

/** The most attempts that are counted. */
const mostCounted = 1_000

export const attemptOperations: SvixOperations = {
  async 'v1.message-attempt.list-by-endpoint'(call) {
    const asked = readPage(call.query)
    return pageOf(asked, await byEndpoint(call, asked), async (rows) => {
      const messages = call.query['with_msg']
        ? await messagesIn(call.parts.database, rows)
        : new Map<string, object>()
      return rows.map((row) => Object.assign(view(row, call), { msg: messages.get(row.event_id) }))
    })
  },
  async 'v1.message-attempt.count-by-endpoint'(call) {
    const asked = { ...readPage(call.query), limit: mostCounted }
    const walk = await byEndpoint(call, asked, { ...call.query, with_content: false })
    const { done, data } = await pageOf(asked, walk, (rows) => rows)
    return { count: data.length, approximated: !done }
  },
  async 'v1.message-attempt.list-by-msg'(call) {
    const asked = readPage(call.query)
    const walk = await byMessage(call, asked)
    return pageOf(asked, walk, (rows) => rows.map((row) => view(row, call)))
  },
  'v1.message-attempt.list-attempted-messages': attemptedMessages,
  'v1.message-attempt.list-attempted-destinations': attemptedEndpoints,
  'v1.message-attempt.get': async (call) => view(await find(call), call),
  'v1.message-attempt.get-headers': async (call) => viewHeaders(call, await find(call)),
  async 'v1.message-attempt.expunge-content'(call) {
    const { delivery, number } = await find(call)
    await call.parts.payloadRemoval.removeResponse(delivery, number, 'EXPUNGED', call.origin)
  },
  async 'v1.message-attempt.resend'({ message, endpoint, reach, origin, parts }) {
    if (message.expunged_at !== null) throw new SvixError(400, 'missing_payload', missing)
    await parts.replay.resend(message.event, endpoint.id, reach, origin)
    return {}
  },
}

const missing = 'Unable to resend message. Payload is missing (probably expired).'

/** The messages of attempts by their ids, without their content. */
async function messagesIn(database: Database, rows: readonly Attempt[]): Promise<Map<string, object>> {
  const found = await messagesOf(database, [...new Set(rows.map(({ event }) => event))])
  const shown = await viewMessages(database, found, false)
  return new Map(found.map(({ id }, index) => [id, shown[index]!]))
}

/** The messages that were sent to an endpoint, by delivery. */
async function attemptedMessages(call: SvixCall): Promise<object> {
  const { owner, query, endpoint } = call
  const { database } = call.parts
  const asked = readPage(query)
  const statuses = Object.keys(ofDelivery) as (keyof typeof ofDelivery)[]
  const status = statuses.find((one) => ofDelivery[one].status === query['status'])
  if (query['status'] !== undefined && !status) return { data: [], iterator: null, done: true }
  const open = status === 'delivered' ? undefined : status
  const deliveries = { subscriberId: endpoint.id, status: open }
  const read = await deliveryReader(database, call, deliveries, asked, query)
  const withContent = query['with_content'] !== false
  const walk: Walk<DeliveryRow, Pick<DeliveryRow, 'delivery' | 'id'>> = {
    async find(iterator) {
      const message = await searchMessage(database.slowReader, call, iterator)
      const sent = message ? await deliveriesOf(database, owner, message.event) : []
      const found = sent.find(({ subscriber_id }) => subscriber_id === endpoint.id)
      return found && { delivery: found.id, id: message!.id }
    },
    idOf: ({ id }) => id,
    async read(behind, count) {
      const { rows, last } = await read(behind?.delivery, count)
      const matches = (row: DeliveryRow): boolean =>
        isWithin(row.created_at!, asked) && (status === undefined || row.status === status)
      return { rows: rows.filter(matches), last }
    },
    fits: withContent ? fitting : undefined,
  }
  return pageOf(asked, walk, async (rows) => {
    const messages = await viewMessages(database, rows, withContent)
    return rows.map(({ status: own, due_at }, index) =>
      Object.assign(messages[index]!, ofDelivery[own], own === 'pending' && { nextAttempt: isoTime(due_at) }),
    )
  })
}

/** The endpoints to which a message was sent, with the outcome of the newest attempt. */
async function attemptedEndpoints({ owner, message, query, parts }: SvixCall): Promise<object> {
  const found = await parts.database.slowReader
    .selectFrom('deliveries as d')
    .innerJoin('subscribers as s', 's.id', 'd.subscriber_id')
    .innerJoin('attempts as a', (join) =>
      join.onRef('a.delivery', '=', 'd.id').onRef('a.number', '=', 'd.attempts'),
    )
    .selectAll('s')
    .select(['d.status as delivered', 'd.due_at', 'a.failure'])
    .where('d.event', '=', message.event)
    .where('d.owner', '=', owner)
    .orderBy('s.id')
    .execute()
  // Ids of endpoints have the order of those of subscribers.
  return pageOfSorted(
    found,
    readPage(query, 'ascending'),
    ({ id }) => endpointId(id),
    (row) =>
      Object.assign(viewEndpoint(row), row.failure === null ? success : fail, {
        nextAttempt: row.delivered === 'pending' ? isoTime(row.due_at) : null,
      }),
  )
}

/** @throws SvixError 404 */
async function find({ owner, message, params, parts }: SvixCall): Promise<Attempt> {
  const { delivery, number } = readAttemptId(params['attempt_id']!) ?? { delivery: 0, number: 0 }
  const row = await attempts(parts.database.slowReader)
    .where('a.delivery', '=', delivery)
    .where('a.number', '=', number)
    .where('d.event', '=', message.event)
    .where('d.owner', '=', owner)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** An attempt for the caller. As in the portal, owners see only the beginning of a response, and no errors of destinations that only admins can register. */
function view(row: Attempt, { isPortal, query, parts }: SvixCall): object {
  const sent = JSON.parse(row.request_headers) as Record<string, string>
  const url = sent[addressKey] ?? row.url
  const isHidden = isPortal && !isOpenToOwners(parts.destinations, { url })
  const bytes = responseBody(row, isPortal)
  // Text, or base64 if the bytes are not UTF-8.
  const body = bytes?.toString(isUtf8(row.response_body!) ? 'utf8' : 'base64') ?? row.error ?? ''
  return {
    id: attemptId(row.delivery, row.number),
    msgId: row.event_id,
    endpointId: endpointId(row.subscriber_id),
    url,
    response: query['with_content'] === false ? '{}' : isHidden ? '' : body,
    responseStatusCode: row.status ?? 0,
    responseDurationMs: row.duration_ms,
    ...(row.failure === null ? success : fail),
    // The first attempt after a replay.
    triggerType: row.attempts_before > 0 && row.number === row.attempts_before + 1 ? 1 : 0,
    timestamp: isoTime(row.at),
  }
}

function viewHeaders({ isPortal }: SvixCall, row: Attempt): object {
  const sent = Object.entries(JSON.parse(row.request_headers) as Record<string, string>).filter(
    ([name]) => !name.startsWith(':'),
  )
  const received = responseHeaders(row, isPortal)
  return {
    sentHeaders: Object.fromEntries(sent),
    responseHeaders: received && Object.entries(received),
    sensitive: sent.filter(([, value]) => value === redactedValue).map(([name]) => name),
  }
}
