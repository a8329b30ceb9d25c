import type { OAuth2Services } from '../services.ts'
import { acceptRawForms, oauthParameters, rawQuery, withQuery } from '../../http/requests/parameters.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { BoundBrowser } from '../../accounts/sessions/browser-binding.ts'
import { Problem } from '../../errors.ts'
import { actsOnGet } from '../../http/access/access.ts'
import type { App } from '../../http/app.ts'
import { pageView, rememberLocales, type PageView } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import type { Client } from '../clients/client.ts'
import { ClientDocumentFault } from '../clients/client-documents.ts'
import { answerWithPage, AuthorizationError, RequestOver } from '../oauth-error.ts'
import { parseRequest, returnAddress, type ReturnAddress } from './request-parameters.ts'
import { isOwnRequestUri, type Parameters, type StoredRequest } from './authorization-requests.ts'
import { code, escapeHtml, narrowPage, strong } from '../../http/pages/html.ts'
import { fill } from '../../http/pages/language/languages.ts'
import { hiddenFields, hostOf } from '../consent/consent-page.ts'

/** Errors that tell a client that it must show a page: nothing was refused. */
const expected = new Set(['login_required', 'consent_required', 'account_selection_required'])

/** GET and POST /oauth2/authorize (RFC 6749, section 3.1): gives an app a code for the person in this browser. */
export async function authorizeRoutes(app: App, parts: OAuth2Services): Promise<void> {
  await app.register(async (routes: App) => {
    acceptRawForms(routes)
    const options = {
      config: {
        access: 'public',
        rateLimit: { max: 300 },
        sends: { sometimes: ['Set-Cookie', ...ofPages] },
        // To none: a page that may only read with the session cookie could turn the code of an app into tokens.
        ownOrigins: true,
      },
      schema: {
        tags: ['sign-in'],
        summary: 'The authorization endpoint for apps (RFC 6749, OpenID Connect)',
        produces: ['text/html'],
        response: {
          200: Type.String({ description: 'The page of consent, or one that leads to the app' }),
          303: Type.Null(),
        },
      },
      errorHandler: answerWithPage,
    } as const
    routes.get('/oauth2/authorize', { ...actsOnGet, ...options }, async (request, reply) => {
      const browser = parts.binding.of(request, reply)
      const { client, parameters, stored } = await loadRequest(parts, request, reply, {
        text: rawQuery(request.url),
        browser,
      })
      const address = await addressOf(parts, request, client, parameters)
      const authorization = await decide(parts, request, reply, {
        client,
        parameters,
        stored,
        browser,
        address,
      })
      if ('page' in authorization) return reply.type('text/html; charset=utf-8').send(authorization.page)
      if ('redirect' in authorization) return reply.redirect(authorization.redirect, 303)
      return respond(parts, request, reply, { client, address, answer: authorization.answer })
    })
    // A form of another site comes without cookies (SameSite=Lax). A redirect to GET brings them, and binds the request.
    routes.post<{ Body: string }>('/oauth2/authorize', options, async (request, reply) => {
      const { client, parameters } = await loadRequest(parts, request, reply, {
        text: request.body ?? '',
        browser: parts.binding.of(request, reply),
      })
      const address = await addressOf(parts, request, client, parameters)
      const fault = await faultOf(parts, request, { client, address, parameters })
      if (fault) return respond(parts, request, reply, { client, address, answer: fault })
      const requestUri = await parts.requests.store('parked', client, parameters)
      return reply.redirect(authorizePath(routes.basePath, client.id, requestUri), 303)
    })
  })
}

interface LoadedRequest {
  client: Client
  parameters: Parameters
  /** If the request came by reference. */
  stored: StoredRequest | undefined
}

/**
 * The client and the parameters of a request. Those of a stored request replace all others (RFC 9126, section 4).
 * @throws Problem `invalid-parameter`: nothing is sent to a redirect URI that is not known to be of the client
 */
async function loadRequest(
  parts: OAuth2Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { text, browser }: { text: string; browser: BoundBrowser },
): Promise<LoadedRequest> {
  const parameters = oauthParameters(text)
  const [clientId = '', ...otherIds] = parameters.filter(([name]) => name === 'client_id').map(([, id]) => id)
  try {
    if (otherIds.length === 0) await parts.clients.load(request, reply, clientId)
  } catch (error) {
    if (error instanceof ClientDocumentFault)
      throw await refuse(parts, request, undefined, 'client_id', error.message)
    throw error
  }
  const client = otherIds.length === 0 ? await parts.clients.find(clientId) : undefined
  if (!client)
    throw await refuse(parts, request, undefined, 'client_id', 'No app with this ID is registered.')
  const requestUri = parameters.find(([name]) => name === 'request_uri')?.[1]
  // The redirect URI gets the error for any other `request_uri` (see parseRequest).
  if (!requestUri || !isOwnRequestUri(requestUri)) return { client, parameters, stored: undefined }
  const stored = await parts.requests.read(requestUri, client.id, browser)
  if (!stored) {
    const detail = 'The request took too long, was finished already, or was started in another browser.'
    await refuse(parts, request, client, 'request_uri', detail)
    throw new RequestOver(detail, client)
  }
  return { client, parameters: stored.parameters, stored }
}

async function addressOf(
  parts: OAuth2Services,
  request: FastifyRequest,
  client: Client,
  parameters: Parameters,
): Promise<ReturnAddress> {
  try {
    return returnAddress(client, parameters)
  } catch (error) {
    if (error instanceof Problem)
      throw await refuse(parts, request, client, error.extras.parameter!, error.extras.detail!)
    throw error
  }
}

