import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import type { App } from '../../http/app.ts'
import { pageSchema, viewPage } from '../../paging/page.ts'
import { pageParameters, readPageRequest } from '../../paging/parameters.ts'
import type { ClientList } from './client-list.ts'
import type { ClientCaller, ClientManagement } from './client-management.ts'
import type { GivenSettings } from './given-settings.ts'
import {
  ClientChangeBody,
  ClientView,
  NewClientBody,
  NewSecret,
  Secrets,
  viewClient,
  viewSecret,
} from './client-views.ts'
import { closedObject, IdParams, noContent, optionalText } from '../../http/schemas/schemas.ts'

const tags = ['apps']
const secretParams = Type.Object({ id: Type.String(), secretId: Type.String() })
const read = { access: { scope: 'clients:read' } } as const
const write = { access: { scope: 'clients:write' } } as const
/** Seconds for which the secret before a new one is valid. */
const defaultOverlap = 86_400
const longestOverlap = 30 * 86_400

const WithSecrets = Type.Object({ ...ClientView.properties, secrets: Secrets })
const Created = Type.Object({
  ...ClientView.properties,
  secret: optionalText('The client_secret. Only this response contains it.'),
})

/** /clients: the applications of the product, for admins. */
export function clientRoutes(routes: App, clients: ClientManagement, list: ClientList): void {
  readRoutes(routes, clients, list)
  changeRoutes(routes, clients)
  secretRoutes(routes, clients)
}

function readRoutes(routes: App, clients: ClientManagement, list: ClientList): void {
  routes.get(
    '/clients',
    {
      config: read,
      schema: {
        tags,
        summary: 'Apps, declared ones included; of the others the newest first',
        querystring: Type.Object(pageParameters()),
        response: { 200: pageSchema(ClientView) },
      },
    },
    async ({ query }) => viewPage(await list.page(readPageRequest(query)), viewClient),
  )
  routes.get(
    '/clients/:id',
    { config: read, schema: { tags, summary: 'One app', params: IdParams, response: { 200: WithSecrets } } },
    async ({ params: { id } }) => {
      const { client, secrets } = await clients.get(id)
      return { ...viewClient(client), secrets: secrets.map(viewSecret) }
    },
  )
}

function changeRoutes(routes: App, clients: ClientManagement): void {
  routes.post(
    '/clients',
    {
      config: write,
      schema: {
        tags,
        summary: 'Create an app; only this response contains its secret',
        body: NewClientBody,
        response: { 201: Created },
      },
    },
    async (request, reply) => {
      const { name, confidential = true, ...settings } = request.body
      const given = { name, confidential, settings: settings as GivenSettings, origin: 'api' } as const
      const { client, secret } = await clients.create(given, callerOf(request))
      return reply.code(201).send({ ...viewClient(client), ...(secret !== undefined && { secret }) })
    },
  )
  routes.patch(
    '/clients/:id',
    {
      config: write,
      schema: {
        tags,
        summary: 'Change an app; null selects the default',
        params: IdParams,
        body: ClientChangeBody,
        response: { 200: ClientView },
      },
    },
    async (request, reply) => {
      const given = request.body as GivenSettings & { name?: string }
      const client = await clients.change(request.params.id, given, callerOf(request))
      return reply.send(viewClient(client))
    },
  )
  routes.delete(
    '/clients/:id',
    {
      config: write,
      schema: {
        tags,
        summary: 'Delete an app; its tokens are rejected from then on',
        params: IdParams,
        response: noContent,
      },
    },
    async (request, reply) => {
      await clients.remove(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    },
  )
}

function secretRoutes(routes: App, clients: ClientManagement): void {
  const Body = closedObject({
    overlapSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: longestOverlap,
        description: 'Seconds for which the secret before is valid as well; default 24 hours',
      }),
    ),
  })
  routes.post(
    '/clients/:id/secrets',
    {
      config: { ...write, optionalBody: true },
      schema: {
        tags,
        summary: 'Create a new secret, shown only once; an app has two at most',
        params: IdParams,
        body: Body,
        response: { 201: NewSecret },
      },
    },
    async (request, reply) => {
      const overlap = Math.round((request.body.overlapSeconds ?? defaultOverlap) * 1000)
      const { listed, secret } = await clients.addSecret(request.params.id, overlap, callerOf(request))
      return reply.code(201).send({ ...viewSecret(listed), secret })
    },
  )
  routes.delete(
    '/clients/:id/secrets/:secretId',
    {
      config: write,
      schema: {
        tags,
        summary: 'Remove a secret; it is rejected from then on',
        params: secretParams,
        response: noContent,
      },
    },
    async (request, reply) => {
      const { id, secretId } = request.params
      if (!isId(secretId)) throw new Problem('not-found', { detail: 'There is no such secret.' })
      await clients.removeSecret(id, secretId, callerOf(request))
      return reply.code(204).send(null)
    },
  )
}

function callerOf(request: FastifyRequest): ClientCaller {
  return { origin: auditOrigin(request), requireAdmin: () => requireScope(request, 'admin') }
}
