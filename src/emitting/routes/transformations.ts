import { type Static, Type } from 'typebox'
import { newId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { closedObject, nullable, storablePattern } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import { redactedValue } from '../../telemetry/redaction.ts'
import { isFor, type Reach } from '../events/audience.ts'
import { readCustomHeaders, showCustomHeaders } from '../subscribers/custom-headers.ts'
import { methods } from '../subscribers/request-options.ts'
import { forms } from '../transformations/forms.ts'
import { keyOf, transform, type TransformedEvent } from '../transformations/transformation.ts'
import type { Area, EmittingRouteParts } from './area.ts'

const tags = ['subscribers']

const TestBody = closedObject({
  code: Type.String({ minLength: 1, maxLength: 16_384, pattern: storablePattern }),
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description: 'Of the endpoint' })),
  method: Type.Optional(Type.Enum(methods)),
  headers: Type.Optional(Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 4096 }))),
  eventId: Type.Optional(
    Type.String({ maxLength: 256, pattern: '^[!-~]+$', description: 'Of a stored event that was emitted' }),
  ),
  event: Type.Optional(
    closedObject(
      { type: Type.String({ minLength: 1, maxLength: 256 }), data: Type.Unknown() },
      { description: 'In place of a stored event' },
    ),
  ),
})

const RequestView = closedObject({
  method: Type.String(),
  url: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
  body: Type.String(),
})

const ResultView = closedObject({
  before: RequestView,
  after: nullable(RequestView, 'null if the event was canceled or the code failed'),
  canceled: Type.Boolean(),
  error: nullable(closedObject({ message: Type.String(), line: Type.Optional(Type.Integer()) })),
  durationMs: Type.Number({ description: 'Processor time of the code' }),
})

/** Nothing is sent or stored. */
export function transformationRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  const Form = closedObject({ name: Type.String(), title: Type.String(), code: Type.String() })
  app.get(
    `${area.prefix}/transformations/forms`,
    {
      config: { access: area.access.read },
      schema: {
        tags,
        summary: 'Ready-made transformations for chats',
        response: { 200: closedObject({ data: Type.Array(Form) }) },
      },
    },
    () => ({ data: [...forms] }),
  )
  app.post(
    `${area.prefix}/transformations/test`,
    {
      config: { access: area.access.write },
      schema: {
        tags,
        summary: 'Run a transformation without sending anything',
        body: TestBody,
        response: { 200: ResultView },
      },
    },
    async (request) => {
      const reach = area.reach(request)
      const event = await eventOf(request.body, reach, parts)
      return test(request.body, event, reach, parts)
    },
  )
}

async function test(
  {
    code,
    url = 'https://example.com/webhook',
    method = 'POST',
    headers: given = {},
  }: Static<typeof TestBody>,
  event: TransformedEvent,
  reach: Reach,
  { sandbox }: EmittingRouteParts,
): Promise<Static<typeof ResultView>> {
  if (!/^https?:/.test(URL.parse(url)?.href ?? ''))
    throw new Problem('invalid-body', { detail: 'The URL is not valid.', pointer: '/url' })
  // Stored credentials are not read: any text stands for them.
  const standIns = Object.entries(given).map(([name, value]) => [name, value === redactedValue ? 'x' : value])
  const headers = readCustomHeaders(Object.fromEntries(standIns) as Record<string, string>)
  const key = reach === 'all' ? 'tests' : keyOf(reach.owner, '')
  const result = await transform(sandbox, { code, key, url, method, headers, hasAuth: false }, event)
  const body = Buffer.from(event.payload).toString()
  const before = {
    method,
    url,
    headers: { 'content-type': 'application/json', ...showCustomHeaders(headers) },
    body,
  }
  const { durationMs } = result
  if ('error' in result) return { before, after: null, canceled: false, error: result.error, durationMs }
  if ('canceled' in result) return { before, after: null, canceled: true, error: null, durationMs }
  const after = {
    method: result.method,
    url: result.url,
    headers: { 'content-type': result.contentType, ...result.shown },
    body: result.body?.toString() ?? body,
  }
  return { before, after, canceled: false, error: null, durationMs }
}

async function eventOf(
  { eventId, event }: Static<typeof TestBody>,
  reach: Reach,
  { database, clock }: { database: Database; clock: EmittingRouteParts['clock'] },
): Promise<TransformedEvent> {
  if (eventId === undefined) {
    const now = clock.now()
    const { type, data } = event ?? { type: 'example', data: { message: 'An example.' } }
    const event_id = newId(now)
    const payload = JSON.stringify({ id: event_id, type, timestamp: isoTime(now), data })
    return { event_id, type, payload: Buffer.from(payload) }
  }
  const found = await database.readerAside
    .selectFrom('idempotency_keys')
    .innerJoin('events', 'events.id', 'idempotency_keys.event')
    .select(['events.event_id', 'events.type', 'events.payload', 'idempotency_keys.audience'])
    .where('idempotency_keys.event_id', '=', eventId)
    .executeTakeFirst()
  if (!found || (reach !== 'all' && !isFor(found.audience, reach.owner, false)))
    throw new Problem('not-found', { detail: 'There is no emitted event with this ID.' })
  return found
}