async function decide(
  parts: OAuth2Services,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    client,
    parameters,
    stored,
    browser,
    address,
  }: LoadedRequest & { browser: BoundBrowser; address: ReturnAddress },
): Promise<Authorization> {
  try {
    const wanted = parseRequest(client, address, parameters)
    rememberLocales(reply, wanted.locales)
    return await parts.decision.decide(reply, { client, wanted, parameters, stored, browser })
  } catch (error) {
    return { answer: await errorAnswer(parts, request, client, error) }
  }
}

/** The fault of a request, before any of it is stored. */
async function faultOf(
  parts: OAuth2Services,
  request: FastifyRequest,
  { client, address, parameters }: Omit<LoadedRequest, 'stored'> & { address: ReturnAddress },
): Promise<Answer | undefined> {
  try {
    parseRequest(client, address, parameters)
    return undefined
  } catch (error) {
    return errorAnswer(parts, request, client, error)
  }
}

/** The answer for the app, if the error is for it. Refusals are audited. */
async function errorAnswer(
  { noteRefusal }: OAuth2Services,
  request: FastifyRequest,
  client: Client,
  error: unknown,
): Promise<Answer> {
  if (!(error instanceof AuthorizationError)) throw error
  const { error: code, message } = error
  if (!expected.has(code))
    await noteRefusal(request, { action: 'app.refused', code, target: `app:${client.id}` })
  return { error: code, error_description: message }
}

/** Sends the answer to the redirect URI, an error only if that is trusted: for a code, the person has allowed the app. */
async function respond(
  { consents, decision, baseUrl }: OAuth2Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { client, address, answer }: { client: Client; address: ReturnAddress; answer: Answer },
): Promise<FastifyReply> {
  const { redirectUri, responseMode } = address
  const parameters = answerParameters(address, answer, baseUrl())
  const isTrusted =
    answer.code !== undefined || (await consents.trusts(client, (await decision.sessionOf(request))?.userId))
  if (isTrusted && responseMode === 'query') return reply.redirect(withQuery(redirectUri, parameters), 303)
  const view = pageView(reply)
  return reply
    .header('content-security-policy', formPostPolicy)
    .type('text/html; charset=utf-8')
    .send(
      isTrusted
        ? formPostPage(view, redirectUri, parameters)
        : askToContinuePage(view, client.name, address, parameters),
    )
}

/** Audits a request that gets no answer at its redirect URI. */
async function refuse(
  { noteRefusal }: OAuth2Services,
  request: FastifyRequest,
  client: Client | undefined,
  parameter: string,
  detail: string,
): Promise<Problem> {
  const target = client && `app:${client.id}`
  await noteRefusal(request, {
    action: 'app.refused',
    code: `invalid-${parameter.replaceAll('_', '-')}`,
    target,
  })
  return new Problem('invalid-parameter', { parameter, detail })
}

/** The parameters of an answer at the redirect URI. */
export type Answer = Readonly<Partial<Record<'code' | 'error' | 'error_description', string>>>

/** Where a stored request goes on. */
export function authorizePath(basePath: string, clientId: string, requestUri: string): string {
  const query = new URLSearchParams({ client_id: clientId, request_uri: requestUri })
  return `${basePath}/oauth2/authorize?${query.toString()}`
}

/** What the answer to an authorization request is. */
export type Authorization = { answer: Answer } | { redirect: string } | { page: string }

/** The answer with the app's state and this service as the issuer (RFC 6749, section 4.1.2; RFC 9207). */
export function answerParameters(
  { state }: ReturnAddress,
  answer: Answer,
  issuer: string,
): [string, string][] {
  return [
    ...Object.entries(answer),
    ...(state === null ? [] : [['state', state] as const]),
    ['iss', issuer],
  ].map(([name, value]) => [name, value])
}

/**
 * The page that posts the answer to the redirect URI (OAuth 2.0 Form Post Response Mode). Its script submits the form; without
 * scripts there is a button.
 */
export function formPostPage(
  view: PageView,
  redirectUri: string,
  parameters: readonly [string, string][],
): string {
  const { common } = view.words
  return narrowPage(
    view,
    common.oneMoment,
    `${answerForm(redirectUri, parameters, `<button class="wide primary">${common.continue}</button>`)}
<script src="${view.site.basePath}/assets/form-post.js"></script>`,
  )
}

/** The page for an error that the app gets only if the person wants to go there; see Consents.trusts. */
export function askToContinuePage(
  view: PageView,
  appName: string,
  { redirectUri, responseMode }: ReturnAddress,
  parameters: readonly [string, string][],
): string {
  const host = hostOf(redirectUri)
  const { common, apps } = view.words
  const label = fill(common.continueTo, { name: escapeHtml(host) })
  const onward =
    responseMode === 'query'
      ? `<a class="button wide" href="${escapeHtml(withQuery(redirectUri, parameters))}">${label}</a>`
      : answerForm(redirectUri, parameters, `<button class="wide">${label}</button>`)
  return narrowPage(
    view,
    apps.uncheckedTitle,
    `<p>${fill(apps.unchecked, { app: strong(appName) })}</p>
<p>${fill(apps.uncheckedAdvice, { host: code(host) })}</p>
<p>${onward}</p>`,
  )
}

function answerForm(redirectUri: string, parameters: readonly [string, string][], button: string): string {
  const fields = hiddenFields(Object.fromEntries(parameters))
  return `<form method="post" action="${escapeHtml(redirectUri)}">${fields}${button}</form>`
}

/** The policy of these pages: the form goes to the app, which may redirect further. */
export const formPostPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
