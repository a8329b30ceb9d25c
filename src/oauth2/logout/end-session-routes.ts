import type { OAuth2Services } from '../services.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin } from '../../accounts/audit/audit.ts'
import { queryOf, rawQuery, readOAuthParameters, withForms } from '../../http/requests/parameters.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { actsOnGet, whenSignedOut } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { pageView, type PageView, rememberLocales, sendPage } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { closedObject, optionalText } from '../../http/schemas/schemas.ts'
import {
  endSession,
  endSessionParameters,
  type EndSessionQuery,
  type EndSessionRequest,
  mayEnd,
  type Next,
  nextOf,
  readEndSessionRequest,
  readOnward,
  RefusedSignOut,
  returnPath,
} from './end-session-request.ts'
import { escapeHtml, narrowPage, strong, supportLine } from '../../http/pages/html.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import { hiddenFields, hostOf, personOf } from '../consent/consent-page.ts'

const path = '/oauth2/end-session'
const tags = ['sign-in']
/** Calls of one address in a minute. */
const rateLimit = { max: 300, sharedByProcesses: true } as const
const Parameters = Type.Object({
  id_token_hint: optionalText('The id_token of the sign-in that ends'),
  client_id: optionalText('The app, if there is no hint'),
  post_logout_redirect_uri: optionalText('A registered address of the app, for afterwards'),
  state: optionalText('Comes back at that address'),
  logout_hint: optionalText('Ignored: the session of this browser ends'),
  ui_locales: optionalText('The languages for the pages, in order of preference'),
})
/** The form of our own page; see confirmPage. */
const ConfirmForm = closedObject({
  client_id: Type.Optional(Type.String()),
  post_logout_redirect_uri: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
})
const page = Type.String({ description: 'A page' })

/** /oauth2/end-session: apps sign their users out (OpenID Connect RP-Initiated Logout 1.0). */
export async function endSessionRoutes(app: App, parts: OAuth2Services): Promise<void> {
  await withForms(app, (routes) => {
    startRoute(routes, parts)
    formRoute(routes)
    confirmRoute(routes, parts)
    returnRoute(routes, parts)
  })
}

function startRoute(routes: App, parts: OAuth2Services): void {
  routes.get(
    path,
    {
      ...actsOnGet,
      ...route(
        'public',
        tags,
        'Sign out of this browser for an app; asks first, unless the app shows its own id_token',
        {
          produces: ['text/html'],
          querystring: Parameters,
          response: { 200: page, 303: Type.Null(), 400: page },
        },
        { rateLimit, sends: { sometimes: ['Set-Cookie', ...ofPages] } },
      ),
    },
    async (request, reply) => {
      const { values, repeated } = readOAuthParameters(rawQuery(request.url), endSessionParameters)
      const [twice] = repeated
      if (twice !== undefined)
        return refuse(parts, request, reply, new RefusedSignOut('invalid-request', `${twice} came twice.`))
      rememberLocales(reply, values.ui_locales)
      return signOut(parts, reply, values, { isConfirmed: false, goOn })
    },
  )
}

/**
 * The same as a form of an app. It comes from another site, so browsers send no session cookie with it (SameSite=Lax); they
 * do with the GET that follows.
 */
function formRoute(routes: App): void {
  routes.post(
    path,
    route(
      'public',
      tags,
      'The same as a form: redirects to the same path as a GET',
      { body: Parameters, response: { 303: Type.Null() } },
      { rateLimit },
    ),
    async ({ body }, reply) => {
      const given = endSessionParameters.flatMap((name): [string, string][] =>
        body[name] === undefined ? [] : [[name, body[name]]],
      )
      return reply.redirect(`${routes.basePath}${path}?${queryOf(given)}`, 303)
    },
  )
}

/** The form of the confirmation page. */
function confirmRoute(routes: App, parts: OAuth2Services): void {
  /** After a form, browsers apply `form-action` to redirects too, so the page redirects. */
  const refresh = (reply: FastifyReply, next: Next | undefined): FastifyReply => {
    if (next && !next.asks) void reply.header('refresh', `0;url=${next.url}`)
    return sendPage(reply, signedOutPage(pageView(reply), next?.url))
  }
  routes.post(
    `${path}/confirm`,
    {
      ...route(
        'session',
        tags,
        'The form of the sign-out confirmation page',
        { produces: ['text/html'], body: ConfirmForm, response: { 200: page, 400: page } },
        { rateLimit, whileImpersonating: true, sends: { sometimes: ['Set-Cookie', 'Refresh', ...ofPages] } },
      ),
      errorHandler: whenSignedOut(parts.baseUrl, (reply) => refresh(reply, undefined)),
    },
    async ({ body }, reply) => signOut(parts, reply, body, { isConfirmed: true, goOn: refresh }),
  )
}

