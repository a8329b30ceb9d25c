import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Session } from '../accounts/sessions/session-lookup.ts'
import { type App, route } from '../http/app.ts'
import { rawQuery, readOAuthParameters } from '../http/requests/parameters.ts'
import type { LoginServices } from './services.ts'
import type { Offer } from './flow/flows.ts'
import type { ProviderClient } from './provider-client/provider-client.ts'
import { verifiedMessage, type FailureCode, isFailureCode } from './flow/failures.ts'
import { defaultTarget, loginPath, safeReturnTo } from '../http/requests/base-path.ts'
import { openedInvitation } from './flow/start-route.ts'
import { offerPage, offerRoute } from './flow/same-address.ts'
import { pageView, type PageView, rememberLocales, sendPage } from '../http/pages/page-view.ts'
import { ofPages } from '../http/responses/response-headers.ts'
import { optionalText } from '../http/schemas/schemas.ts'
import { escapeHtml, narrowPage, strong, supportLine } from '../http/pages/html.ts'
import { fill, sentences } from '../http/pages/language/languages.ts'
import { hostnameOf, isLoopbackHost } from '../network/egress.ts'

const LoginQuery = Type.Object({
  error: optionalText('The failure code of the last sign-in'),
  id: optionalText('The reference ID of this failure'),
  provider: optionalText('The provider of the failed sign-in'),
  offer: optionalText('The sign-in whose identity can be linked to an earlier user'),
  message: optionalText('The message of a hook that rejected the sign-in'),
  proof: optionalText('The signature of the message'),
  return_to: Type.Optional(Type.String()),
  invitation: optionalText('`true`: shows the invitation whose link this browser opened'),
  reauthenticate: optionalText('As at GET /auth/{provider}, like the next three'),
  select_account: Type.Optional(Type.String()),
  login_hint: Type.Optional(Type.String()),
  acr_values: Type.Optional(Type.String()),
  ui_locales: optionalText('The languages for the pages, in order of preference'),
})

/** GET /login and /invitation/{token}, and GET /auth/providers with the same providers as JSON. */
export async function pageRoutes(app: App, parts: LoginServices): Promise<void> {
  await app.register(async (routes: App) => {
    if (parts.demo) redirectToBaseUrl(routes, parts.baseUrl)
    providersRoute(routes, parts)
    loginPageRoute(routes, parts)
    invitationRoute(routes, parts)
  })
  await offerRoute(app, parts)
}

function providersRoute(routes: App, { providers }: LoginServices): void {
  const data = [...providers.values()].map(({ provider: { name, label } }) => ({ name, label }))
  routes.get(
    '/auth/providers',
    route('public', ['sign-in'], 'The identity providers on /login', {
      response: {
        200: Type.Object({
          data: Type.Array(Type.Object({ name: Type.String(), label: Type.String() })),
        }),
      },
    }),
    async () => ({ data }),
  )
}

