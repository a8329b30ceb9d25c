import type { OAuth2Services } from '../services.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { isId } from '../../crypto/ids.ts'
import { Problem } from '../../errors.ts'
import { requireScope } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import {
  pageSchema,
  viewPage,
  type PageOfRows,
  type PageRequest,
  pageParameters,
  readPageRequest,
} from '../../paging/parameters.ts'
import type { ClientCaller, GivenSettings, ListedSecret } from './client-management.ts'
import {
  closedObject,
  DateTime,
  IdParams,
  noContent,
  nullable,
  NullableText,
  optionalText,
  storablePattern,
} from '../../http/schemas/schemas.ts'
import {
  type Client,
  defaultApisOf,
  idTokenClaims,
  reauthenticationProofs,
  signingAlgorithms,
} from './client.ts'
import { longestName, longestUri, mostListed } from './client-faults.ts'
import { type StoredClient, type Clients, storedClient } from './clients.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import { idScope } from '../../paging/cursor.ts'
import type { Database } from '../../storage/database.ts'
import { contains, type Finder } from '../../http/finder.ts'

const scope = idScope('clients', {})

/** Declared and stored clients, by id, the highest first: new clients come before older ones. */
function clientsPage(
  { database, cursors, clients }: OAuth2Services,
  request: PageRequest,
): Promise<PageOfRows<Client | StoredClient>> {
  return cursors.readById(scope, request, async (last, count) => {
    const stored = await storedClients(database, count, last)
    const others = clients.declared().filter(({ id }) => last === undefined || compareIds(id, last) < 0)
    return [...others, ...stored].toSorted((a, b) => compareIds(b.id, a.id)).slice(0, count)
  })
}

/** The clients of the database, newest first. @param below only ids below this one */
export async function storedClients(
  database: Database,
  limit: number,
  below?: string,
): Promise<StoredClient[]> {
  let query = database.reader.selectFrom('clients').selectAll().orderBy('id', 'desc').limit(limit)
  if (below !== undefined) query = query.where('id', '<', below)
  return (await query.execute()).map(storedClient)
}

/** By bytes, as the databases compare ids. */
function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** Stored clients that are searched, the newest. */
const mostSearched = 1_000

/** Finds apps by id or name. */
export function clientFinder(database: Database, clients: Clients): Finder {
  return {
    scope: 'clients:read',
    async find(text) {
      const byId = await clients.find(text)
      const all = byId ? [byId] : [...clients.declared(), ...(await storedClients(database, mostSearched))]
      return all
        .filter(({ id, name }) => id === text || contains(name, text))
        .map(({ id, name }) => ({
          kind: 'app',
          id,
          title: name ?? id,
          detail: name === undefined ? null : id,
        }))
    },
  }
}

const Name = Type.String({ minLength: 1, maxLength: longestName, pattern: storablePattern })
const Uris = (description: string) =>
  Type.Array(Type.String({ maxLength: longestUri, pattern: storablePattern }), {
    maxItems: mostListed,
    description,
  })
const Names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 1000, pattern: storablePattern }), {
    maxItems: mostListed,
    description,
  })
const orDefault = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(nullable(schema))

const settings = {
  redirectUris: Type.Optional(Uris('Compared as exact strings; the port of a loopback address may differ')),
  postLogoutRedirectUris: Type.Optional(Uris('Where the browser may go after a sign-out')),
  backchannelLogoutUri: orDefault(Type.String({ maxLength: longestUri, pattern: storablePattern })),
  jwks: orDefault(
    closedObject(
      { keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: 10 }) },
      {
        description: 'The public keys of a client that authenticates with private_key_jwt',
      },
    ),
  ),
  scopes: orDefault(Names('The scopes that it may ask for. Scopes of this API need an admin.')),
  audience: orDefault(
    Type.Union([Type.String({ minLength: 1, maxLength: 1000, pattern: storablePattern }), Names('Several')]),
  ),
  audiences: orDefault(Names('The APIs that it may ask for with `resource`')),
  firstParty: orDefault(Type.Boolean({ description: 'No consent page. Needs an admin. Default false.' })),
  clientCredentials: orDefault(Type.Boolean({ description: 'Tokens without a user. Default false.' })),
  deviceGrant: orDefault(
    Type.Boolean({ description: 'Sign-in of devices without a browser (RFC 8628). Default false.' }),
  ),
  admin: orDefault(Type.Boolean({ description: 'Its tokens may have the admin role. Needs an admin.' })),
  managesSessions: orDefault(
    Type.Boolean({ description: 'Its tokens may list and end all sessions of their user. Needs an admin.' }),
  ),
  accessTokenLifetime: orDefault(Type.Integer({ minimum: 60, maximum: 3600, description: 'Seconds' })),
  refreshTokenLifetime: orDefault(Type.Integer({ minimum: 60, maximum: 1e9, description: 'Seconds' })),
  idTokenAlgorithm: orDefault(Type.Enum(signingAlgorithms)),
  idTokenClaims: orDefault(
    Type.Enum(idTokenClaims, {
      description:
        'Whether its ID tokens have the claims of the scopes, or only those of the parameter `claims`. Default scopes, and minimal for self-registered apps.',
    }),
  ),
  reauthenticationProof: orDefault(
    Type.Enum(reauthenticationProofs, {
      description:
        'Whether `prompt=login` and `max_age` need the `auth_time` of the identity provider. Default required.',
    }),
  ),
}

