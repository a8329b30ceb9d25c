import { matches } from '../../http/caching/tagged-answer.ts'
import type { AccountServices } from '../services.ts'
import { Type, type Static } from 'typebox'
import { isId } from '../../crypto/ids.ts'
import { invalidBody, Problem } from '../../errors.ts'
import { isScope, scopes, type Scope } from '../../http/access/principal.ts'
import { type App, route } from '../../http/app.ts'
import {
  closedObject,
  DateTime,
  DisplayName,
  IdParams,
  noContent,
  nullable,
} from '../../http/schemas/schemas.ts'
import { pageSchema, viewPage, pageParameters, readPageRequest } from '../../paging/parameters.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { KeyRow } from './api-keys.ts'
import { auditOrigin } from '../audit/audit.ts'
import { readSubjectNames } from '../audit/audit-log.ts'
import type { FastifyReply } from 'fastify'
import {
  publicDocument,
  publicDocumentHeaders,
  publicDocumentPreflights,
} from '../../http/responses/cross-origin.ts'
import { jwksMaxAge, type SigningKeys } from './signing-keys.ts'

const tags = ['sign-in']
const access = { scope: 'admin' } as const

const Key = closedObject({
  id: Type.String(),
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key' }),
  scopes: Type.Array(Type.String()),
  createdAt: DateTime,
  createdBy: nullable(Type.String(), 'Who created it: user:…, key:… or cli; null for keys of older versions'),
  createdByName: nullable(Type.String(), 'The name of the user or key'),
  expiresAt: nullable(DateTime),
  lastUsedAt: nullable(DateTime, 'At most a minute behind'),
  revokedAt: nullable(DateTime),
})
const KeyPage = closedObject({
  ...pageSchema(Key).properties,
  applicationScopes: Type.Array(closedObject({ scope: Type.String(), hosts: Type.Array(Type.String()) }), {
    description:
      'The other scopes that a key can have: those in rules of `forwardAuth`, with the hosts of the rules',
  }),
})
const NewKey = closedObject({
  ...Key.properties,
  key: Type.String({ description: 'The key itself. No other answer contains it.' }),
})

/** GET and POST /keys, DELETE /keys/{id}: API keys, for admins. */
export function keyRoutes(app: App, services: AccountServices): void {
  listRoute(app, services)
  createRoute(app, services)
  revokeRoute(app, services)
}

function listRoute(app: App, { keys, database, cursors, applicationScopes }: AccountServices): void {
  const offered = [...applicationScopes]
    .filter(([scope]) => !isScope(scope))
    .map(([scope, hosts]) => ({ scope, hosts: [...hosts] }))
  app.get(
    '/keys',
    route(access, tags, 'API keys, including revoked ones, newest first', {
      querystring: Type.Object(pageParameters()),
      response: { 200: KeyPage },
    }),
    async ({ query }) => {
      const page = await keys.page(cursors, readPageRequest(query))
      const names = await readSubjectNames(
        database,
        page.rows.map((row) => row.created_by),
      )
      return { ...viewPage(page, (row) => view(row, names)), applicationScopes: offered }
    },
  )
}

function createRoute(app: App, services: AccountServices): void {
  const { keys, database, recentSignIn, clock, applicationScopes } = services
  const every = [...new Set([...Object.keys(scopes), ...applicationScopes.keys()])] as Scope[]
  const Body = closedObject({
    name: DisplayName,
    scopes: Type.Array(Type.Enum(every), { minItems: 1, maxItems: every.length }),
    expiresAt: Type.Optional(nullable(DateTime, 'Null or absent: never')),
  })
  app.post(
    '/keys',
    route(access, tags, 'Create an API key; only this response contains it', {
      description:
        'An administrator in a browser needs a recent sign-in (`RECENT_SIGN_IN`). Access tokens of apps are rejected.',
      body: Body,
      response: { 201: NewKey },
    }),
    async (request, reply) => {
      // A key outlives the session that creates it, so a stolen cookie must not be enough.
      if (request.principal?.kind !== 'key') await recentSignIn.require(request, 'key.create_failed')
      const { name, scopes: granted, expiresAt } = request.body
      const end = readEnd(expiresAt ?? null, clock.now())
      const origin = auditOrigin(request)
      const { row, key } = await keys.create({ name: name.trim(), scopes: granted, expiresAt: end }, origin)
      const names = await readSubjectNames(database, [row.created_by])
      return reply.code(201).send({ ...view(row, names), key })
    },
  )
}

function revokeRoute(app: App, { keys }: AccountServices): void {
  app.delete(
    '/keys/:id',
    route(access, tags, 'Revoke an API key immediately', { params: IdParams, response: noContent }),
    async (request, reply) => {
      const { id } = request.params
      if (!isId(id) || !(await keys.revoke(id, auditOrigin(request))))
        throw new Problem('not-found', { detail: 'There is no valid API key with this id.' })
      return reply.code(204).send(null)
    },
  )
}

/** @throws Problem `invalid-body` for a time that has passed */
function readEnd(text: string | null, now: number): number | undefined {
  if (text === null) return undefined
  const end = Date.parse(text)
  if (!(end > now)) throw invalidBody('/expiresAt', 'expiresAt must be in the future.')
  return end
}

function view(row: KeyRow, names: ReadonlyMap<string, string>): Static<typeof Key> {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    scopes: row.scopes.split(' '),
    createdAt: isoTime(row.created_at),
    createdBy: row.created_by,
    createdByName: names.get(row.created_by ?? '') ?? null,
    expiresAt: isoTimeOrNull(row.expires_at),
    lastUsedAt: isoTimeOrNull(row.last_used_at),
    revokedAt: isoTimeOrNull(row.revoked_at),
  }
}

const path = '/.well-known/jwks.json'

/** GET /.well-known/jwks.json: the public keys for verifiers of access tokens, pages of other origins included. */
export function jwksRoutes(app: App, signingKeys: SigningKeys): void {
  publicDocumentPreflights(app, path)
  app.get(
    path,
    {
      config: { ...publicDocument, sends: { always: ['ETag', ...publicDocument.sends.always] } },
      schema: {
        tags: ['sign-in'],
        summary: 'The public keys of access tokens (RFC 7517)',
        response: {
          200: Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true })) }),
          304: Type.Null({ description: 'The keys match If-None-Match' }),
        },
      },
    },
    async (request, reply) => {
      const { keys, tag } = await signingKeys.jwks()
      const etag = `"${tag}"`
      reply.headers({
        // Bounds how long other verifiers take a withdrawn key: without must-revalidate a cache may serve an old answer while
        // this service is out of reach (RFC 9111, section 5.2.2.2).
        'cache-control': `public, max-age=${jwksMaxAge}, must-revalidate`,
        etag,
        ...publicDocumentHeaders,
      })
      if (matches(request.headers['if-none-match'], etag)) return notModified(reply)
      return reply.send({ keys })
    },
  )
}

/** Its schema has no body, so `send()` has no argument. */
function notModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send()
}
