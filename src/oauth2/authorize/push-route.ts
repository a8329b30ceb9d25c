import type { OAuth2Services } from '../services.ts'
import { Type } from 'typebox'
import type { App } from '../../http/app.ts'
import { Problem } from '../../errors.ts'
import { answerOAuthError, AuthorizationError, oauthErrors } from '../oauth-error.ts'
import { parseRequest, returnAddress } from './request-parameters.ts'
import { acceptRawForms, oauthParameters, readOAuthParameters } from '../../http/requests/parameters.ts'
import { allowClientOrigins, browserCall } from '../token/token-call.ts'
import { pushedLifetime } from './authorization-requests.ts'

/** Parameters that authenticate the client, and are not part of the request. */
const ofAuthentication = new Set(['client_secret', 'client_assertion', 'client_assertion_type'])

const path = '/oauth2/par'

/** POST /oauth2/par: a client sends its authorization request directly (RFC 9126), pages of its own origins included. */
export async function pushRoute(
  app: App,
  { clients, authentication, requests, noteRefusal }: OAuth2Services,
): Promise<void> {
  await app.register(async (routes: App) => {
    acceptRawForms(routes)
    allowClientOrigins(routes, path, clients)
    routes.post<{ Body: string }>(
      path,
      {
        config: { ...browserCall, rateLimit: { max: 300 } },
        schema: {
          tags: ['sign-in'],
          summary: 'Push an authorization request (RFC 9126)',
          response: {
            201: Type.Object({
              request_uri: Type.String(),
              expires_in: Type.Integer({ description: 'Seconds' }),
            }),
            ...oauthErrors,
          },
        },
        errorHandler: answerOAuthError,
      },
      async (request, reply) => {
        const text = request.body ?? ''
        const { values } = readOAuthParameters(text)
        const client = await authentication.authenticate(request, reply, values)
        const parameters = oauthParameters(text).filter(([name]) => !ofAuthentication.has(name))
        try {
          parseRequest(client, returnAddress(client, parameters), parameters)
        } catch (error) {
          const code = error instanceof AuthorizationError ? error.error : 'invalid-redirect-uri'
          if (error instanceof AuthorizationError || error instanceof Problem)
            await noteRefusal(request, { action: 'app.refused', code, target: `app:${client.id}` })
          throw error
        }
        const requestUri = await requests.store('pushed', client, parameters)
        return reply.code(201).send({ request_uri: requestUri, expires_in: pushedLifetime })
      },
    )
  })
}