const NewClientBody = closedObject({
  name: Name,
  confidential: Type.Optional(
    Type.Boolean({
      description: 'Whether it keeps a secret. Default true; false for apps in browsers and on devices.',
    }),
  ),
  ...settings,
})

const ClientChangeBody = closedObject({ name: Type.Optional(Name), ...settings }, { minProperties: 1 })

const SecretView = {
  id: Type.String(),
  begins: Type.String({ description: 'Its first characters' }),
  createdAt: DateTime,
  expiresAt: nullable(DateTime, 'Set when a newer secret was made'),
}
const Secrets = Type.Array(Type.Object(SecretView), {
  description: 'Those that are valid, newest first',
})
const NewSecret = Type.Object({
  ...SecretView,
  secret: Type.String({ description: 'Only this response contains it' }),
})

const ClientView = Type.Object({
  id: Type.String({ description: 'The client_id' }),
  name: Type.String(),
  declared: Type.Boolean({ description: 'In the configuration module: it cannot be changed here' }),
  registered: Type.Boolean({ description: 'Whether it registered itself (RFC 7591)' }),
  confidential: Type.Boolean(),
  redirectUris: Type.Array(Type.String()),
  postLogoutRedirectUris: Type.Array(Type.String()),
  backchannelLogoutUri: NullableText,
  jwks: nullable(Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })),
  scopes: Type.Array(Type.String()),
  audience: nullable(Type.Array(Type.String()), 'Null: this service'),
  audiences: Type.Array(Type.String()),
  firstParty: Type.Boolean(),
  clientCredentials: Type.Boolean(),
  deviceGrant: Type.Boolean(),
  admin: Type.Boolean(),
  managesSessions: Type.Boolean(),
  accessTokenLifetime: nullable(Type.Integer(), 'Seconds; null for the default'),
  refreshTokenLifetime: nullable(Type.Integer(), 'Seconds; null for the default'),
  idTokenAlgorithm: Type.Enum(signingAlgorithms),
  idTokenClaims: Type.Enum(idTokenClaims),
  reauthenticationProof: Type.Enum(reauthenticationProofs),
  createdAt: nullable(DateTime),
  updatedAt: nullable(DateTime),
})

function viewClient({ secretHashes: _hashes, ...client }: Client | StoredClient) {
  const stored = 'createdAt' in client ? client : undefined
  return {
    ...client,
    registered: client.selfRegistered,
    redirectUris: [...client.redirectUris],
    postLogoutRedirectUris: [...client.postLogoutRedirectUris],
    backchannelLogoutUri: client.backchannelLogoutUri ?? null,
    jwks: client.jwks === undefined ? null : { keys: client.jwks.keys.map((key) => ({ ...key })) },
    scopes: [...client.scopes],
    audience: client.audience === undefined ? null : defaultApisOf(client),
    audiences: [...client.audiences],
    admin: client.admin === true,
    managesSessions: client.managesSessions === true,
    accessTokenLifetime: client.accessTokenLifetime ?? null,
    refreshTokenLifetime: client.refreshTokenLifetime ?? null,
    createdAt: stored ? isoTime(stored.createdAt) : null,
    updatedAt: stored ? isoTime(stored.updatedAt) : null,
  }
}

function viewSecret({ id, prefix, created_at: createdAt, expires_at: end }: ListedSecret) {
  const expiresAt = isoTimeOrNull(end)
  return { id, begins: prefix, createdAt: isoTime(createdAt), expiresAt }
}

const tags = ['apps']
const secretParams = Type.Object({ id: Type.String(), secretId: Type.String() })
const read = { scope: 'clients:read' } as const
const write = { scope: 'clients:write' } as const
/** Seconds for which the secret before a new one is valid. */
const defaultOverlap = 86_400
const longestOverlap = 30 * 86_400

