import type { OAuth2Services } from './services.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { withForms } from '../http/requests/parameters.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { preflightRoute } from '../http/responses/cross-origin.ts'
import { allowedScopes } from '../accounts/tokens/access-tokens.ts'
import { readStoredClaims, userClaims } from './token/id-tokens.ts'
import { ownClaims } from './token/own-claims.ts'

/** A client may send its token as the field of a form (RFC 6750, section 2.2). */
type TokenBody = { access_token?: string } | undefined
type UserinfoRequest = FastifyRequest<{ Body: TokenBody }>

const Claims = Type.Object({ sub: Type.String() }, { additionalProperties: true })

/** GET and POST /oauth2/userinfo (OpenID Connect Core, section 5.3): the claims that the scopes of a token give. */
export async function userinfoRoutes(app: App, parts: OAuth2Services): Promise<void> {
  await withForms(app, (routes) => {
    routes.addHook('onRequest', async (_request, reply) => {
      // The credential is in a header, and no cookie counts: any page that has a token may use it.
      reply.header('access-control-allow-origin', '*')
    })
    const options = {
      config: { access: 'public', ownOrigins: true, sends: { always: ['Access-Control-Allow-Origin'] } },
      schema: {
        tags: ['sign-in'],
        summary: "The claims about an access token's user (OpenID Connect)",
        response: { 200: Claims },
      },
    } as const
    const answer = (request: UserinfoRequest) => claimsOf(parts, request)
    routes.get<{ Body: TokenBody }>('/oauth2/userinfo', options, answer)
    routes.post<{ Body: TokenBody }>(
      '/oauth2/userinfo',
      { ...options, config: { ...options.config, optionalBody: true } },
      answer,
    )
    preflightRoute(routes, '/oauth2/userinfo', {
      methods: 'GET, POST',
      headers: 'authorization, content-type',
    })
  })
}

async function claimsOf(parts: OAuth2Services, request: UserinfoRequest) {
  const { accessTokens, clients, noteRefusal, baseUrl } = parts
  const token = tokenOf(request)
  const audience = [baseUrl(), accessTokens.userinfoAudience]
  const { claims, live } = await accessTokens.accept(token, audience).catch((error: unknown) => {
    throw error instanceof Problem ? invalidToken() : error
  })
  if (!live) throw invalidToken()
  if (claims.scope?.split(' ').includes('openid') !== true) {
    const refusal = { code: 'insufficient-scope', target: `app:${claims.client_id}`, userId: claims.sub }
    const acting = live.impersonatorId !== null && { impersonator: { userId: live.impersonatorId } }
    const principal = { kind: 'token', role: 'user', userId: claims.sub, ...acting } as const
    await noteRefusal(request, { action: 'call.forbidden', ...refusal }, principal)
    throw new Problem('insufficient-scope', {
      detail: 'This call needs an access token with the scope openid.',
      challenge: 'Bearer error="insufficient_scope", scope="openid"',
    })
  }
  const client = await clients.find(claims.client_id)
  if (!client) throw invalidToken()
  // A token with fewer scopes than its sign-in may have been passed on: it must not get the claims that the sign-in requested.
  const isWhole = claims.scope === allowedScopes(live.scope ?? '', client)
  const asked = isWhole ? readStoredClaims(client, live.claims).userinfo : []
  const { sub: userId, scope } = claims
  return {
    ...(await ownClaims(parts, { userId, clientId: client.id, scope })),
    ...(await userClaims(parts, { userId, provider: live.provider }, scope, asked)),
    sub: userId,
  }
}

/** RFC 6750, section 3.1. */
function invalidToken(): Problem {
  return new Problem('not-signed-in', {
    detail: 'The access token is invalid, expired, revoked or for another API.',
    challenge: 'Bearer error="invalid_token"',
  })
}

/** @throws Problem when there is no token, or one in two places (RFC 6750, section 2): they could be of two users */
function tokenOf({ headers: { authorization }, body }: UserinfoRequest): string {
  const inHeader = /^bearer ([^ ]+)$/i.exec(authorization ?? '')?.[1]
  const inBody = body?.access_token
  if (inHeader !== undefined && inBody !== undefined)
    throw new Problem('bad-request', {
      detail: 'The request has two access tokens.',
      challenge: 'Bearer error="invalid_request"',
    })
  const token = inHeader ?? inBody
  if (token === undefined) throw new Problem('not-signed-in')
  return token
}
