import { Problem } from '../../errors.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { matchesType, type NewEvent } from '../events/event.ts'
import type { EventOwner } from '../subscribers/owner-directory.ts'
import { emitTraced } from '../routes/events.ts'
import { notFound, readTimes, type SvixCall, type SvixOperations, invalidField, SvixError } from './call.ts'
import { messageIdOf, newMessageId } from './ids.ts'
import { pageOf, readPage } from './pages.ts'
import {
  contentsOf,
  expired,
  fitting,
  messageWalk,
  readContent,
  searchMessage,
  viewMessages,
} from './rows.ts'

/** The body of a request that creates a message. */
interface MessageIn {
  eventType: string
  payload: Record<string, unknown>
  eventId?: string | null
  channels?: string[] | null
  tags?: string[] | null
  deliverAt?: string | null
  payloadRetentionPeriod?: number | null
  payloadRetentionHours?: number | null
  transformationsParams?: { rawPayload?: string; headers?: object } | null
}

/** Messages of one bulk request. */
const mostExpunged = 250

export const messageOperations: SvixOperations = {
  'v1.message.create': create,
  'v1.message.list': (call) => list(call, call.query),
  'v1.message.search': (call) =>
    list(call, {
      with_content: false,
      ...call.body,
      before: undefined,
      after: undefined,
      ...readTimes(call.body, 'before', 'after'),
    }),
  'v1.message.get': async ({ message, query, parts }) =>
    (await viewMessages(parts.database, [message], query['with_content'] !== false))[0],
  'v1.message.get-raw-payload': async ({ message, parts }) => ({
    payload: (await contentsOf(parts.database, [message])).get(message.event) ?? expired,
  }),
  'v1.message.expunge-content': ({ message, origin, parts }) =>
    parts.payloadRemoval.remove(message.event, origin),
  async 'v1.message.bulk-expunge-content'(call) {
    const { origin, parts } = call
    const { ids = [] } = call.body
    if (ids.length > mostExpunged)
      throw invalidField(['ids'], `There can be at most ${mostExpunged} ids per request.`)
    const results: Record<string, string> = {}
    for (const id of ids as string[]) {
      const row = await searchMessage(parts.database.slowReader, call, id)
      if (row) await parts.payloadRemoval.remove(row.event, origin)
      results[id] = row ? 'expunged' : 'not-found'
    }
    return { results }
  },
  'v1.message.precheck': async (call) => ({ active: await isAwaited(call) }),
}

async function list(call: SvixCall, query: SvixCall['query']) {
  const { database } = call.parts
  const asked = readPage(query)
  const withContent = query['with_content'] !== false
  const walk = await messageWalk(database, call, asked, query)
  return pageOf(asked, { ...walk, fits: withContent ? fitting : undefined }, (rows) =>
    viewMessages(database, rows, withContent),
  )
}

/** Whether an endpoint of the application subscribes to such messages. */
async function isAwaited({ owner, body, parts }: SvixCall): Promise<boolean> {
  const { eventType, channels } = body as Pick<MessageIn, 'eventType' | 'channels'>
  const endpoints = await parts.database.slowReader
    .selectFrom('subscribers')
    .select(['event_types', 'channels'])
    .where('owner', '=', owner)
    .where('status', '<>', 'disabled')
    .limit(mostEndpoints)
    .execute()
  return endpoints.some(
    (one) =>
      matchesType(JSON.parse(one.event_types) as string[], eventType) &&
      (one.channels === null ||
        (JSON.parse(one.channels) as string[]).some((channel) => channels?.includes(channel))),
  )
}

/** The most endpoints of an application that are checked. */
const mostEndpoints = 1_000

async function create(call: SvixCall, application: EventOwner = call): Promise<object | undefined> {
  const { database, clock, directory, emitter } = call.parts
  const body = call.body as MessageIn
  const withContent = call.query['with_content'] !== false
  const header = call.request.headers['idempotency-key'] as string | undefined
  const id = body.eventId
    ? messageIdOf('eventId', application, body.eventId)
    : header
      ? messageIdOf('idempotency-key', application, header)
      : newMessageId(clock.now())
  const event = {
    ...readEvent(body),
    id,
    audience: call.owner,
    requestKey: body.eventId ? header : undefined,
  }
  const emitted = await emitTraced(call.request.headers, { 'postern.type': event.type }, (headers) =>
    emitter.commit({ ...event, headers }),
  ).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'id-conflict') return undefined
    throw error
  })
  if (emitted?.isNew !== true) {
    // The application was found up to a second ago. Another one with its uid may use the same keys.
    const present = await directory.get(call.owner)
    if (!present) throw notFound()
    if (present.eventsAfter !== application.eventsAfter) return create(call, present)
    // For a repeated key, Svix returns the first response, even if the body differs. A repeated eventId with another key is a conflict.
    if (body.eventId && !(emitted && header))
      throw new SvixError(409, 'conflict', `A message with the eventId ${body.eventId} already exists.`)
    const before = await searchMessage(database.reader, application, id)
    if (before) return (await viewMessages(database, [before], withContent))[0]
  }
  const { eventId = null, eventType, channels = null, tags } = body
  const content = event.dataJson === undefined ? body.payload : readContent(event.dataJson)
  return {
    eventId,
    eventType,
    payload: withContent ? content : {},
    channels,
    id,
    timestamp: isoTime(emitted?.at ?? clock.now()),
    ...(tags && { tags }),
    ...(emitted?.deliverAt !== undefined && { deliverAt: isoTime(emitted.deliverAt) }),
  }
}

function readEvent({ eventType, payload, ...body }: MessageIn): NewEvent {
  const { eventId, channels, tags, deliverAt, transformationsParams } = body
  const { payloadRetentionPeriod: days, payloadRetentionHours: hours } = body
  const raw = transformationsParams?.rawPayload
  if (transformationsParams?.headers)
    throw invalidField(
      ['transformations_params', 'headers'],
      'A message cannot have headers. Set headers on the endpoint.',
    )
  return {
    type: eventType,
    data: payload,
    dataJson: raw,
    uid: eventId ?? undefined,
    channels: channels ?? undefined,
    tags: tags?.length ? tags : undefined,
    deliverAt: deliverAt ?? undefined,
    payloadRetention: hours ? hours * 3_600 : days ? days * 86_400 : undefined,
  }
}
