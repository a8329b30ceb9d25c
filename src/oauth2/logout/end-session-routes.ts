import type { OAuth2Services } from '../services.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import {
  queryOf,
  rawQuery,
  readOAuthParameters,
  withForms,
  withQuery,
} from '../../http/requests/parameters.ts'
import type { Session } from '../../accounts/sessions/session-lookup.ts'
import { actsOnGet, whenSignedOut } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { pageView, type PageView, rememberLocales, sendPage } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import { closedObject, optionalText } from '../../http/schemas/schemas.ts'
import { escapeHtml, narrowPage, strong, supportLine } from '../../http/pages/html.ts'
import { fill, sentences } from '../../http/pages/language/languages.ts'
import { hiddenFields, hostOf, personOf } from '../consent/consent-page.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { Client } from '../clients/client.ts'
import { type IdTokenHint, readHint } from '../token/id-tokens.ts'

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
    async (request, reply) => {
      const next = readOnward(parts, request.query.state ?? '')
      if (next && !next.asks) return goOn(reply, next)
      // Anyone can open this address, and the browser may have signed in again.
      const session = await parts.sessions.find(parts.sessionCookie.read(request))
      return session ? reply.redirect(`${routes.basePath}/login`, 303) : goOn(reply, next)
    },
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

/** The parameters that are read (OpenID Connect RP-Initiated Logout 1.0, section 2). Others are ignored. */
const endSessionParameters = [
  'id_token_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
] as const

/** Characters of `state` at most. */
const longestState = 4096

type EndSessionQuery = Readonly<Partial<Record<(typeof endSessionParameters)[number], string>>>

/** A validated request of an app to sign its user out. */
interface EndSessionRequest {
  /** The app that asks; `undefined` when it is not known. */
  client: Client | undefined
  /** The sign-in that the app wants to end. */
  hint: IdTokenHint | undefined
  /** Where the browser goes afterwards: a registered URI of the app with its state. */
  redirect: string | undefined
}

/** A request to sign out that is not carried out. The message is for the person in front of the browser. */
class RefusedSignOut extends Error {
  /** For the audit log. */
  readonly code: 'invalid-hint' | 'wrong-client' | 'unregistered-redirect-uri' | 'invalid-request'
  readonly clientId: string | undefined

  constructor(code: RefusedSignOut['code'], message: string, clientId?: string) {
    super(message)
    this.code = code
    this.clientId = clientId
  }
}

/**
 * Validates a request. The redirect URI must be registered for the app of the hint or of `client_id`, by exact comparison.
 * @throws RefusedSignOut
 */
async function readEndSessionRequest(
  { clients, signingKeys, baseUrl }: OAuth2Services,
  query: EndSessionQuery,
): Promise<EndSessionRequest> {
  const { id_token_hint: token, client_id: clientId, post_logout_redirect_uri: redirectUri, state } = query
  const hint = token === undefined ? undefined : await readHint({ signingKeys, baseUrl }, token)
  // Keys are deleted after a rotation, hints are not. Such a hint proves nothing: the person is asked, as without one.
  const isOld = token !== undefined && !hint && (await signingKeys.namesUnknownKey(token, baseUrl()))
  if (token !== undefined && !hint && !isOld)
    throw new RefusedSignOut('invalid-hint', 'The app named a sign-in that is not of this service.')
  if (hint && clientId !== undefined && clientId !== hint.clientId)
    throw new RefusedSignOut('wrong-client', 'The app named a sign-in of another app.', hint.clientId)
  const id = hint?.clientId ?? clientId
  const client = id === undefined ? undefined : await clients.find(id)
  if (id !== undefined && !client) throw new RefusedSignOut('wrong-client', 'The app is not registered here.')
  if (redirectUri === undefined || (isOld && !client)) return { client, hint, redirect: undefined }
  if (!client?.postLogoutRedirectUris.includes(redirectUri))
    throw new RefusedSignOut(
      'unregistered-redirect-uri',
      'The app named an address that is not registered for it.',
      client?.id,
    )
  if (state !== undefined && (state.length > longestState || !isStorableText(state)))
    throw new RefusedSignOut('invalid-request', 'The state of the app is too long.', client.id)
  return { client, hint, redirect: withQuery(redirectUri, state === undefined ? [] : [['state', state]]) }
}