function loginPageRoute(routes: App, parts: LoginServices): void {
  const { providers, database, users, lastProvider, keyring, apps, baseUrl, demo } = parts
  routes.get(
    '/login',
    route(
      'public',
      ['pages'],
      'The sign-in page',
      { produces: ['text/html'], querystring: LoginQuery, response: { 200: Type.String() } },
      { sends: { sometimes: ['Set-Cookie', ...ofPages] } },
    ),
    async (request, reply) => {
      const query: Partial<Record<string, string>> = readOAuthParameters(rawQuery(request.url)).values
      const { error, id, provider = '', return_to: wanted } = query
      const returnTo = safeReturnTo(wanted, baseUrl())
      const session = await sessionOf(parts, reply)
      const user = session && (await users.find(database.reader, session.userId))
      const browser = parts.binding.of(request, reply)
      const hash = query.offer && Buffer.from(query.offer, 'base64url')
      const offer = hash ? await parts.flows.findOffer(hash, browser) : undefined
      const wantsInvitation = query['invitation'] === 'true'
      const invitation = wantsInvitation ? await findInvitation(request, parts) : undefined
      const page: LoginPage = {
        invitation,
        providers: [...providers.values()].map(({ provider }) => provider),
        signedInAs: user && (user.name ?? user.email ?? user.id),
        error: error ?? overCode(offer, wantsInvitation ? { invitation } : undefined),
        referenceId: id,
        failedProviderLabel: providers.get(provider)?.provider.label,
        refusal: verifiedMessage(keyring, query),
        appName: await apps.nameFor(returnTo),
        passedOn: { ...passedOn(query), ...(invitation && { invitation: 'true' }) },
        returnTo: returnTo === defaultTarget(baseUrl()) ? undefined : returnTo,
        view: pageView(reply),
        usedLast: lastProvider.read(request),
        demo,
      }
      rememberLocales(reply, query['ui_locales'])
      const { row, verified } = offer ?? {}
      if (!row || !verified) return sendPage(reply, loginPage(page))
      const message = page.error === undefined ? '' : failureMessage(page.error, page)
      return sendPage(reply, await offerPage(parts, page.view, { row, verified }, message))
    },
  )
}

/** The error code of a page whose offer or invitation was used or has expired. */
function overCode(
  offer: Partial<Offer> | undefined,
  opened: Pick<LoginPage, 'invitation'> | undefined,
): FailureCode | undefined {
  if (offer && !offer.verified) return 'sign-in-expired'
  return opened && !opened.invitation ? 'invitation-invalid' : undefined
}

/** Seconds for which a browser stores an invitation's token: long enough to create an account at a provider. */
const invitationLasts = 3_600

/**
 * GET /invitation/{token}: stores the token in a cookie, so neither the page's URL nor the provider gets it. Opening the link does not
 * use the invitation, because mail programs open links, too.
 */
function invitationRoute(routes: App, { invitationCookie, baseUrl }: LoginServices): void {
  routes.get(
    '/invitation/:token',
    route(
      'public',
      ['pages'],
      'The link of an invitation: redirects to the sign-in page, which shows the invitation',
      {
        params: Type.Object({ token: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }) }),
        querystring: Type.Object({ return_to: Type.Optional(Type.String()) }),
        response: { 303: Type.Null() },
      },
      { rateLimit: { max: 60, sharedByProcesses: true }, sends: { always: ['Set-Cookie'] } },
    ),
    async (request, reply) => {
      const returnTo = safeReturnTo(request.query.return_to, baseUrl())
      invitationCookie.set(reply, request.params.token, invitationLasts)
      return reply.redirect(loginPath(routes.basePath, { invitation: 'true', return_to: returnTo }), 303)
    },
  )
}

interface ShownInvitation {
  /** Null: anybody who has the link can use it. */
  email: string | null
  /** The name of the user who created it. */
  by: string | undefined
}

async function findInvitation(
  request: FastifyRequest,
  parts: LoginServices,
): Promise<ShownInvitation | undefined> {
  const { row } = await openedInvitation(parts, request)
  if (!row) return undefined
  const [kind, id = ''] = row.created_by.split(':')
  const inviter = kind === 'user' ? await parts.users.find(parts.database.reader, id) : undefined
  return { email: row.email, by: inviter?.name ?? undefined }
}

/** The browser's session. If an admin's session as a user is over, the admin's own. */
async function sessionOf(
  { sessions, impersonations, sessionCookie }: LoginServices,
  reply: FastifyReply,
): Promise<Session | undefined> {
  const session = await sessions.find(sessionCookie.read(reply.request))
  return session ?? (await impersonations.restore(reply))?.session
}

