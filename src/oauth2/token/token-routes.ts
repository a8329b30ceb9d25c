import { issueIdToken } from './id-tokens.ts'
import type { OAuth2Services } from '../services.ts'
import { RefusedClient } from '../clients/client-authentication.ts'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { withForms } from '../../http/requests/parameters.ts'
import { hashToken } from '../../crypto/secrets.ts'
import type { App } from '../../http/app.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import { clientCall, OAuthError, oauthErrors } from '../oauth-error.ts'
import {
  acceptJsonWithoutDuplicates,
  allowClientOrigins,
  browserCall,
  clientCredentials,
} from './token-call.ts'
import { ownClaims } from './own-claims.ts'
import type { Grant, Granted, TokenRequest } from './grants.ts'
import { type Client, refreshLifetime } from '../clients/client.ts'

const Body = Type.Object({
  grant_type: optionalText('Such as authorization_code or refresh_token'),
  ...clientCredentials,
  code: Type.Optional(Type.String()),
  code_verifier: Type.Optional(Type.String()),
  redirect_uri: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String()),
  device_code: Type.Optional(Type.String()),
  scope: optionalText('Fewer scopes than those of the grant'),
  resource: optionalText('The API of the access token (RFC 8707)'),
})

/** Exchanges of one code or refresh token in a minute: parallel tabs cause a few. */
const perCredential = 20

/**
 * POST /oauth2/token, and /auth/token: clients exchange codes and refresh tokens, also from pages of their own origins. POST
 * /auth/{provider}/token: native apps send an id_token from a provider's SDK.
 */
export async function tokenRoutes(app: App, parts: OAuth2Services): Promise<void> {
  await withForms(app, (routes) => {
    acceptJsonWithoutDuplicates(routes)
    for (const path of ['/oauth2/token', '/auth/token']) {
      allowClientOrigins(routes, path, parts.clients)
      tokenRoute(routes, path, parts)
    }
    nativeTokenRoute(routes, parts)
  })
}

const NativeBody = Type.Object({
  ...clientCredentials,
  id_token: Type.Optional(Type.String({ maxLength: 16_384, description: "From the provider's SDK" })),
  nonce: Type.Optional(
    Type.String({
      maxLength: 1_024,
      description: 'The nonce that the app created; the id_token has it, or its SHA-256',
    }),
  ),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'The name that Apple gave the app' })),
  new_user: Type.Optional(
    Type.Union([Type.Boolean(), Type.Literal('true'), Type.Literal('false')], {
      description: '`true`: a new account, even if another one has the same address',
    }),
  ),
})

/** Not for pages: they sign in with a redirect. */
function nativeTokenRoute(routes: App, parts: OAuth2Services): void {
  const { authentication, refreshTokens, signInNative } = parts
  const { schema, errorHandler } = clientCall('Sign in with an id_token from an SDK', NativeBody, TokenAnswer)
  routes.post(
    '/auth/:provider/token',
    {
      config: { access: 'public', rateLimit: { max: 300, sharedByProcesses: true } },
      schema: {
        ...schema,
        params: Type.Object({ provider: Type.String() }),
        response: { ...schema.response, 404: oauthErrors[400] },
      },
      errorHandler,
    },
    async (request, reply) => {
      const { id_token: idToken, nonce, name: givenName, new_user: newUser, ...credentials } = request.body
      const client = await authentication.authenticate(request, reply, credentials)
      if (!client.firstParty) return authentication.refuse(request, reply, needsConsent(client.id))
      if (idToken === undefined || nonce === undefined)
        throw new OAuthError('invalid_request', `${idToken === undefined ? 'id_token' : 'nonce'} is missing`)
      const entry = { newUser: newUser === true || newUser === 'true', invitation: null }
      const { provider } = request.params
      const signIn = { provider, idToken, nonce, givenName, clientId: client.id, entry }
      const outcome = await signInNative(request, signIn, (tx, { userAgent = null, ...user }) =>
        refreshTokens.createFamily(tx, {
          ...user,
          userAgent,
          familyId: refreshTokens.newFamilyId(),
          clientId: client.id,
          sessionId: null,
          scope: null,
          resource: null,
          lifetime: refreshLifetime(client),
        }),
      )
      if (outcome.ok)
        return tokenResponse(parts, client, { ...outcome.tokens, nonce: null, scope: null, resource: null })
      const { error, error_description: description, status } = outcome
      throw new OAuthError(error, description, { status })
    },
  )
}

