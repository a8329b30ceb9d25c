import { isObject } from '../../json/exact.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin, type AuditOrigin } from '../../accounts/audit/audit.ts'
import { actsOnGet } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { clientIp } from '../../http/limits/client-address.ts'
import { escapeHtml, narrowPage } from '../../http/pages/html.ts'
import { fill } from '../../http/pages/language/languages.ts'
import { pageView, referenceOf, sendPage } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import type { AppLink } from '../../http/pages/error-page.ts'
import { queryOf, rawQuery, readOAuthParameters, withForms } from '../../http/requests/parameters.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { failurePath, providerFailure, recordFailure, type FailureCode, SignInFailure } from './failures.ts'
import { appRedirect, type Browser, type SignedIn } from '../sign-in.ts'
import { findProvider, limitPerIp, ProviderParams } from './start-route.ts'
import type { BoundBrowser } from '../../http/responses/host-cookie.ts'
import type { Row } from '../../storage/tables.ts'
import { appOf, offerId } from './flows.ts'
import type { LoginServices } from '../services.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'
import { ProviderReturnedError, quoteProvider } from '../provider-client/provider-errors.ts'
import { type VerifiedIdentity } from '../provider-client/profile.ts'

/** Seconds that a browser remembers its provider. */
const remembered = 365 * 86_400

/** Reads the state as finishSignIn does: the common query parser ignores parameters beyond its bound. */
const stateOf = ({ url }: FastifyRequest): string | undefined =>
  readOAuthParameters(rawQuery(url), ['state']).values.state

/** Callbacks with one state in a minute. A sign-in comes back once; many callbacks with one state are guesses of the browser's cookie. */
const perState = { max: 30, value: stateOf }

/** GET /auth/{provider}/callback: finishes a sign-in. */
export function callbackRoute(routes: App, parts: LoginServices): void {
  routes.get(
    '/auth/:provider/callback',
    {
      ...actsOnGet,
      ...route(
        'public',
        ['sign-in'],
        'The redirect URI at the provider: redirects to /dashboard, or to /login after a failure',
        {
          params: ProviderParams,
          querystring: Type.Object({
            code: Type.Optional(Type.String()),
            state: Type.Optional(Type.String()),
            iss: Type.Optional(Type.String()),
            error: Type.Optional(Type.String()),
          }),
          response: { 200: Type.String({ description: 'The app has its code already' }), 303: Type.Null() },
        },
        { rateLimit: { ...limitPerIp, per: perState }, sends: { sometimes: ['Set-Cookie', ...ofPages] } },
      ),
    },
    async (request, reply) => {
      const { sessionCookie, binding, database, flows } = parts
      const providerClient = findProvider(parts.providers, request.params.provider)
      const { name } = providerClient.provider
      const query = rawQuery(request.url)
      const bound = binding.of(request, reply)
      const browser = { origin: originOf(request), sessionToken: sessionCookie.read(request) }
      const outcome = await finishSignIn(parts, { providerClient, query, bound, browser })
      if ('failure' in outcome) {
        const { failure, flow, isFirst, redirect } = outcome
        const { user_id: userId, return_to: returnTo, invitation } = flow ?? {}
        const failed = { provider: name, failure, linkingUserId: userId ?? undefined, returnTo, invitation }
        await recordFailure(parts, request, failed)
        const hasStorage = !(failure.cause instanceof StorageUnavailable)
        // With an offer, the person may choose again.
        const offer = flow && isFirst && hasStorage ? await flows.offerOf(flow, bound) : undefined
        const page = failurePath(parts, request, { ...failed, offer: offer && offerId(offer) })
        const location = offer ? page : (redirect ?? page)
        // An unavailable database cannot store the outcome. The failure is logged.
        if (flow && isFirst && hasStorage)
          await database.transaction((tx) => flows.settle(tx, flow, { kind: 'failed', location }))
        return reply.redirect(location, 303)
      }
      const { signedIn, isNewSignIn } = outcome
      const ended = signedIn.kind === 'offer' ? 'account-exists' : 'ok'
      if (isNewSignIn) parts.signInsEnded.inc({ provider: name, outcome: ended })
      if (signedIn.kind === 'finished') return sendFinished(reply, signedIn.app)
      rememberSignIn(parts, reply, name, signedIn)
      return reply.redirect(signedIn.redirect, 303)
    },
  )
}

/** The origin of a sign-in's last request. */
export function originOf(request: FastifyRequest): Browser['origin'] {
  return { ...auditOrigin(request), address: clientIp(request) }
}

/** Sets the cookies of a new session. */
export function rememberSignIn(
  { sessionCookie, lastProvider }: LoginServices,
  reply: FastifyReply,
  provider: string,
  signedIn: SignedIn,
): void {
  if (signedIn.kind !== 'session' || signedIn.token === undefined) return
  sessionCookie.set(reply, signedIn.token, signedIn.maxAge)
  lastProvider.set(reply, provider, remembered)
}