/** What the sign-in asks the provider for. GET /auth/{provider} checks the values. */
function passedOn(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = ['reauthenticate', 'select_account', 'login_hint', 'acr_values']
  return Object.fromEntries(names.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
}

interface LoginPage {
  /** The invitation that the browser opened, if it can be used. */
  invitation: ShownInvitation | undefined
  providers: readonly ProviderClient['provider'][]
  /** The name of the signed-in user. */
  signedInAs: string | undefined
  error: string | undefined
  /** The reference ID of the failure. */
  referenceId: string | undefined
  /** The label of the provider of the failed sign-in. */
  failedProviderLabel: string | undefined
  /** The message of a hook that refused the sign-in. Not escaped. */
  refusal: string | undefined
  /** The name of the app that the sign-in is for. Not escaped. */
  appName: string | undefined
  /** Parameters for GET /auth/{provider}. */
  passedOn: Readonly<Record<string, string>>
  /** A validated path. */
  returnTo: string | undefined
  view: PageView
  /** The name of the provider that this browser used last. */
  usedLast: string | undefined
  demo: boolean
}

/** After these failures the next sign-in asks the provider to reauthenticate the person. */
const reauthenticating: ReadonlySet<string> = new Set<FailureCode>([
  'reauthentication-needed',
  'reauthentication-unproven',
])

/** GET /login: a button for each provider, and the message of the last failure. It has no script and no inline style. */
function loginPage(page: LoginPage): string {
  const { view, providers, signedInAs, appName, error, demo } = page
  const { signIn } = view.words
  const buttons = providerButtons(page)
  const unset = `<p class="soft">${signIn.noProvider} <span lang="en">Set <code>GOOGLE_CLIENT_ID</code> and <code>GOOGLE_CLIENT_SECRET</code>, or the settings of another provider.</span></p>`
  const app = appName === undefined ? '' : fill(signIn.toContinueTo, { app: strong(appName) })
  return narrowPage(
    view,
    signIn[titles[purposeOf(page)]],
    `${app === '' ? '' : `<p class="soft">${app}</p>`}
${error === undefined ? '' : failureMessage(error, page)}
${invited(page)}
${signedInAs === undefined ? '' : signedIn(signedInAs, page)}
${providers.length > 0 ? `<nav aria-label="${signIn.providers}">${buttons.join('\n')}</nav>` : unset}
${demo ? '<p class="soft" lang="en">Demo mode: sign in as anyone with the development provider.</p>' : ''}`,
  )
}

/** What an invitation is for; the names in it are text of people. */
function invited({ invitation, signedInAs, view: { language, site, words } }: LoginPage): string {
  if (!invitation) return ''
  const { signIn } = words
  const { email, by } = invitation
  const service = strong(site.plainName)
  const whom =
    by === undefined
      ? fill(signIn.invited, { service })
      : fill(signIn.invitedBy, { name: strong(by), service })
  const how =
    signedInAs !== undefined
      ? signIn.invitedSignedIn
      : email === null
        ? undefined
        : fill(signIn.invitedAddress, { email: strong(email) })
  return `<p>${how === undefined ? whom : sentences(language, whom, how)}</p>`
}

/** A button for each provider; the one that this browser used last is the first. */
function providerButtons({ providers, usedLast, error, passedOn, returnTo, view }: LoginPage): string[] {
  const { site, words } = view
  const parameters = new URLSearchParams({
    ...passedOn,
    ...(error !== undefined && reauthenticating.has(error) && { reauthenticate: 'true' }),
    ...(returnTo !== undefined && { return_to: returnTo }),
  })
  const query = parameters.size === 0 ? '' : `?${parameters.toString()}`
  const isLast = ({ name }: { name: string }): boolean => name === usedLast && providers.length > 1
  const ordered = [...providers.filter(isLast), ...providers.filter((provider) => !isLast(provider))]
  return ordered.map((provider) => {
    const { name, label, icon } = provider
    const mark = isLast(provider) ? ` <span class="soft mark">${words.signIn.lastUsed}</span>` : ''
    const text = fill(words.signIn.continueWith, { provider: escapeHtml(label) })
    return `<a class="button wide" rel="nofollow" href="${site.basePath}/auth/${encodeURIComponent(name)}${escapeHtml(query)}"><img class="icon" src="${escapeHtml(icon)}" alt=""> ${text}${mark}</a>`
  })
}

function failureMessage(code: string, page: LoginPage): string {
  const { view, referenceId, refusal } = page
  const { failures } = view.words
  const known = failures[isFailureCode(code) ? code : 'unknown']
  const text = code === 'refused' && refusal !== undefined ? refusal : known
  const id = referenceId !== undefined && /^[\da-f]{8}$/.test(referenceId) ? referenceId : undefined
  const support = id === undefined ? '' : `<br>${supportLine(view, id)}`
  const message = `<p class="message" role="alert">${escapeHtml(text)}${support}</p>`
  return code === 'identity-taken' ? message + takenIdentity(page) : message
}

/** Accounts are never merged automatically: this explains how to move the identity. */
function takenIdentity({ view, failedProviderLabel, signedInAs }: LoginPage): string {
  const { signIn } = view.words
  const provider = escapeHtml(failedProviderLabel ?? signIn.thatProvider)
  const account = signedInAs === undefined ? signIn.thisAccount : strong(signedInAs)
  return `<div class="card"><p>${fill(signIn.twoAccounts, { account, provider })}</p>
<ul><li>${fill(signIn.useOther, { provider })}</li>
<li>${fill(signIn.moveProvider, { account, provider })}</li></ul></div>
`
}

/** What the page is for, with the name of its title. */
const titles = {
  'sign-in': 'title',
  invited: 'invitedTitle',
  choose: 'chooseTitle',
  again: 'againTitle',
  done: 'doneTitle',
} as const

function purposeOf({ signedInAs, passedOn, error, invitation }: LoginPage): keyof typeof titles {
  if (signedInAs === undefined) return invitation === undefined ? 'sign-in' : 'invited'
  if (passedOn['select_account'] !== undefined) return 'choose'
  const asksAgain = passedOn['reauthenticate'] !== undefined || passedOn['acr_values'] !== undefined
  return asksAgain || (error !== undefined && reauthenticating.has(error)) ? 'again' : 'done'
}

/** Offers to go on, unless the request needs a new sign-in: without it, the browser would come back to this page. */
function signedIn(name: string, page: LoginPage): string {
  const { appName, returnTo, view } = page
  const { common, signIn } = view.words
  const who = fill(common.signedInAs, { name: strong(name) })
  const purpose = purposeOf(page)
  if (purpose === 'choose') return `<p>${sentences(view.language, who, signIn.choose)}</p>`
  if (purpose === 'again') return `<p>${sentences(view.language, who, signIn.again)}</p>`
  const { basePath } = view.site
  const onward =
    appName === undefined ? common.continue : fill(common.continueTo, { name: escapeHtml(appName) })
  return `<p>${who}</p>
<p><a class="button wide primary" href="${escapeHtml(returnTo ?? `${basePath}/dashboard`)}">${returnTo === undefined ? common.goToDashboard : onward}</a></p>
<form method="post" action="${basePath}/auth/logout" class="center"><button class="quiet">${signIn.signOut}</button></form>
<h2>${signIn.otherAccount}</h2>`
}

/**
 * For demo mode: redirects a GET request to the host of BASE_URL, when it came by another name of this machine (localhost
 * for 127.0.0.1). Cookies belong to one host name, and the provider redirects to the one of BASE_URL. Only loopback names
 * are redirected, so a forged Host header has no effect.
 */
export function redirectToBaseUrl(routes: App, baseUrl: () => string): void {
  routes.addHook('onRequest', (request, reply, done) => {
    const base = new URL(baseUrl())
    const asked = hostnameOf(request.headers.host ?? '')
    const another = asked !== base.hostname && isLoopbackHost(asked) && isLoopbackHost(base.hostname)
    if (request.method === 'GET' && another) void reply.redirect(baseUrl() + request.url, 303)
    else done()
  })
}
