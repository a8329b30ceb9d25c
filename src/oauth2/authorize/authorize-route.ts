import type { OAuth2Services } from '../services.ts'
import { acceptRawForms, oauthParameters, rawQuery, withQuery } from '../../http/requests/parameters.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { actsOnGet } from '../../http/access/access.ts'
import type { App } from '../../http/app.ts'
import {
  pageView,
  rememberLocales,
  sendPage,
  sendRefresh,
  type PageView,
} from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import type { Client } from '../clients/client.ts'
import { ClientDocumentFault } from '../clients/client-documents.ts'
import { answerWithPage, AuthorizationError, RequestOver } from '../oauth-error.ts'
import { parseRequest, returnAddress, type ReturnAddress } from './request-parameters.ts'
import { isOwnRequestUri } from './authorization-requests.ts'
import type { ValidRequest } from './decision.ts'
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
    routes.get('/oauth2/authorize', { ...actsOnGet, ...options }, async (request, reply) =>
      handle(parts, reply, rawQuery(request.url), async (loaded) => {
        const { client, address, parameters } = loaded
        const requested = parseRequest(client, address, parameters)
        rememberLocales(reply, requested.locales)
        return parts.decision.decide(reply, { ...loaded, requested })
      }),
    )
    // A form of another site comes without cookies (SameSite=Lax). A redirect to GET brings them, and binds the request.
    routes.post<{ Body: string }>('/oauth2/authorize', options, async (request, reply) =>
      handle(parts, reply, request.body ?? '', async ({ client, address, parameters }) => {
        parseRequest(client, address, parameters)
        const requestUri = await parts.requests.store('parked', client, parameters)
        return { redirect: authorizePath(routes.basePath, client.id, requestUri) }
      }),
    )
  })
}

/** A request whose parameters beside the client and the return address are not validated yet. */
type LoadedRequest = Omit<ValidRequest, 'requested'> & { address: ReturnAddress }

/** Answers a request as `decide` says. Errors for the app are audited, unless they only say that a page is needed. */
async function handle(
  parts: OAuth2Services,
  reply: FastifyReply,
  text: string,
  decide: (loaded: LoadedRequest) => Promise<Authorization>,
): Promise<FastifyReply> {
  const loaded = await loadRequest(parts, reply, text)
  const { client, address } = loaded
  const authorization = await decide(loaded).catch(async (error: unknown): Promise<Authorization> => {
    if (!(error instanceof AuthorizationError)) throw error
    const { error: code, message } = error
    if (!expected.has(code))
      await parts.noteRefusal(reply.request, { action: 'app.refused', code, target: `app:${client.id}` })
    return { answer: { error: code, error_description: message } }
  })
  if ('page' in authorization) return sendPage(reply, authorization.page)
  if ('redirect' in authorization) return reply.redirect(authorization.redirect, 303)
  return respond(parts, reply, { client, address, answer: authorization.answer })
}

/**
 * The client and the parameters of a request. Those of a stored request replace all others (RFC 9126, section 4).
 * @throws Problem `invalid-parameter`: nothing is sent to a redirect URI that is not known to be of the client
 */
async function loadRequest(parts: OAuth2Services, reply: FastifyReply, text: string): Promise<LoadedRequest> {
  const { request } = reply
  const browser = parts.binding.of(request, reply)
  const parameters = oauthParameters(text)
  const ids = parameters.filter(([name]) => name === 'client_id').map(([, id]) => id)
  const clientId = ids.length === 1 ? ids[0]! : ''
  const client = await parts.clients.load(request, reply, clientId).catch(async (error: unknown) => {
    if (!(error instanceof ClientDocumentFault)) throw error
    throw await refuse(parts, request, undefined, 'client_id', error.message)
  })
  if (!client)
    throw await refuse(parts, request, undefined, 'client_id', 'No app with this ID is registered.')
  const requestUri = parameters.find(([name]) => name === 'request_uri')?.[1]
  // The redirect URI gets the error for any other `request_uri` (see parseRequest).
  const isStored = requestUri !== undefined && isOwnRequestUri(requestUri)
  const stored = isStored ? await parts.requests.read(requestUri, client.id, browser) : undefined
  if (isStored && !stored) {
    const detail = 'The request took too long, was finished already, or was started in another browser.'
    await refuse(parts, request, client, 'request_uri', detail)
    throw new RequestOver(detail, client)
  }
  const parked = stored?.pushed === true ? undefined : stored
  const loaded = { client, parameters: stored?.parameters ?? parameters, parked, browser }
  try {
    return { ...loaded, askedAt: stored?.createdAt, address: returnAddress(client, loaded.parameters) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw await refuse(parts, request, client, error.extras.parameter!, error.extras.detail!)
  }
}

/**
 * Sends the answer to the redirect URI, an error only if that is trusted: for a code, the person has allowed the app.
 * @param isAfterForm whether the form of a page led here
 */
export async function respond(
  { consents, sessions, sessionCookie, baseUrl }: OAuth2Services,
  reply: FastifyReply,
  { client, address, answer }: { client: Client; address: ReturnAddress; answer: Answer },
  isAfterForm = false,
): Promise<FastifyReply> {
  const { redirectUri, responseMode } = address
  const parameters = answerParameters(address, answer, baseUrl())
  const isTrusted =
    answer.code !== undefined ||
    (await consents.trusts(client, (await sessions.find(sessionCookie.read(reply.request)))?.userId))
  if (isTrusted && responseMode === 'query') {
    const url = withQuery(redirectUri, parameters)
    return isAfterForm ? sendRefresh(reply, client.name, url) : reply.redirect(url, 303)
  }
  const view = pageView(reply)
  const page = isTrusted
    ? formPostPage(view, redirectUri, parameters)
    : askToContinuePage(view, client.name, address, parameters)
  return sendPage(reply.header('content-security-policy', formPostPolicy), page)
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
export function answerParameters({ state }: ReturnAddress, answer: Answer, issuer: string) {
  return Object.entries({ ...answer, ...(state !== null && { state }), iss: issuer })
}

/**
 * The page that posts the answer to the redirect URI (OAuth 2.0 Form Post Response Mode). Its script submits the form; without
 * scripts there is a button.
 */
function formPostPage(view: PageView, redirectUri: string, parameters: readonly [string, string][]): string {
  const { common } = view.words
  return narrowPage(
    view,
    common.oneMoment,
    `${answerForm(redirectUri, parameters, `<button class="wide primary">${common.continue}</button>`)}
<script src="${view.site.basePath}/assets/form-post.js"></script>`,
  )
}

/** The page for an error that the app gets only if the person wants to go there; see Consents.trusts. */
function askToContinuePage(
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
const formPostPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