/** The app has exchanged its code, so there is nothing left to send there. */
export function sendFinished(reply: FastifyReply, app: AppLink | undefined): FastifyReply {
  const view = pageView(reply)
  const { common, signIn } = view.words
  const back = app && fill(common.backTo, { name: escapeHtml(app.name) })
  const link = app && `<p><a class="button wide primary" href="${escapeHtml(app.href)}">${back}</a></p>`
  return sendPage(reply, narrowPage(view, signIn.doneTitle, `<p>${signIn.done}</p>\n${link ?? ''}`))
}

interface Callback {
  providerClient: ProviderClient
  /** The request's query string, without the question mark. */
  query: string
  bound: BoundBrowser
  browser: Browser
}

type CallbackOutcome =
  /** Neither a repetition nor a link is a new sign-in. */
  | { signedIn: SignedIn; isNewSignIn: boolean }
  | {
      failure: SignInFailure
      /** The flow, also one that is over; `undefined` when it is unknown. */
      flow: Row<'flows'> | undefined
      /** Whether this callback used the flow, so that its outcome is to be stored. */
      isFirst: boolean
      /** The app's redirect URI with the error; `undefined` for a browser's sign-in. */
      redirect: string | undefined
    }

/** The parameters that are read of the authorization response. Only the form of `form_post` sends `name`. */
const parameterNames = ['state', 'code', 'iss', 'error', 'name'] as const
/** What a provider says about its error, for the log. The last two are Facebook's. */
const explanationNames = ['error_description', 'error_uri', 'error_code', 'error_message'] as const

type ParameterName = (typeof parameterNames)[number] | (typeof explanationNames)[number]
type CallbackParameters = ReturnType<typeof readOAuthParameters<ParameterName>>

/**
 * Finishes a sign-in. The state is used before the response is read, so that each state gets one attempt. The same callback again,
 * within some seconds, gets the outcome of the first: browsers repeat it after a double click, or by their "Back" button. It does not
 * throw: every failure is an outcome that the browser or the app receives.
 */
async function finishSignIn(parts: LoginServices, callback: Callback): Promise<CallbackOutcome> {
  const { flows, signIn, baseUrl } = parts
  const { providerClient, bound, browser } = callback
  let flow: Row<'flows'> | undefined
  let isFirst = false
  try {
    const response = readOAuthParameters(callback.query, [...parameterNames, ...explanationNames])
    // A repeated state is ambiguous: none of its values is used.
    const state = response.repeated.includes('state') ? undefined : response.values.state
    const said = isError(response) ? `; the request says ${quoteProvider(response.values)}` : ''
    if (state === undefined) throw expired(`there is no state, or more than one${said}`)
    if (bound.hashes.length === 0)
      throw expired(`the cookie of a browser that started a sign-in is missing${said}`)
    const found = await flows.consume(providerClient.provider.name, bound, state)
    if (found.state === 'unknown')
      throw expired(`the state is unknown, or belongs to another browser or provider${said}`)
    const token = flows.tokenOf(found.row, bound, state)
    if (found.state === 'again') {
      const outcome = await flows.outcomeOf(found.row)
      const signedIn = outcome && (await signIn.repeat(found.row, outcome, { token, browser }))
      if (signedIn) return { signedIn, isNewSignIn: false }
    }
    flow = found.row
    if (found.state !== 'first') throw expired(`the state was used before, or has expired${said}`)
    isFirst = true
    const { verifier } = found
    if (verifier === null) throw expired('its master key was removed after the start')
    const offer = await flows.offerOf(flow, bound)
    if (flow.offer_hash && !offer) throw expired('the identity to link was used, or has expired')
    const verified = await identify(providerClient, { row: flow, verifier }, state, response).catch(
      (error: unknown) => {
        throw providerFailure(error)
      },
    )
    const signedIn = await signIn.complete(flow, verified, { browser, token, offer })
    return { signedIn, isNewSignIn: flow.user_id === null }
  } catch (error) {
    // Any other error is a fault of the service.
    const failure = error instanceof SignInFailure ? error : new SignInFailure('unavailable', error)
    // An app whose flow was used before has got its answer.
    const app = flow && (flow.used_at === null || isFirst) ? appOf(flow) : undefined
    const redirect = app && appRedirect(app, baseUrl(), appError(failure, browser.origin))
    return { failure, flow, isFirst, redirect }
  }
}

