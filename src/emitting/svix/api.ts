import type { FastifyReply, FastifyRequest } from 'fastify'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import type { Access } from '../../http/access/principal.ts'
import type { App } from '../../http/app.ts'
import type { EmittingRouteParts } from '../routes/area.ts'
import { applicationOperations, ownerOf } from './applications.ts'
import { notFound, notImplemented, SvixAnswer, type SvixCall, type SvixOperations } from './call.ts'
import { SvixError, toSvixError } from './errors.ts'
import { type DeclaredOperation, documentText, readOperations } from './schema.ts'
import { messageOperations } from './messages.ts'
import { reasonOf } from './unsupported.ts'

const access: Access = { scope: 'svix', orOwner: true }

/** Operations that owners may call with a token of app-portal-access, each for its own application. */
const forOwners =
  /^v1\.(application\.(get|stats)|endpoint\.|event-type\.(list|get)$|message\.(list|get|events)|message-attempt\.|authentication\.(logout|whoami)|stats\.app)/
/** Of these, the ones that are not for owners. */
const notForOwners = /send-example|expunge|cancel-msgs/
/** Operations that handle an unknown application themselves. */
const createsApplication = /^v1\.(application\.upsert|message\.create|authentication\.\w+-\w*-?access)$/

/** Svix's API: applications are owners, endpoints are subscribers, messages are events. */
export function svixRoutes(app: App, parts: EmittingRouteParts): void {
  const handlers: SvixOperations = { ...applicationOperations(parts), ...messageOperations(parts) }
  app.setErrorHandler((error, request, reply) => {
    const { answer, problem } = toSvixError(error)
    if (problem) app.problemLog.report(request.log, problem, error)
    const retryAfter = problem?.extras.retryAfter
    if (retryAfter !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfter)))
    if (answer.status === 401) reply.header('www-authenticate', 'Bearer')
    return send(reply.header('cache-control', 'no-store'), answer.status, answer.body)
  })
  for (const operation of readOperations()) {
    const isOpen = operation.id.startsWith('v1.health.')
    const options = { config: { access: isOpen ? ('public' as const) : access }, schema: { hide: true } }
    const handler = handle(operation, handlers, parts)
    for (const url of [operation.url, `${operation.url}/`])
      app.route({ ...options, method: operation.method, url, handler })
  }
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

function send(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  if (body === undefined) return reply.code(204).send()
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer((text: string) => text)
    .send(JSON.stringify(body))
}

function handle(operation: DeclaredOperation, handlers: SvixOperations, parts: EmittingRouteParts) {
  const { id, status, readBody, readQuery } = operation
  const handler = handlers[id]
  const isForOwners = forOwners.test(id) && !notForOwners.test(id)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const isPortal = request.principal?.kind === 'portal'
    if (isPortal && !isForOwners)
      throw new SvixError(403, 'insufficient access', 'Insufficient access for the given operation.')
    const params = request.params as Record<string, string>
    const query = readQuery(request.query as Record<string, string>, request.url)
    const owner = await findOwner(request, id, parts)
    const body = readBody(request.body)
    const call: SvixCall = { owner, params, query, body, request, origin: auditOrigin(request), isPortal }
    if (!handler) throw notImplemented(`${id} has no counterpart in Postern.`)
    const answer = await handler(call)
    return answer instanceof SvixAnswer
      ? send(reply, answer.status, answer.body)
      : send(reply, status, answer)
  }
}

/** @throws SvixError 404, also for an application that is not the caller's */
async function findOwner(
  { params, principal }: FastifyRequest,
  id: string,
  parts: EmittingRouteParts,
): Promise<string> {
  const named = (params as { app_id?: string }).app_id
  if (named === undefined) return ''
  const owner = await ownerOf(named, parts, id === 'v1.message.create')
  if (principal?.kind === 'portal' && principal.owner !== owner) throw notFound()
  if (owner === undefined && !createsApplication.test(id)) throw notFound()
  return owner ?? ''
}
