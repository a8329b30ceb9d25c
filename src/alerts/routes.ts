import { Type } from 'typebox'
import { auditOrigin } from '../accounts/audit/audit.ts'
import { isId } from '../crypto/ids.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { IdParams, noContent } from '../http/schemas/schemas.ts'
import { pageSchema, viewPage } from '../paging/page.ts'
import { pageParameters, readPageRequest } from '../paging/parameters.ts'
import type { Destinations } from './destinations.ts'
import type { SendingRow } from './sendings.ts'
import {
  DestinationChange,
  DestinationView,
  NewDestination,
  Sending,
  viewDestination,
  viewSending,
} from './views.ts'

export interface AlertRouteParts {
  destinations: Destinations
  /** Sends one message now, and records the result. */
  send: (sending: SendingRow) => Promise<unknown>
}

const tags = ['alerts']
const config = { access: { scope: 'admin' } } as const
/** A message after which a condition that lasts is repeated, in seconds: once a day. */
const usualRepeat = 86_400
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
    {
      config,
      schema: {
        tags,
        summary: 'The destinations of alerts, newest first',
        querystring: Type.Object(pageParameters()),
        response: { 200: pageSchema(DestinationView) },
      },
    },
    async ({ query }) => viewPage(await destinations.page(readPageRequest(query)), viewDestination),
  )
  app.get(
    '/alerts/:id/sendings',
    {
      config,
      schema: {
        tags,
        summary: 'The messages of a destination of the last 30 days, newest first',
        params: IdParams,
        querystring: Type.Object(pageParameters()),
        response: { 200: pageSchema(Sending) },
      },
    },
    async ({ params: { id }, query }) => {
      return viewPage(await destinations.sendings(readId(id), readPageRequest(query)), viewSending)
    },
  )
}

function createRoute(app: App, { destinations }: AlertRouteParts): void {
  app.post(
    '/alerts',
    {
      config,
      schema: {
        tags,
        summary: 'Add a destination of alerts: e-mail, Slack, Discord or Microsoft Teams',
        body: NewDestination,
        response: { 201: DestinationView },
      },
    },
    async (request, reply) => {
      const { kind, name, url, to, conditions, severity, repeatSeconds, enabled } = request.body
      const repeat = repeatSeconds === undefined ? usualRepeat : repeatSeconds
      const choice = {
        name: name.trim(),
        conditions: conditions ?? null,
        severity: severity ?? 'warning',
        repeat: repeat === null ? null : repeat * 1000,
        enabled: enabled ?? true,
      } as const
      const made = await destinations.create(kind, choice, { url, to }, auditOrigin(request))
      return reply.code(201).send(viewDestination(made))
    },
  )
}

function changeRoutes(app: App, { destinations }: AlertRouteParts): void {
  app.patch(
    '/alerts/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Change a destination of alerts',
        params: IdParams,
        body: DestinationChange,
        response: { 200: DestinationView },
      },
    },
    async (request, reply) => {
      const { repeatSeconds, ...change } = request.body
      const repeat = typeof repeatSeconds === 'number' ? repeatSeconds * 1000 : repeatSeconds
      const id = readId(request.params.id)
      const changed = await destinations.change(id, { ...change, repeat }, auditOrigin(request))
      return reply.send(viewDestination(changed))
    },
  )
  app.delete(
    '/alerts/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Delete a destination of alerts with its messages',
        params: IdParams,
        response: noContent,
      },
    },
    async (request, reply) => {
      await destinations.remove(readId(request.params.id), auditOrigin(request))
      return reply.code(204).send(null)
    },
  )
}

function testRoute(app: App, { destinations, send }: AlertRouteParts): void {
  app.post(
    '/alerts/:id/test',
    {
      config: { ...config, rateLimit: { max: testsPerMinute }, optionalBody: true },
      schema: {
        tags,
        summary: 'Send a test message now; the answer says whether it was accepted',
        params: IdParams,
        response: { 200: Sending },
      },
    },
    async (request, reply) => {
      const sending = await destinations.beginTest(readId(request.params.id), auditOrigin(request))
      await send(sending)
      const sent = await destinations.sending(sending.id)
      if (!sent) throw new Problem('not-found', { detail: 'The destination was deleted meanwhile.' })
      return reply.send(viewSending(sent))
    },
  )
}

function readId(text: string): string {
  if (!isId(text)) throw new Problem('not-found', { detail: 'There is no such destination of alerts.' })
  return text
}
