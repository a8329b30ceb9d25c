import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccessTokens } from '../accounts/access-tokens.ts'
import { auditOrigin, type Audit, type AuditOrigin } from '../accounts/audit.ts'
import type { Family, InvalidGrant, RefreshTokens } from '../accounts/refresh-tokens.ts'
import { acceptForms } from '../accounts/routes.ts'
import { hashToken } from '../crypto/tokens.ts'
import type { App } from '../http/app.ts'
import { toProblem } from '../http/responses/problem-details.ts'
import type { AuthorizationCodes } from './authorization-codes.ts'
import type { Apps } from './apps.ts'
import { acceptJsonWithoutDuplicates } from './json-without-duplicates.ts'
import { optionalText } from '../http/schemas/schemas.ts'

export interface TokenRoutesParts {
  apps: Apps
  codes: AuthorizationCodes
  refreshTokens: RefreshTokens
  accessTokens: AccessTokens
  audit: Audit
}

const Body = Type.Object({
  grant_type: optionalText('authorization_code or refresh_token'),
  client_id: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  code_verifier: Type.Optional(Type.String()),
  redirect_uri: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String()),
})
const Tokens = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds' }),
  refresh_token: Type.String(),
})
const OAuthError = Type.Object({ error: Type.String(), error_description: Type.String() })

/** Exchanges of one code or refresh token in a minute: parallel tabs cause a few. */
const perCredential = 20

/** An error of RFC 6749, section 5.2. */
class TokenError extends Error {
  readonly error: string
  readonly status: number
  constructor(error: string, description: string, status = 400) {
    super(description)
    this.error = error
    this.status = status
  }
}

/** POST /auth/token: apps exchange codes and refresh tokens, without a client secret, from their own origins. */
export async function tokenRoutes(app: App, parts: TokenRoutesParts): Promise<void> {
  await app.register(async (routes: App) => {
    acceptForms(routes)
    acceptJsonWithoutDuplicates(routes)
    routes.addHook('onRequest', async (request, reply) => allowOrigin(parts.apps, request, reply))
    preflightRoute(routes)
    tokenRoute(routes, parts)
  })
}

function preflightRoute(routes: App): void {
  routes.options(
    '/auth/token',
    { config: { access: 'public', ownOrigins: true }, schema: { hide: true } },
    async (_request, reply) =>
      reply
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': 'content-type',
          'access-control-max-age': '600',
        })
        .code(204)
        .send(),
  )
}

function tokenRoute(routes: App, parts: TokenRoutesParts): void {
  routes.post(
    '/auth/token',
    {
      config: {
        access: 'public',
        ownOrigins: true,
        rateLimit: { max: 300, sharedByProcesses: true },
        sends: { always: ['Vary'], sometimes: ['Access-Control-Allow-Origin'] },
      },
      schema: {
        tags: ['sign-in'],
        summary: 'Exchange a code or a refresh token (RFC 6749; JSON or form)',
        body: Body,
        response: { 200: Tokens, 400: OAuthError, 401: OAuthError },
      },
      errorHandler: (error, _request, reply) => {
        const status = error instanceof TokenError ? error.status : toProblem(error).status
        // RFC 6749 has no error code for faults of the service, rate limits and slow bodies: the common error handler answers.
        if (status >= 500 || status === 429 || status === 408) throw error
        void reply.code(status === 401 ? 401 : 400).send(errorBody(error))
      },
    },
    async (request, reply) => {
      const { body } = request
      const { grant_type: grant, client_id: clientId } = body
      // Only the credential of the grant is counted: otherwise an unused field would start a new count for it.
      const credential = grant === 'refresh_token' ? body.refresh_token : body.code
      if (credential) await routes.limits.takeShared(reply, `credential ${hashOf(credential)}`, perCredential)
      if (grant === undefined) throw new TokenError('invalid_request', 'grant_type is missing')
      if (clientId === undefined) throw new TokenError('invalid_request', 'client_id is missing')
      if (!parts.apps.has(clientId))
        throw new TokenError('invalid_client', 'no app of this id is registered', 401)
      if (grant !== 'authorization_code' && grant !== 'refresh_token')
        throw new TokenError('unsupported_grant_type', 'use authorization_code or refresh_token')
      const origin = auditOrigin(request)
      const exchange = grant === 'authorization_code' ? exchangeCode : rotateRefreshToken
      const exchanged = await exchange(parts, body, clientId, origin)
      if (!('invalidGrant' in exchanged)) return tokenResponse(parts, exchanged)
      // Somebody else may have copied the credential: its user sees the attempt in the audit log.
      const entry = { action: 'tokens.refused', target: `app:${clientId}`, code: 'invalid-grant' } as const
      await parts.audit.note({ ...origin, ...entry, userId: exchanged.userId })
      throw new TokenError('invalid_grant', invalidGrantMessages[grant])
    },
  )
}

const invalidGrantMessages = {
  authorization_code: 'the code is wrong, was used or has expired',
  refresh_token: 'the refresh token is wrong, was used, revoked or has expired',
}

type TokenBody = Readonly<Record<string, string | undefined>>
interface Exchanged {
  family: Family
  refreshToken: string
}

async function exchangeCode(
  { codes }: TokenRoutesParts,
  { code, code_verifier: verifier, redirect_uri: redirectUri }: TokenBody,
  clientId: string,
  origin: AuditOrigin,
): Promise<Exchanged | InvalidGrant> {
  if (!code) throw new TokenError('invalid_request', 'code is missing')
  if (!redirectUri) throw new TokenError('invalid_request', 'redirect_uri is missing')
  // RFC 7636, section 4.1.
  if (!verifier || !/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier))
    throw new TokenError('invalid_request', 'code_verifier is missing or not of the form of RFC 7636')
  return codes.exchange({ code, clientId, redirectUri, verifier, origin })
}

async function rotateRefreshToken(
  { refreshTokens }: TokenRoutesParts,
  { refresh_token: token }: TokenBody,
  clientId: string,
  origin: AuditOrigin,
): Promise<Exchanged | InvalidGrant> {
  if (!token) throw new TokenError('invalid_request', 'refresh_token is missing')
  return refreshTokens.rotate(token, clientId, origin)
}

async function tokenResponse({ accessTokens }: TokenRoutesParts, { family, refreshToken }: Exchanged) {
  const { token, expiresIn } = await accessTokens.issue(family)
  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: expiresIn,
    refresh_token: refreshToken,
  }
}

function allowOrigin(apps: Apps, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('vary', 'Origin')
  const { origin } = request.headers
  if (origin !== undefined && apps.allowsOrigin(origin)) reply.header('access-control-allow-origin', origin)
}

function hashOf(credential: string): string {
  return hashToken(credential).toString('base64url')
}

function errorBody(error: unknown): { error: string; error_description: string } {
  if (error instanceof TokenError) return { error: error.error, error_description: error.message }
  return { error: 'invalid_request', error_description: toProblem(error).message }
}