/** Checks the response, and sends its code to the token endpoint after all other checks. */
async function identify(
  providerClient: ProviderClient,
  { row, verifier }: { row: Row<'flows'>; verifier: string | undefined },
  state: string,
  response: CallbackParameters,
): Promise<VerifiedIdentity> {
  const { code, iss: issuer, name: givenName } = response.values
  const isFailure = isError(response)
  if (parameterNames.some((name) => response.repeated.includes(name)))
    throw new Error('a parameter came more than once')
  await providerClient.checkIssuer({ issuer, isError: isFailure })
  if (isFailure) throw new ProviderReturnedError(response.values)
  if (!code) throw new Error('there is no code')
  // The redirect URI must be the one of the authorization request, so it comes from the row and not from this request.
  const url = new URL(row.callback_url)
  url.search = new URLSearchParams({ code, state }).toString()
  return providerClient.identity({
    url,
    state,
    verifier,
    nonce: row.nonce ?? undefined,
    reauthenticationAskedAt: row.reauthentication_asked_at ?? undefined,
    givenName,
  })
}

function isError({
  values: { code, error, error_code: number, error_message: text },
}: CallbackParameters): boolean {
  return error !== undefined || (code === undefined && (number ?? text) !== undefined)
}

function expired(reason: string): SignInFailure {
  return new SignInFailure('sign-in-expired', new Error(reason))
}

/** The error codes for apps (RFC 6749, section 4.1.2.1); `server_error` for all others. */
const appErrors: Partial<Record<FailureCode, string>> = {
  'access-denied': 'access_denied',
  'account-blocked': 'access_denied',
  'account-not-admitted': 'access_denied',
  'invitation-invalid': 'access_denied',
  'invitation-mismatch': 'access_denied',
  'issuer-changed': 'access_denied',
  'not-invited': 'access_denied',
  refused: 'access_denied',
  'provider-unavailable': 'temporarily_unavailable',
  'sign-in-expired': 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
}

/** The error for the app. Messages of the provider and of hooks are for the person, so the app gets only the reference ID. */
export function appError({ code }: SignInFailure, { supportId }: AuditOrigin) {
  return {
    error: appErrors[code] ?? 'server_error',
    error_description: `The sign-in failed. Reference ID: ${referenceOf(supportId ?? 'none')}`,
  }
}

/** Characters. Codes and states are far shorter. */
const maxCharacters = 4096
/** Characters of a provider's explanation, which is for the log: the address of the redirect must not become too long. */
const longestExplanation = 500
const longestName = 200

const Field = (description: string) => Type.Optional(Type.String({ maxLength: maxCharacters, description }))

/**
 * POST /auth/{provider}/callback, for providers that answer with a form (OAuth 2.0 Form Post Response Mode): Apple, and others with
 * `response_mode=form_post` in their parameters. The POST comes from another site, so the browser does not send the flow cookie
 * (SameSite=Lax). This route checks only the form of the parameters and redirects to the same path as a GET, which carries the cookie.
 */
export async function formPostRoute(app: App, providers: ReadonlyMap<string, ProviderClient>): Promise<void> {
  await withForms(app, (routes) => {
    routes.post(
      '/auth/:provider/callback',
      route(
        'public',
        ['sign-in'],
        'The response from a provider that posts a form: redirects to the same path with GET',
        {
          params: ProviderParams,
          body: Type.Object({
            state: Type.String({
              pattern: '^[A-Za-z0-9_-]{43}$',
              description: 'The state of the authorization request',
            }),
            code: Field('The authorization code'),
            error: Field('The error code, instead of a code'),
            iss: Field('RFC 9207'),
            error_description: Field('For the log'),
            error_uri: Field('For the log'),
            user: Field('JSON with the name, from Apple at the first sign-in'),
          }),
          response: { 303: Type.Null() },
        },
        { rateLimit: limitPerIp },
      ),
      async ({ params: { provider }, body }, reply) => {
        findProvider(providers, provider)
        const { state, code, error, iss, user } = body
        const [error_description, error_uri] = [body.error_description, body.error_uri].map((text) =>
          text?.slice(0, longestExplanation),
        )
        const answer = { state, code, error, iss, error_description, error_uri, name: nameIn(user) }
        const given = Object.entries(answer).filter(
          (field): field is [string, string] => field[1] !== undefined,
        )
        const path = `${app.basePath}/auth/${encodeURIComponent(provider)}/callback`
        return reply.redirect(`${path}?${queryOf(given)}`, 303)
      },
    )
  })
}

/** https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple */
function nameIn(user: string | undefined): string | undefined {
  if (user === undefined) return undefined
  let document: unknown
  try {
    document = JSON.parse(user)
  } catch {
    // The name is optional: the sign-in continues without it.
    return undefined
  }
  const name = isObject(document) && isObject(document['name']) ? document['name'] : {}
  const parts = [name['firstName'], name['lastName']].filter(
    (part) => typeof part === 'string' && part !== '',
  )
  return parts.join(' ').trim().slice(0, longestName).toWellFormed() || undefined
}
