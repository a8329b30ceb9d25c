import type { OAuth2Services } from '../services.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { clientNetwork } from '../../http/limits/client-address.ts'
import { preflightRoute } from '../../http/responses/cross-origin.ts'
import { answerOAuthError, OAuthError, oauthErrors } from '../oauth-error.ts'
import type { StoredClient } from './clients.ts'
import { grantTypes, readRegistration, RegistrationBody, withoutEmpty } from './registration-request.ts'
import { optionalText } from '../../http/schemas/schemas.ts'

const Texts = Type.Array(Type.String())
/** RFC 7591, section 3.2.1. */
const Answer = Type.Object({
  client_id: Type.String(),
  client_id_issued_at: Type.Integer({ description: 'Seconds since 1970' }),
  client_secret: optionalText('Only this response contains it'),
  client_secret_expires_at: Type.Optional(Type.Integer({ description: '0: it does not expire' })),
  client_name: Type.String(),
  redirect_uris: Texts,
  post_logout_redirect_uris: Texts,
  token_endpoint_auth_method: Type.String(),
  grant_types: Texts,
  response_types: Texts,
  scope: Type.String(),
  id_token_signed_response_alg: Type.String(),
})

const path = '/oauth2/register'

/** Pages can register their app, as MCP clients in browsers do. The call reads no cookie, so it gives a page no rights. */
function allowAllOrigins(routes: App): void {
  routes.addHook(
    'onRequest',
    async (_request, reply) => void reply.header('access-control-allow-origin', '*'),
  )
  preflightRoute(routes, path, { methods: 'POST', headers: 'content-type' })
}

/** POST /oauth2/register: an app registers itself (RFC 7591), if CLIENT_REGISTRATION allows it. */
export async function registrationRoute(app: App, parts: OAuth2Services): Promise<void> {
  const { management, noteRefusal } = parts
  const { reach } = parts.clients
  // `off`: no app registers itself. `documents`: apps are known by the document at their id. `token`: callers need `clients:write`.
  const mode = parts.configuration.clientRegistration
  if (mode === 'off' || mode === 'documents') return
  const isOpen = mode === 'open'
  await app.register(async (routes: App) => {
    if (isOpen) allowAllOrigins(routes)
    routes.post(
      path,
      {
        config: {
          access: isOpen ? 'public' : { scope: 'clients:write' },
          ...(isOpen && { ownOrigins: true, sends: { always: ['Access-Control-Allow-Origin'] } }),
          rateLimit: { max: 10, sharedByProcesses: true },
        },
        schema: {
          tags: ['apps'],
          summary: 'Register an app (RFC 7591)',
          body: RegistrationBody,
          response: { 201: Answer, 400: oauthErrors[400], 413: oauthErrors[413] },
        },
        preValidation: async (request) =>
          void (request.body = withoutEmpty(request.body) as typeof request.body),
        errorHandler(error, request, reply) {
          // Who may not call gets the same answer as elsewhere.
          if (error instanceof Problem && [401, 403, 409].includes(error.status)) throw error
          answerOAuthError(error, request, reply)
        },
      },
      async (request, reply) => register(request, reply),
    )
  })

  async function register(
    request: FastifyRequest<{ Body: Static<typeof RegistrationBody> }>,
    reply: FastifyReply,
  ) {
    try {
      const { app, ...registered } = readRegistration(request.body, reach.scopes)
      // Callers with a key may register the apps of many people from one address.
      const network = isOpen ? clientNetwork(request) : undefined
      const caller = { origin: auditOrigin(request), requireAdmin: refuseRights }
      const { client, secret } = await management.create({ ...app, network, origin: 'registration' }, caller)
      return await reply.code(201).send(answerOf(client, secret, registered))
    } catch (error) {
      if (error instanceof OAuthError)
        await noteRefusal(request, { action: 'client.refused', code: error.error }, request.principal)
      throw error
    }
  }
}

/** readRegistration gives no such right. */
function refuseRights(): never {
  throw new OAuthError('invalid_client_metadata', 'an app that registers itself gets no special rights')
}

function answerOf(
  client: StoredClient,
  secret: string | undefined,
  { method, scopes }: { method: string; scopes: readonly string[] },
) {
  return {
    client_id: client.id,
    client_id_issued_at: Math.floor(client.createdAt / 1000),
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    token_endpoint_auth_method: method,
    grant_types: grantTypes,
    response_types: ['code'],
    scope: scopes.join(' '),
    id_token_signed_response_alg: client.idTokenAlgorithm,
  }
}
