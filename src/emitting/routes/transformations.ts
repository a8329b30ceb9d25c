import { type Static, Type } from 'typebox'
import { newId } from '../../crypto/ids.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { type App, route } from '../../http/app.ts'
import { closedObject, nullable, storablePattern } from '../../http/schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { redactedValue } from '../../telemetry/printable.ts'
import { isFor, type Reach } from '../events/event.ts'
import { lastOfRemoved } from '../subscribers/owner-directory.ts'
import { readCustomHeaders, showCustomHeaders, methods } from '../subscribers/request-options.ts'
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

/** A ready-made transformation. */
const Form = closedObject({ name: Type.String(), title: Type.String(), code: Type.String() })

/** Nothing is sent or stored. */
export function transformationRoutes(app: App, parts: EmittingRouteParts, area: Area): void {
  app.get(
    `${area.prefix}/transformations/forms`,
    route(area.access.read, tags, 'Ready-made transformations for chats', {
      response: { 200: closedObject({ data: Type.Array(Form) }) },
    }),
    () => ({ data: [...forms] }),
  )
  app.post(
    `${area.prefix}/transformations/test`,
    route(area.access.write, tags, 'Run a transformation without sending anything', {
      body: TestBody,
      response: { 200: ResultView },
    }),
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
  if (!/^https?:/.test(URL.parse(url)?.href ?? '')) throw invalidBody('/url', 'The URL is not valid.')
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
  { database, clock }: EmittingRouteParts,
): Promise<TransformedEvent> {
  if (eventId === undefined) {
    const now = clock.now()
    const { type, data } = event ?? { type: 'example', data: { message: 'An example.' } }
    const event_id = newId(now)
    const payload = JSON.stringify({ id: event_id, type, timestamp: isoTime(now), data })
    return { event_id, type, payload: Buffer.from(payload) }
  }
  const owner = reach === 'all' ? null : reach.owner
  const found = await database.slowReader
    .selectFrom('idempotency_keys')
    .innerJoin('events', 'events.id', 'idempotency_keys.event')
    .select(['events.id', 'events.event_id', 'events.type', 'events.payload', 'idempotency_keys.audience'])
    .select(lastOfRemoved(owner).as('lastOfRemoved'))
    .where('idempotency_keys.event_id', '=', eventId)
    .executeTakeFirst()
  const isVisible =
    owner === null || (found && found.id > found.lastOfRemoved && isFor(found.audience, owner, false))
  if (!found || !isVisible)
    throw new Problem('not-found', { detail: 'There is no emitted event with this ID.' })
  return found
}

/** The fields of an event's data as lines of text. Event data is not trusted: each form makes it inert. */
const fields = String.raw`
// One line for each field of the data, up to 20.
function lines(data) {
  const fields = typeof data === 'object' && data !== null ? Object.entries(data) : [['data', data]]
  return fields.slice(0, 20).map(([name, value]) =>
    inert(name + ': ' + (typeof value === 'string' ? value : JSON.stringify(value))).slice(0, 300))
}`

const forms: readonly Static<typeof Form>[] = [
  {
    name: 'slack',
    title: 'Slack',
    code: String.raw`// For the URL of a Slack incoming webhook.
function handler(webhook) {
  const { type, data } = webhook.payload
  const text = ['*' + inert(type) + '*', ...lines(data)].join('\n')
  webhook.payload = { text, unfurl_links: false, unfurl_media: false }
  return webhook
}

// Prevents mentions, links and markup. A zero-width space keeps Slack from making links.
function inert(text) {
  return String(text)
    .replace(/\s+/g, ' ')
    .replace(/:(?=\/\/)|[.@](?=\p{L})/gu, '$&\u200b')
    .replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    .replace(/\*/g, '∗').replace(/~/g, '∼').replace(/${'`'}/g, 'ˋ').replace(/_/g, 'ˍ')
}
${fields}
`,
  },
  {
    name: 'discord',
    title: 'Discord',
    code: String.raw`// For the URL of a Discord webhook.
function handler(webhook) {
  const { type, data } = webhook.payload
  const content = ['**' + inert(type) + '**', ...lines(data)].join('\n').slice(0, 1900)
  // An empty list mentions nobody, whatever the text says.
  webhook.payload = { content, allowed_mentions: { parse: [] } }
  return webhook
}

// A backslash before a character prevents markup, mentions and links.
function inert(text) {
  return String(text).replace(/\s+/g, ' ').replace(/[\\*_~${'`'}|<>[\]()#:/@-]/g, '\\$&')
}
${fields}
`,
  },
  {
    name: 'teams',
    title: 'Microsoft Teams',
    code: String.raw`// For the URL of a workflow with the trigger "When a Teams webhook request is received".
function handler(webhook) {
  const { type, data } = webhook.payload
  // The runs of a RichTextBlock are shown as they are, without Markdown.
  const block = (text, more) => ({
    type: 'RichTextBlock',
    inlines: [Object.assign({ type: 'TextRun', text }, more)],
  })
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [block(inert(type), { weight: 'bolder' }), ...lines(data).map((line) => block(line))],
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  webhook.payload = { type: 'message', attachments: [{ contentType, contentUrl: null, content }] }
  return webhook
}

// A zero-width space keeps Teams from making links.
function inert(text) {
  return String(text).replace(/\s+/g, ' ').replace(/:(?=\/\/)|[.@](?=\p{L})/gu, '$&\u200b')
}
${fields}
`,
  },
  {
    name: 'text',
    title: 'Plain text',
    code: String.raw`// Sends plain text in place of JSON.
function handler(webhook) {
  const { type, data } = webhook.payload
  webhook.headers['content-type'] = 'text/plain; charset=utf-8'
  webhook.payload = [type, ...lines(data)].join('\n')
  return webhook
}

function inert(text) {
  return String(text).replace(/\s+/g, ' ')
}
${fields}
`,
  },
]
