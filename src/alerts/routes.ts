import { type Static, Type } from 'typebox'
import { auditOrigin } from '../accounts/audit/audit.ts'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import { type App, route } from '../http/app.ts'
import {
  closedObject,
  DateTime,
  DisplayName,
  IdParams,
  noContent,
  nullable,
} from '../http/schemas/schemas.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../paging/parameters.ts'
import { type Destination, type Destinations, noSuchDestination } from './destinations.ts'
import { attentionKinds } from '../http/attention.ts'
import { isoTime, isoTimeOrNull } from '../runtime/iso-time.ts'
import type { Row } from '../storage/tables.ts'

interface AlertRouteParts {
  destinations: Destinations
  /** Sends one message now, and records the result. */
  send: (sending: Row<'alert_sendings'>) => Promise<Row<'alert_sendings'> | undefined>
}

const tags = ['alerts']
const access = { scope: 'admin' } as const
const testsPerMinute = 10

/** Alerts: where they go, tests, and what was sent. For admins. */
export function alertRoutes(app: App, parts: AlertRouteParts): void {
  readRoutes(app, parts)
  createRoute(app, parts)
  changeRoutes(app, parts)
  testRoute(app, parts)
}

function readRoutes(app: App, { destinations }: AlertRouteParts): void {
  app.get(
    '/alerts',
    route(access, tags, 'Alert destinations, newest first', {
      querystring: Type.Object(pageParameters()),
      response: { 200: pageSchema(DestinationView) },
    }),
    async ({ query }) => viewPage(await destinations.page(readPageRequest(query)), viewDestination),
  )
  app.get(
    '/alerts/:id/sendings',
    route(access, tags, "A destination's messages of the last 30 days, newest first", {
      params: IdParams,
      querystring: Type.Object(pageParameters()),
      response: { 200: pageSchema(Sending) },
    }),
    async ({ params: { id }, query }) => {
      return viewPage(await destinations.sendings(readId(id), readPageRequest(query)), viewSending)
    },
  )
}

function createRoute(app: App, { destinations }: AlertRouteParts): void {
  app.post(
    '/alerts',
    route(access, tags, 'Add an alert destination: e-mail, Slack, Discord or Microsoft Teams', {
      body: NewDestination,
      response: { 201: DestinationView },
    }),
    async (request, reply) => {
      const { kind, ...settings } = request.body
      const made = await destinations.create(kind, settings, auditOrigin(request))
      return reply.code(201).send(viewDestination(made))
    },
  )
}

function changeRoutes(app: App, { destinations }: AlertRouteParts): void {
  app.patch(
    '/alerts/:id',
    route(access, tags, 'Change an alert destination', {
      params: IdParams,
      body: DestinationChange,
      response: { 200: DestinationView },
    }),
    async (request, reply) => {
      const id = readId(request.params.id)
      const changed = await destinations.change(id, request.body, auditOrigin(request))
      return reply.send(viewDestination(changed))
    },
  )
  app.delete(
    '/alerts/:id',
    route(access, tags, 'Delete an alert destination with its messages', {
      params: IdParams,
      response: noContent,
    }),
    async (request, reply) => {
      await destinations.remove(readId(request.params.id), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function testRoute(app: App, { destinations, send }: AlertRouteParts): void {
  app.post(
    '/alerts/:id/test',
    route(
      access,
      tags,
      "Send a test message now and return the destination's response",
      { params: IdParams, response: { 200: Sending } },
      { rateLimit: { max: testsPerMinute }, optionalBody: true },
    ),
    async (request, reply) => {
      const sending = await destinations.beginTest(readId(request.params.id), auditOrigin(request))
      const sent = await send(sending)
      if (!sent) throw new Problem('not-found', { detail: 'The destination was deleted meanwhile.' })
      return reply.send(viewSending(sent))
    },
  )
}

function readId(text: string): string {
  if (!isId(text)) throw noSuchDestination()
  return text
}

const Sending = closedObject({
  id: Type.String(),
  what: Type.Enum(['opened', 'repeated', 'resolved', 'test']),
  subject: Type.String(),
  status: Type.Enum(['pending', 'sent', 'failed']),
  attempts: Type.Integer(),
  error: nullable(Type.String(), 'Why the last attempt failed'),
  createdAt: DateTime,
  nextAttemptAt: nullable(DateTime),
  finishedAt: nullable(DateTime),
})

const kinds = ['email', 'slack', 'discord', 'teams'] as const
const settings = {
  name: DisplayName,
  conditions: nullable(
    Type.Array(Type.Enum(attentionKinds), { minItems: 1, maxItems: attentionKinds.length }),
    'The kinds of matters, as in `GET /attention`; null: all',
  ),
  severity: Type.Enum(['warning', 'error'], { description: '`error`: only what fails now, no warnings' }),
  repeatSeconds: nullable(
    Type.Integer({ minimum: 600, maximum: 2_592_000 }),
    'After this time a condition that lasts is sent again; null: never',
  ),
  enabled: Type.Boolean(),
}
const address = {
  url: Type.Optional(
    Type.String({
      maxLength: 2048,
      description: 'Slack, Discord, Teams: the address of the incoming webhook',
    }),
  ),
  to: Type.Optional(
    Type.Array(
      Type.String({
        maxLength: 254,
        pattern: '^[^\\s@<>,;:"]+@[^\\s@<>,;:"]+$',
        description: 'An e-mail address, such as ops@example.com',
      }),
      { minItems: 1, maxItems: 10, description: 'E-mail: the addresses' },
    ),
  ),
}

const { name, ...choices } = settings
const optional = Type.Partial(Type.Object(choices)).properties
const NewDestination = closedObject({ kind: Type.Enum(kinds), name, ...address, ...optional })
const DestinationChange = closedObject(
  { ...address, name: Type.Optional(name), ...optional },
  { minProperties: 1 },
)

const DestinationView = closedObject({
  id: Type.String(),
  kind: Type.Enum(kinds),
  ...settings,
  host: nullable(Type.String(), 'The host of the incoming webhook, whose address is not shown'),
  to: nullable(Type.Array(Type.String()), 'The addresses of e-mail'),
  createdAt: DateTime,
  updatedAt: DateTime,
  lastSending: nullable(Sending),
})

function viewSending(row: Row<'alert_sendings'>): Static<typeof Sending> {
  return {
    id: row.id,
    what: row.what,
    subject: row.subject,
    status: row.status,
    attempts: row.attempts,
    error: row.error,
    createdAt: isoTime(row.created_at),
    nextAttemptAt: row.status === 'pending' ? isoTime(row.due_at) : null,
    finishedAt: isoTimeOrNull(row.finished_at),
  }
}

function viewDestination({ row, target, lastSending }: Destination): Static<typeof DestinationView> {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    conditions:
      row.conditions === null ? null : (JSON.parse(row.conditions) as (typeof attentionKinds)[number][]),
    severity: row.severity,
    repeatSeconds: row.repeat_ms === null ? null : row.repeat_ms / 1000,
    enabled: row.enabled === 1,
    host: target.kind === 'email' ? null : new URL(target.url).host,
    to: target.kind === 'email' ? target.to : null,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    lastSending: lastSending ? viewSending(lastSending) : null,
  }
}
