import type { FastifyReply, FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { Access } from '../../http/access/principal.ts'
import type { App } from '../../http/app.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import {
  applicationOperations,
  createNamed,
  type OwnerLookup,
  ownerLookup,
  authenticationOperations,
} from './applications.ts'
import {
  notFound,
  SvixCall,
  type SvixOperations,
  toSvixError,
  notImplemented,
  type SvixError,
} from './call.ts'
import { endpointOf, endpointOperations } from './endpoints.ts'
import { environmentOperations, eventTypeOperations } from './event-types.ts'
import { type Answer, answerOnce, idempotencyHash } from './idempotency.ts'
import { type DeclaredOperation, documentText, readOperations } from './schema.ts'
import { attemptOperations } from './attempts.ts'
import { messageOperations } from './messages.ts'
import { findMessage } from './rows.ts'
import { taskOperations, recoveryOperations } from './tasks.ts'
import type { EventOwner } from '../subscribers/owner-directory.ts'

const access: Access = { scope: 'svix', orOwner: true }

/** Operations that an owner may call for its own application, with a token from app-portal-access. */
const forOwners =
  /^v1\.(application\.(get|stats)|endpoint\.|event-type\.(list|get)$|message\.(list|get|events)|message-attempt\.|authentication\.(logout|whoami)|stats\.app)/
/** Exceptions to `forOwners`. */
const notForOwners = /send-example|expunge|cancel-msgs/
/** Operations that handle an unknown application themselves. */
const createsApplication =
  /^v1\.(application\.upsert|message\.create|authentication\.(app-portal|dashboard)-access)$/

const ok = { status: 'ok' }

const handlers: SvixOperations = {
  ...applicationOperations,
  ...authenticationOperations,
  ...taskOperations,
  ...messageOperations,
  ...endpointOperations,
  ...recoveryOperations,
  ...attemptOperations,
  ...eventTypeOperations,
  ...environmentOperations,
  'v1.health.ping': async () => undefined,
  async 'v1.health.get'({ parts }) {
    await parts.database.reader.selectFrom('owners').select('owner').limit(1).execute()
    return { database: ok, queue: ok, cache: ok }
  },
}

/** Svix's API: applications are owners, endpoints are subscribers, messages are events. */
export function svixRoutes(app: App, parts: EmittingRouteParts): void {
  const findOwner = ownerLookup(parts)
  // Go's library sends an empty body as chunked, without a content type.
  app.bodies.parse(app, ['*'], (_request, bytes, done) =>
    bytes.length === 0 ? done(null) : done(new Problem('unsupported-media-type')),
  )
  app.setErrorHandler((error, request, reply) => {
    const { answer, problem } = toSvixError(error)
    if (problem) app.problemLog.report(request.log, problem, error)
    const retryAfter = problem?.extras.retryAfter
    if (retryAfter !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfter)))
    if (answer.status === 401) reply.header('www-authenticate', 'Bearer')
    return send(reply.header('cache-control', 'no-store'), write(answer))
  })
  for (const operation of readOperations()) {
    const isOpen = operation.id.startsWith('v1.health.')
    const options = { config: { access: isOpen ? ('public' as const) : access }, schema: { hide: true } }
    const { method, url } = operation
    app.route({ ...options, method, url, handler: handle(operation, parts, findOwner) })
  }
  app.raw.ignoreLastSlash('/api/v1/')
  app.get('/api/v1/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, (_, reply) =>
    reply.type('application/json; charset=utf-8').send(documentText as never),
  )
  for (const url of ['/api/v1/*', '/ingest/api/v1/*'])
    app.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url,
      config: { access },
      schema: { hide: true },
      handler: async (request) => {
        throw reasonOf(request.url)
      },
    })
}

function send(reply: FastifyReply, { status, text }: Answer): FastifyReply {
  if (text === undefined) return reply.code(204).send()
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer((written: string) => written)
    .send(text)
}

/** @param body `undefined` for 204 */
function write({ status, body }: { status: number; body: unknown }): Answer {
  return { status, text: JSON.stringify(body) }
}