/** Where browsers come back from the sign-out at their identity provider. */
function returnRoute(routes: App, parts: OAuth2Services): void {
  routes.get(
    returnPath,
    route(
      'public',
      tags,
      'After the sign-out at the identity provider: redirects to the app',
      {
        produces: ['text/html'],
        querystring: Type.Object({ state: optionalText('As it was sent to the provider') }),
        response: { 200: page, 303: Type.Null() },
      },
      { rateLimit, sends: { sometimes: ofPages } },
    ),
    async ({ query: { state = '' } }, reply) => goOn(reply, readOnward(parts, state)),
  )
}

function goOn(reply: FastifyReply, next: Next | undefined): FastifyReply {
  return next && !next.asks
    ? reply.redirect(next.url, 303)
    : sendPage(reply, signedOutPage(pageView(reply), next?.url))
}

/**
 * Ends the session of the browser for an app, or asks first. Without a session, the browser only goes on.
 * @param how.goOn sends it to the app, or to our own page
 */
async function signOut(
  parts: OAuth2Services,
  reply: FastifyReply,
  query: EndSessionQuery,
  how: { isConfirmed: boolean; goOn: typeof goOn },
): Promise<FastifyReply> {
  const { sessions, impersonations, sessionCookie } = parts
  const { request } = reply
  const wanted = await readEndSessionRequest(parts, query).catch((error: unknown) => {
    if (error instanceof RefusedSignOut) return error
    throw error
  })
  if (wanted instanceof RefusedSignOut) return refuse(parts, request, reply, wanted)
  const session = await sessions.find(sessionCookie.read(request))
  if (!session) return how.goOn(reply, await nextOf(parts, wanted, undefined))
  if (!how.isConfirmed && !(await mayEnd(parts, session, wanted)))
    return sendPage(reply, await askFirst(parts, pageView(reply), { session, wanted, query }))
  const next = await endSession(parts, session, wanted, auditOrigin(request))
  if (!(await impersonations.restore(reply))) sessionCookie.clear(reply)
  return how.goOn(reply, next)
}

async function refuse(
  { noteRefusal }: OAuth2Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { code, clientId, message }: RefusedSignOut,
): Promise<FastifyReply> {
  const target = clientId === undefined ? undefined : `app:${clientId}`
  await noteRefusal(request, { action: 'sign_out.refused', code, target }, request.principal)
  return sendPage(reply.code(400), refusedPage(pageView(reply), message))
}

/** The page that asks before a sign-out that an app did not prove to be its own. */
async function askFirst(
  parts: OAuth2Services,
  view: PageView,
  { session, wanted, query }: { session: Session; wanted: EndSessionRequest; query: EndSessionQuery },
): Promise<string> {
  const { client, redirect } = wanted
  const { post_logout_redirect_uri: redirectUri, state } = query
  const fields = {
    ...(client && { client_id: client.id }),
    ...(redirect !== undefined && redirectUri !== undefined && { post_logout_redirect_uri: redirectUri }),
    ...(redirect !== undefined && state !== undefined && { state }),
  }
  const { words, site } = view
  const { signOut, common } = words
  const requestedBy = client ? fill(signOut.requestedBy, { app: strong(client.name) }) : ''
  const who = fill(common.signedInAs, { name: strong(await personOf(parts, session)) })
  return narrowPage(
    view,
    signOut.title,
    `<p>${sentences(view.language, who, signOut.consequence, requestedBy)}</p>
<form method="post" action="${site.basePath}/oauth2/end-session/confirm" class="choice">
${hiddenFields(fields)}
<button class="wide primary">${signOut.confirm}</button>
<a class="button wide" href="${site.basePath}/dashboard">${signOut.stay}</a>
</form>`,
  )
}

/** @param onward where the browser goes on: by a click, or by a Refresh header with the same address */
function signedOutPage(view: PageView, onward?: string): string {
  const { signOut, common } = view.words
  const link =
    onward === undefined
      ? `<a class="button wide" href="${view.site.basePath}/login">${signOut.again}</a>`
      : `<a class="button wide" href="${escapeHtml(onward)}">${fill(common.continueTo, { name: escapeHtml(hostOf(onward)) })}</a>`
  return narrowPage(view, signOut.doneTitle, `<p>${signOut.done}</p>\n<p>${link}</p>`)
}

/** @param reason for developers, in English */
function refusedPage(view: PageView, reason: string): string {
  const { signOut } = view.words
  return narrowPage(
    view,
    signOut.rejectedTitle,
    `<p class="message" role="alert">${signOut.rejected}<br>${supportLine(view)}</p>
<p>${signOut.rejectedAdvice}</p>
<p class="soft detail" lang="en">${escapeHtml(reason)}</p>
<p><a class="button wide" href="${view.site.basePath}/login">${signOut.signInPage}</a></p>`,
  )
}