const purpose = 'end-session'
/** Milliseconds that the sign-out at the identity provider may take. */
const lifetime = 10 * 60_000

/** Where the browser goes after a sign-out. */
interface Next {
  url: string
  /** Whether it goes there only by a click of the person; see Consents.trusts. */
  asks: boolean
}

type OnwardParts = Pick<OAuth2Services, 'keyring' | 'clock'>

/**
 * Carries the address of the app through the sign-out at the identity provider, as its `state`. It is signed, so that the
 * browser is sent to addresses only that this service has checked.
 * @param next the checked address, if there is one
 */
export function onwardState({ keyring, clock }: OnwardParts, next: Next | undefined): string {
  const content = JSON.stringify([clock.now() + lifetime, next?.url ?? null, next?.asks ?? false])
  return `${Buffer.from(content).toString('base64url')}.${keyring.proof(content, purpose)}`
}

/** The address in a state; `undefined` if the state has none, has expired or was not made by this service. */
export function readOnward({ keyring, clock }: OnwardParts, state: string): Next | undefined {
  const [encoded = '', proof = ''] = state.split('.')
  const content = Buffer.from(encoded, 'base64url')
  if (!keyring.verify(content, proof, purpose)) return undefined
  const [until, url, asks] = JSON.parse(content.toString()) as [number, string | null, boolean]
  return until > clock.now() && url !== null ? { url, asks } : undefined
}

/** Where a browser ends its session at a provider; `undefined` when the sign-out ends here. */
export type EndSessionUrl = (
  provider: string,
  request: { postLogoutRedirectUri: string; state: string },
) => Promise<URL | undefined>

/** The path at which browsers come back from the sign-out at their identity provider. */
const returnPath = '/oauth2/end-session/return'

/** Whether the app showed that it got a sign-in of this session. Then it may end the session without a question. */
async function mayEnd(
  { database, tokenFamilies }: OAuth2Services,
  session: Session,
  { hint }: EndSessionRequest,
): Promise<boolean> {
  if (!hint || hint.userId !== session.userId) return false
  return (await tokenFamilies.sessionOf(database.reader, hint.familyId)) === session.id
}

/**
 * Where the browser goes on for an app; `undefined` for our own page.
 * @param userId of the browser's session, also if it has just ended
 */
async function nextOf(
  { consents }: OAuth2Services,
  { client, redirect }: EndSessionRequest,
  userId: string | undefined,
): Promise<Next | undefined> {
  if (!client || redirect === undefined) return undefined
  return { url: redirect, asks: !(await consents.trusts(client, userId)) }
}

/** Ends a session. Returns where the browser goes on; `undefined` for our own page. */
async function endSession(
  parts: OAuth2Services,
  { id, userId, provider, impersonatorId }: Session,
  wanted: EndSessionRequest,
  origin: AuditOrigin,
): Promise<Next | undefined> {
  const { client } = wanted
  const { sessions, audit, endSessionUrl, baseUrl } = parts
  await sessions.revoke(userId, id, (tx) =>
    audit.record(tx, {
      ...origin,
      action: 'user.signed_out',
      userId,
      actor: `user:${impersonatorId ?? userId}`,
      sessionId: id,
      target: `session:${id}`,
      ...(client && { detail: { app: client.id } }),
    }),
  )
  const postLogoutRedirectUri = `${baseUrl().replace(/(?<!\/)\/+$/, '')}${returnPath}`
  const next = await nextOf(parts, wanted, userId)
  // The admin who acted for the user did not sign in at the user's provider.
  if (impersonatorId !== null) return next
  // Anyone can come back with the state, so it is for a person without a session.
  const state = onwardState(parts, await nextOf(parts, wanted, undefined))
  const atProvider = await endSessionUrl(provider, { postLogoutRedirectUri, state })
  return atProvider ? { url: atProvider.href, asks: false } : next
}