function handle(operation: DeclaredOperation, parts: EmittingRouteParts, findOwner: OwnerLookup) {
  const { id, status, readBody, readQuery } = operation
  const handler = handlers[id]
  if (!handler) throw new Error(`${id} of Svix's API has no handler`)
  const isForOwners = forOwners.test(id) && !notForOwners.test(id)
  const isMessage = id === 'v1.message.create'
  const hasEndpoint = operation.url.includes(':endpoint_id') && id !== 'v1.endpoint.upsert'
  const hasMessage = operation.url.includes(':msg_id')
  const changesApplications = id.startsWith('v1.application.') && operation.method !== 'GET'
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const isPortal = request.principal?.kind === 'portal'
    if (isPortal && !isForOwners)
      throw new Problem('forbidden', { detail: 'Insufficient access for the given operation.' })
    const params = request.params as Record<string, string>
    const query = readQuery(request.query as Record<string, string>, request.url)
    const found = ownerOf(request, id, findOwner)
    let application = found instanceof Promise ? await found : found
    const body = readBody(request.body)
    if (isMessage && application.owner === '')
      application = await createNamed(params['app_id']!, body.application, parts, auditOrigin(request))
    const { owner, eventsAfter, createdAt } = application
    const of = { owner, eventsAfter, createdAt }
    const call = new SvixCall({ ...of, params, query, body, request, parts, isPortal, status })
    const work = async (): Promise<Answer> => {
      if (hasMessage) call.message = await findMessage(parts.database.slowReader, call, params['msg_id']!)
      if (hasEndpoint) call.endpoint = await endpointOf(call, params['endpoint_id']!)
      const answer = await handler(call)
      return write({ status: call.status, body: answer })
    }
    // A message's id is derived from its key, so messages need no stored response.
    const key = isMessage ? undefined : idempotencyHash(call)
    const answer = await (key === undefined ? work() : answerOnce(parts, key, work))
    if (changesApplications) findOwner.forget()
    return send(reply, answer)
  }
}

const noApplication: EventOwner = { owner: '', eventsAfter: 0, createdAt: 0 }

/** @throws SvixError 404, also for an application of another owner */
function ownerOf(
  { params, principal }: FastifyRequest,
  id: string,
  find: OwnerLookup,
): EventOwner | Promise<EventOwner> {
  const named = (params as { app_id?: string }).app_id
  if (named === undefined) return noApplication
  const check = (found: EventOwner = noApplication): EventOwner => {
    if (principal?.kind === 'portal' && principal.owner !== found.owner) throw notFound()
    if (found === noApplication && !createsApplication.test(id)) throw notFound()
    return found
  }
  const found = id === 'v1.message.create' ? find.recent(named) : find(named)
  return found instanceof Promise ? found.then(check) : check(found)
}

/** Parts of Svix's API without a counterpart: a pattern of the path below `/api/v1`, and the reason. The first match applies. */
const reasons: readonly [path: RegExp, reason: string][] = [
  [
    /^\/ingest\//,
    'Postern receives webhooks with its own API and configuration. See POST /webhooks/{source}.',
  ],
  [/^stream\/|^stream$|\/stream\//, 'Postern has no streams. Emit messages to an application instead.'],
  [/^auth\/stream/, 'Postern has no streams and no tokens for them.'],
  [
    /\/connector|^connector/,
    "Postern has no connectors. Set a transformation in the endpoint's settings instead.",
  ],
  [
    /\/integration/,
    'Postern has no integrations. Create an API key or a token from app-portal-access instead.',
  ],
  [/\/poller|\/polling-endpoint/, 'Postern has no polling endpoints. GET /events returns the event log.'],
  [/\/destination/, 'Applications have no destinations other than endpoints.'],
  [/^operational-webhook/, 'Create a subscriber with `operational: true` through POST /subscribers instead.'],
  [/^management/, 'A service has one environment. POST /keys creates API keys.'],
  [/^auth\/(org-group|dashboard|one-time)|\/mcp-token/, 'POST /keys creates API keys.'],
  [/\/create-message-token/, 'Create an API key with the scope `svix` through POST /keys instead.'],
  [/\/auto-config/, 'Configure endpoints through the API or in the portal.'],
  [/\/alert-email/, 'Create a destination for alerts through POST /alerts.'],
  [
    /\/(ca|mtls|mtls-config|oauth|oauth-config)$/,
    'PATCH /subscribers/{id} sets the certificates (`tls`) and credentials (`auth`) of an endpoint.',
  ],
  [/\/rate-limit-status$/, 'GET /subscribers/{id} returns the rate limit of an endpoint.'],
  [/\/cancel-msgs$/, 'Pending messages cannot be canceled. Disable the endpoint to stop sending.'],
  [/\/simulate$/, 'POST /transformations/test runs a transformation without sending anything.'],
  [/^msg\/broadcast/, "POST /events with the audience `*` emits an event to all customers' endpoints."],
  [/\/expunge-all-contents$/, 'Remove the content of each message, or of several with `bulk-expunge`.'],
  [/\/test-attempt$/, 'POST /subscribers/{id}/test sends a test event to one endpoint.'],
  [/(^|\/)events$/, 'GET /events returns the event log.'],
  [/(^|\/)stats\//, 'GET /subscribers/{id}/health returns the statistics of an endpoint.'],
  [/\/inbound\//, 'Applications have no inbound URLs.'],
]

/** The error for a path without an operation. @param url of the request */
function reasonOf(url: string): SvixError {
  const [path = ''] = url.split('?')
  const below = path.replace(/^\/api\/v1\//, '').replace(/\/$/, '')
  const reason = reasons.find(([form]) => form.test(below))?.[1]
  return reason === undefined ? notFound() : notImplemented(reason)
}
