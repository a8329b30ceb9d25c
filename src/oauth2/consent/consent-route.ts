import { isFormOf } from './consent-page.ts'
import type { OAuth2Services } from '../services.ts'
import { withForms } from '../../http/requests/parameters.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Tx } from '../../storage/database.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { answerWithPage, AuthorizationError, RequestOver } from '../oauth-error.ts'
import type { Parameters } from '../authorize/authorization-requests.ts'
import type { ValidRequest } from '../authorize/decision.ts'
import { type AuthorizationRequest, parseRequest, returnAddress } from '../authorize/request-parameters.ts'
import { respond } from '../authorize/authorize-route.ts'
import type { Client } from '../clients/client.ts'
import { ClientDocumentFault } from '../clients/client-documents.ts'
import { closedObject } from '../../http/schemas/schemas.ts'

const Body = closedObject({
  client_id: Type.String(),
  request_uri: Type.String(),
  proof: Type.Optional(Type.String()),
  decision: Type.Enum(['allow', 'deny']),
})

/** POST /oauth2/consent: the answer of a person to the page of consent. */
export async function consentRoute(app: App, parts: OAuth2Services): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/oauth2/consent',
      {
        config: { access: 'session', rateLimit: { max: 300 }, sends: { sometimes: ['Refresh', ...ofPages] } },
        schema: {
          tags: ['sign-in'],
          summary: 'Allow or deny an app; the form of the consent page',
          produces: ['text/html'],
          body: Body,
          response: { 200: Type.String({ description: 'A page that goes on to the app' }) },
        },
        errorHandler: answerWithPage,
      },
      async (request, reply) => {
        const { asked, session } = await load(parts, request, reply)
        const { client, requested } = asked
        const consent = { userId: session.userId, clientId: client.id }
        const allow = (tx: Tx) =>
          parts.consents.grant(tx, consent, { ...requested, scope: requested.scopeToAllow })
        const answer =
          request.body.decision === 'allow'
            ? { code: await parts.decision.issueCode(request, session, asked, allow) }
            : await parts.decision.dismiss(request, session, asked)
        return respond(parts, reply, { client, address: requested, answer }, true)
      },
    )
  })
}

/** The parked request that the form is about. @throws Problem `invalid-parameter` */
async function load(
  parts: OAuth2Services,
  request: FastifyRequest<{ Body: Static<typeof Body> }>,
  reply: FastifyReply,
): Promise<{ asked: ValidRequest; session: Session }> {
  const { clients, requests, binding, sessions, sessionCookie, keyring, noteRefusal } = parts
  const { client_id: clientId, request_uri: requestUri, proof = '' } = request.body
  const session = await sessions.find(sessionCookie.read(request))
  if (!session) throw new Problem('not-signed-in')
  const client = await clients.load(request, reply, clientId).catch((error: unknown) => {
    if (!(error instanceof ClientDocumentFault)) throw error
    throw new Problem('invalid-parameter', { parameter: 'client_id', detail: error.message })
  })
  const browser = binding.of(request, reply)
  const parked = client && (await requests.read(requestUri, client.id, browser))
  if (client && parked && !parked.pushed) {
    const { parameters, createdAt: askedAt } = parked
    const requested = stillAllowed(client, parameters)
    if (requested && isFormOf(keyring, { client, requested, session, requestUri }, proof))
      return { asked: { client, requested, parameters, parked, askedAt, browser }, session }
  }
  const target = client && `app:${client.id}`
  await noteRefusal(request, { action: 'app.refused', code: 'invalid-consent', target }, request.principal)
  throw new RequestOver('The page was for another sign-in, was used or has expired.', client)
}

/** The request; `undefined` when the client may not make it any more since the page was shown. */
function stillAllowed(client: Client, parameters: Parameters): AuthorizationRequest | undefined {
  try {
    return parseRequest(client, returnAddress(client, parameters), parameters)
  } catch (error) {
    if (error instanceof AuthorizationError || error instanceof Problem) return undefined
    throw error
  }
}