const WithSecrets = Type.Object({ ...ClientView.properties, secrets: Secrets })
const Created = Type.Object({
  ...ClientView.properties,
  secret: optionalText('The client_secret. Only this response contains it.'),
})

/** /clients: the applications of the product, for admins. */
export function clientRoutes(routes: App, services: OAuth2Services): void {
  readRoutes(routes, services)
  changeRoutes(routes, services)
  secretRoutes(routes, services)
}

function readRoutes(routes: App, services: OAuth2Services): void {
  routes.get(
    '/clients',
    route(read, tags, 'Apps, including declared ones, newest first', {
      querystring: Type.Object(pageParameters()),
      response: { 200: pageSchema(ClientView) },
    }),
    async ({ query }) => viewPage(await clientsPage(services, readPageRequest(query)), viewClient),
  )
  routes.get(
    '/clients/:id',
    route(read, tags, 'One app', { params: IdParams, response: { 200: WithSecrets } }),
    async ({ params: { id } }) => {
      const { client, secrets } = await services.management.get(id)
      return { ...viewClient(client), secrets: secrets.map(viewSecret) }
    },
  )
}

function changeRoutes(routes: App, services: OAuth2Services): void {
  const { management: clients } = services
  routes.post(
    '/clients',
    route(write, tags, 'Create an app; only this response contains its secret', {
      description: recentSignInNeeded,
      body: NewClientBody,
      response: { 201: Created },
    }),
    async (request, reply) => {
      await requireRecentSignIn(services, request)
      const { name, confidential = true, ...settings } = request.body
      const given = { name, confidential, settings: settings as GivenSettings, origin: 'api' } as const
      const { client, secret } = await clients.create(given, callerOf(request))
      return reply.code(201).send({ ...viewClient(client), ...(secret !== undefined && { secret }) })
    },
  )
  routes.patch(
    '/clients/:id',
    route(write, tags, 'Change an app; null selects the default', {
      description: `New \`jwks\`: ${recentSignInNeeded}`,
      params: IdParams,
      body: ClientChangeBody,
      response: { 200: ClientView },
    }),
    async (request, reply) => {
      const given = request.body as GivenSettings & { name?: string }
      if (given.jwks) await requireRecentSignIn(services, request)
      const client = await clients.change(request.params.id, given, callerOf(request))
      return reply.send(viewClient(client))
    },
  )
  routes.delete(
    '/clients/:id',
    route(write, tags, 'Delete an app; its tokens are rejected immediately', {
      params: IdParams,
      response: noContent,
    }),
    async (request, reply) => {
      await clients.remove(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    },
  )
}

function secretRoutes(routes: App, services: OAuth2Services): void {
  const { management: clients } = services
  const Body = closedObject({
    overlapSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: longestOverlap,
        description: 'Seconds in which the previous secret is still valid; default 24 hours',
      }),
    ),
  })
  routes.post(
    '/clients/:id/secrets',
    route(
      write,
      tags,
      'Create a new secret, shown only once; an app has two at most',
      { description: recentSignInNeeded, params: IdParams, body: Body, response: { 201: NewSecret } },
      { optionalBody: true },
    ),
    async (request, reply) => {
      await requireRecentSignIn(services, request)
      const overlap = Math.round((request.body.overlapSeconds ?? defaultOverlap) * 1000)
      const { listed, secret } = await clients.addSecret(request.params.id, overlap, callerOf(request))
      return reply.code(201).send({ ...viewSecret(listed), secret })
    },
  )
  routes.delete(
    '/clients/:id/secrets/:secretId',
    route(write, tags, 'Remove a secret immediately', { params: secretParams, response: noContent }),
    async (request, reply) => {
      const { id, secretId } = request.params
      if (!isId(secretId)) throw new Problem('not-found', { detail: 'There is no such secret.' })
      await clients.removeSecret(id, secretId, callerOf(request))
      return reply.code(204).send(null)
    },
  )
}

const recentSignInNeeded =
  'An administrator in a browser needs a recent sign-in (`RECENT_SIGN_IN`). Access tokens of apps are rejected.'

/** An app's secret or key outlives the session that registers it, so a stolen cookie must not be enough. @throws Problem */
async function requireRecentSignIn({ recentSignIn }: OAuth2Services, request: FastifyRequest): Promise<void> {
  if (request.principal?.kind !== 'key') await recentSignIn.require(request, 'client.create_failed')
}

function callerOf(request: FastifyRequest): ClientCaller {
  return { origin: auditOrigin(request), requireAdmin: () => requireScope(request, 'admin') }
}
