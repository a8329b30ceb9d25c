import { isFormOf } from './consent-page.ts'
import type { OAuth2Services } from '../services.ts'
import { withForms, withQuery } from '../../http/requests/parameters.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { Problem } from '../../errors.ts'
import type { App } from '../../http/app.ts'
import { refreshPage } from '../../http/pages/html.ts'
import { pageView } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { answerWithPage, AuthorizationError, RequestOver } from '../oauth-error.ts'
import type { Parameters } from '../authorize/authorization-requests.ts'
import type { Wanted } from '../authorize/decision.ts'
import { type AuthorizationRequest, parseRequest, returnAddress } from '../authorize/request-parameters.ts'
import {
  type Answer,
  answerParameters,
  askToContinuePage,
  formPostPage,
  formPostPolicy,
} from '../authorize/authorize-route.ts'
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
        const { body } = request
        const { asked, session } = await load(parts, request, reply)
        const answer: Answer =
          body.decision === 'allow'
            ? { code: await allow(parts, request, session, asked) }
            : await parts.decision.dismiss(request, session, asked)
        const isTrusted =
          answer.code !== undefined || (await parts.consents.trusts(asked.client, session.userId))
        return send(reply, asked, { answer, isTrusted, issuer: parts.baseUrl() })
      },
    )
  })
}

/** The parked request that the form is about. @throws Problem `invalid-parameter` */
async function load(
  parts: OAuth2Services,
  request: FastifyRequest<{ Body: Static<typeof Body> }>,
  reply: FastifyReply,
): Promise<{ asked: Wanted; session: Session }> {
  const { clients, requests, binding, sessions, sessionCookie, keyring, noteRefusal } = parts
  const { body } = request
  const { proof = '' } = body
  const session = await sessions.find(sessionCookie.read(request))
  if (!session) throw new Problem('not-signed-in')
  await clients.load(request, reply, body.client_id).catch((error: unknown) => {
    if (!(error instanceof ClientDocumentFault)) throw error
    throw new Problem('invalid-parameter', { parameter: 'client_id', detail: error.message })
  })
  const client = await clients.find(body.client_id)
  const browser = binding.of(request, reply)
  const stored = client && (await requests.read(body.request_uri, client.id, browser))
  if (client && stored && !stored.pushed) {
    const { parameters } = stored
    const wanted = stillAllowed(client, parameters)
    const about = { sessionId: session.id, clientId: client.id, requestUri: body.request_uri }
    const listed = wanted && { ...about, scope: wanted.scopeToAllow, resource: wanted.resource }
    if (listed && isFormOf(keyring, listed, proof))
      return { asked: { client, wanted, parameters, stored, browser }, session }
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

function allow(
  { decision, consents }: OAuth2Services,
  request: FastifyRequest,
  session: Session,
  asked: Wanted,
): Promise<string> {
  const { client, wanted } = asked
  return decision.issueCode(request, session, asked, (tx) =>
    consents.grant(
      tx,
      { userId: session.userId, clientId: client.id },
      { ...wanted, scope: wanted.scopeToAllow },
    ),
  )
}

/**
 * Browsers apply the form-action policy of the page of consent to redirects after its form, and it does not list the app. A page
 * with a Refresh header starts a new navigation.
 */
function send(
  reply: FastifyReply,
  { client, wanted }: Wanted,
  { answer, isTrusted, issuer }: { answer: Answer; isTrusted: boolean; issuer: string },
): FastifyReply {
  const view = pageView(reply)
  const parameters = answerParameters(wanted, answer, issuer)
  void reply.type('text/html; charset=utf-8')
  if (!isTrusted)
    return reply
      .header('content-security-policy', formPostPolicy)
      .send(askToContinuePage(view, client.name, wanted, parameters))
  if (wanted.responseMode === 'form_post')
    return reply
      .header('content-security-policy', formPostPolicy)
      .send(formPostPage(view, wanted.redirectUri, parameters))
  const url = withQuery(wanted.redirectUri, parameters)
  return reply.header('refresh', `0;url=${url}`).send(refreshPage(view, client.name, url))
}
