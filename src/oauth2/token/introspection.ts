import type { OAuth2Services } from '../services.ts'
import { type Static, Type } from 'typebox'
import {
  type AccessTokenClaims,
  type AccessTokens,
  allowedScopes,
  isJwt,
} from '../../accounts/tokens/access-tokens.ts'
import { withForms } from '../../http/requests/parameters.ts'
import type { App } from '../../http/app.ts'
import { RefusedClient } from '../clients/client-authentication.ts'
import { apisOf, type Client, isPublic } from '../clients/client.ts'
import { clientCall, OAuthError } from '../oauth-error.ts'
import { acceptJsonWithoutDuplicates, TokenCallBody } from './token-call.ts'
import type { DescribedToken, RefreshTokens } from '../../accounts/tokens/refresh-tokens.ts'
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
  const { authentication, status, noteRefusal, baseUrl } = parts
  await withForms(app, (routes) => {
    acceptJsonWithoutDuplicates(routes)
    routes.post(
      '/oauth2/introspect',
      { config: { access: 'public', rateLimit: { max: 30_000 } }, ...call },
      async (request, reply) => {
        const { body } = request
        const client = await authentication.authenticate(request, reply, body)
        if (isPublic(client)) return authentication.refuse(request, reply, publicClient(client))
        if (!body.token) throw new OAuthError('invalid_request', 'token is missing')
        const known = await status.find(body.token)
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

function publicClient({ id }: Client): RefusedClient {
  return new RefusedClient('public-client', id, 'invalid_client', 'only a confidential app may ask', {
    status: 401,
  })
}

/** A token that this service issued: whom it belongs to, and whether it is valid now. */
export type KnownToken =
  | { kind: 'access'; claims: AccessTokenClaims; active: boolean }
  | ({ kind: 'refresh' } & DescribedToken)

/** Recognizes tokens by their form. The hint of the caller would change nothing (RFC 7662, section 2.1). */
export class TokenStatus {
  readonly #accessTokens: AccessTokens
  readonly #refreshTokens: RefreshTokens

  constructor(parts: { accessTokens: AccessTokens; refreshTokens: RefreshTokens }) {
    this.#accessTokens = parts.accessTokens
    this.#refreshTokens = parts.refreshTokens
  }

  /** `undefined` for an unknown token, and for an access token that has expired. */
  async find(token: string): Promise<KnownToken | undefined> {
    if (!isJwt(token)) {
      const described = await this.#refreshTokens.describe(token)
      return described && { kind: 'refresh', ...described }
    }
    const claims = await this.#accessTokens.verify(token).catch((error: unknown) => {
      if (error instanceof Problem) return undefined
      throw error
    })
    if (!claims) return undefined
    return { kind: 'access', claims, active: await this.#accessTokens.isLive(claims) }
  }
}