function needsConsent(id: string): RefusedClient {
  const why = 'this app needs the consent of its users: it signs in at /oauth2/authorize'
  return new RefusedClient('consent-needed', id, 'unauthorized_client', why)
}

function tokenRoute(routes: App, path: string, parts: OAuth2Services): void {
  const { authentication, grants } = parts
  routes.post(
    path,
    {
      config: browserCall,
      ...clientCall('Exchange a code or a refresh token (RFC 6749; JSON or form)', Body, TokenAnswer),
    },
    async (request, reply) => {
      const { body } = request
      const grant = grants.get(body.grant_type ?? '')
      // Only the credential of the grant is counted: otherwise an unused field would start a new count for it.
      const credential = grant?.credential(body)
      if (credential) await routes.limits.takeShared(reply, `credential ${hashOf(credential)}`, perCredential)
      if (body.grant_type === undefined) throw new OAuthError('invalid_request', 'grant_type is missing')
      const client = await authentication.authenticate(request, reply, body)
      if (!grant)
        throw new OAuthError('unsupported_grant_type', `use one of ${[...grants.keys()].join(', ')}`)
      const origin = auditOrigin(request)
      const { granted, own } = await exchange(parts, grant, { client, body, origin }).catch(
        (error: unknown) => authentication.refuse(request, reply, error),
      )
      if (!('invalidGrant' in granted)) return tokenResponse(parts, client, granted, own)
      // Somebody else may have copied the credential: its user sees the attempt in the audit log.
      const entry = { action: 'tokens.refused', target: `app:${client.id}`, code: 'invalid-grant' } as const
      const { userId, actor = origin.actor } = granted
      await parts.audit.note({ ...origin, ...entry, userId, actor })
      throw new OAuthError('invalid_grant', grant.invalid)
    },
  )
}

/** At a refresh, the hook runs first: if it fails, the app can repeat the request. */
async function exchange(parts: OAuth2Services, grant: Grant, asked: TokenRequest) {
  const preview = parts.claimsHook && (await grant.preview?.(asked))
  const own = preview && (await ownClaims(parts, { ...preview, clientId: asked.client.id }))
  return { granted: await grant.exchange(asked), own }
}

function hashOf(credential: string): string {
  return hashToken(credential).toString('base64url')
}

/** The answer of the token endpoint (RFC 6749, section 5.1; OpenID Connect Core, section 3.1.3.3). */
const TokenAnswer = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Integer({ description: 'Seconds' }),
  refresh_token: Type.Optional(Type.String()),
  id_token: optionalText('With the scope `openid`'),
  scope: optionalText('The granted scopes, separated by spaces'),
})

/** Signs the tokens of a grant. @param known the claims of the hook, if it has run */
async function tokenResponse(
  parts: OAuth2Services,
  client: Client,
  { family, refreshToken, nonce, scope, resource }: Granted,
  known?: Readonly<Record<string, unknown>>,
) {
  const about = family && { userId: family.userId, clientId: client.id, scope }
  const own = known ?? (about && (await ownClaims(parts, about))) ?? {}
  const grant = { clientId: client.id, family, scope, resource, own }
  const { token, expiresIn } = await parts.accessTokens.issue(grant)
  const wantsIdToken = family !== undefined && scope?.split(' ').includes('openid') === true
  const idToken = wantsIdToken
    ? await issueIdToken(parts, client, { ...family, scope }, { nonce, accessToken: token, own })
    : undefined
  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: expiresIn,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(idToken !== undefined && { id_token: idToken }),
    ...(scope && { scope }),
  }
}
