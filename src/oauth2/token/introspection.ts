import type { OAuth2Services } from '../services.ts'
import { type Static, Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { type AccessTokenClaims, allowedScopes } from '../../accounts/tokens/access-tokens.ts'
import { isJwt } from '../../http/access/access.ts'
import { withForms } from '../../http/requests/parameters.ts'
import type { App } from '../../http/app.ts'
import { unauthenticated } from '../clients/client-authentication.ts'
import { apisOf, type Client } from '../clients/client.ts'
import { clientCall, OAuthError } from '../oauth-error.ts'
import { acceptJsonWithoutDuplicates, allowClientOrigins, browserCall, TokenCallBody } from './token-call.ts'
import type { DescribedToken } from '../../accounts/tokens/refresh-tokens.ts'
import { Problem } from '../../errors.ts'

const Text = Type.Optional(Type.String())
const Time = Type.Optional(Type.Integer({ description: 'Seconds since 1970' }))
/** RFC 7662, section 2.2. */
const members = {
  active: Type.Boolean(),
  scope: Text,
  client_id: Text,
  token_type: Text,
  exp: Time,
  iat: Time,
  auth_time: Time,
  sub: Text,
  aud: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  iss: Text,
  jti: Text,
  sid: Text,
  acr: Text,
  amr: Type.Optional(Type.Array(Type.String())),
  act: Type.Optional(
    Type.Object({ sub: Type.String() }, { description: 'The admin who acts for the user (RFC 8693)' }),
  ),
}
/** With the claims of `login.claims`. */
const Answer = Type.Object(members, { additionalProperties: true })

const call = clientCall('Check a token and return its claims (RFC 7662; JSON or form)', TokenCallBody, Answer)

/** POST /oauth2/introspect: a confidential client asks whether a token is valid (RFC 7662). */
export async function introspectionRoute(app: App, parts: OAuth2Services): Promise<void> {
  const { authentication, noteRefusal, baseUrl } = parts
  await withForms(app, (routes) => {
    acceptJsonWithoutDuplicates(routes)
    routes.post(
      '/oauth2/introspect',
      { config: { access: 'public', rateLimit: { max: 30_000 } }, ...call },
      async (request, reply) => {
        const { body } = request
        const client = await authentication.authenticate(request, reply, body)
        if (!client.confidential) {
          const refused = unauthenticated('public-client', client.id, 'only a confidential app may ask')
          return authentication.refuse(request, reply, refused)
        }
        if (!body.token) throw new OAuthError('invalid_request', 'token is missing')
        const known = await findToken(parts, body.token)
        if (!known) return { active: false }
        if (!mayKnow(client, known)) {
          const target = `app:${client.id}`
          await noteRefusal(request, { action: 'client.refused', code: 'other-audience', target })
          return { active: false }
        }
        return known.active ? describe(client, known, baseUrl()) : { active: false }
      },
    )
  })
}

/** A client learns about tokens that were issued to it, or that name it or an API of its registration as their audience. */
function mayKnow(client: Client, known: KnownToken): boolean {
  const { id } = client
  if (known.kind === 'refresh') return known.family.clientId === id
  const { client_id: clientId, aud } = known.claims
  const own = new Set([id, ...apisOf(client)])
  return clientId === id || [aud ?? []].flat().some((one) => own.has(one))
}

/** Of a refresh token, the scopes that its next use gives: `client` is its own. */
function describe(client: Client, known: KnownToken, issuer: string): Static<typeof Answer> {
  if (known.kind === 'access') {
    const { scope, ...claims } = known.claims
    return { active: true, token_type: 'Bearer', ...claims, ...(scope && { scope }) }
  }
  const { family, createdAt, expiresAt } = known
  const scope = allowedScopes(family.scope ?? '', client)
  return {
    active: true,
    iss: issuer,
    client_id: family.clientId,
    sub: family.userId,
    sid: family.familyId,
    iat: Math.floor(createdAt / 1000),
    exp: Math.floor(expiresAt / 1000),
    ...(family.impersonatorId !== null && { act: { sub: family.impersonatorId } }),
    ...(scope !== '' && { scope }),
  }
}

/** A token that this service issued: whom it belongs to, and whether it is valid now. */
type KnownToken =
  | { kind: 'access'; claims: AccessTokenClaims; active: boolean }
  | ({ kind: 'refresh' } & DescribedToken)

/**
 * Recognizes a token by its form; `undefined` for an unknown token, and for an access token that has expired. The hint of the caller would
 * change nothing (RFC 7662, section 2.1).
 */
async function findToken(
  { accessTokens, refreshTokens }: OAuth2Services,
  token: string,
): Promise<KnownToken | undefined> {
  if (!isJwt(token)) {
    const described = await refreshTokens.describe(token)
    return described && { kind: 'refresh', ...described }
  }
  const claims = await accessTokens.verify(token).catch((error: unknown) => {
    if (error instanceof Problem) return undefined
    throw error
  })
  if (!claims) return undefined
  return { kind: 'access', claims, active: await accessTokens.isLive(claims) }
}

const revocationPath = '/oauth2/revoke'
const Ended = Type.Object({}, { description: 'It has ended, or there was no such token of this app' })

const revocation = clientCall(
  'End the sign-in that a token belongs to (RFC 7009; JSON or form)',
  TokenCallBody,
  Ended,
)

/** POST /oauth2/revoke: a client ends one of its sign-ins, by any token of it (RFC 7009). */
export async function revocationRoute(app: App, parts: OAuth2Services): Promise<void> {
  const { clients, authentication, tokenFamilies, audit, noteRefusal } = parts
  await withForms(app, (routes) => {
    acceptJsonWithoutDuplicates(routes)
    allowClientOrigins(routes, revocationPath, clients)
    routes.post(revocationPath, { config: browserCall, ...revocation }, async (request, reply) => {
      const { body } = request
      const client = await authentication.authenticate(request, reply, body)
      if (!body.token) throw new OAuthError('invalid_request', 'token is missing')
      const known = await findToken(parts, body.token)
      if (!known) return {}
      const target = `app:${client.id}`
      const { clientId, userId, familyId } = ownerOf(known)
      if (clientId !== client.id) {
        // RFC 7009, section 2.2: an invalid token gets no error, because the client could do nothing about it.
        await noteRefusal(request, { action: 'tokens.refused', code: 'other-client', target, userId })
        return {}
      }
      if (userId === undefined || familyId === undefined)
        throw new OAuthError('unsupported_token_type', 'a token without a user lives until it expires')
      const entry = { action: 'tokens.revoked', userId, target, detail: { reason: 'client' } } as const
      const origin = { ...auditOrigin(request), actor: target }
      await tokenFamilies.revoke(userId, familyId, (tx) => audit.record(tx, { ...origin, ...entry }))
      return {}
    })
  })
}

/** Whose token it is. A token without a user has no family. */
function ownerOf(known: KnownToken): { clientId: string; userId?: string; familyId?: string } {
  if (known.kind === 'refresh') return known.family
  const { client_id: clientId, sub: userId, sid: familyId } = known.claims
  return familyId === undefined ? { clientId } : { clientId, userId, familyId }
}
