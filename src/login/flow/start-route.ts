import { Type } from 'typebox'
import { hashToken } from '../../crypto/secrets.ts'
import { Problem } from '../../errors.ts'
import { actsOnGet } from '../../http/access/access.ts'
import { type App, route } from '../../http/app.ts'
import { rawQuery, readOAuthParameters } from '../../http/requests/parameters.ts'
import { wantsPage } from '../../http/requests/accept.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import type { AuthenticationDemands } from '../providers/preset.ts'
import { type Intent, offerId } from './flows.ts'
import type { LoginServices } from '../services.ts'
import { loginPath, safeReturnTo } from '../../http/requests/base-path.ts'
import { sessionOf } from '../../accounts/routes.ts'
import { sendRefresh } from '../../http/pages/page-view.ts'
import { ofPages } from '../../http/responses/response-headers.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { DiscoveryFailed } from '../provider-client/provider-errors.ts'
import { failurePath, providerFailure, recordFailure } from './failures.ts'
import type { ProviderClient } from '../provider-client/provider-client.ts'

/** The parameter of the routes below `/auth/{provider}`. */
export const ProviderParams = Type.Object({ provider: Type.String() })
/** Calls of one IP address to one of these routes in a minute. */
export const limitPerIp = { max: 300, sharedByProcesses: true } as const

/** @throws Problem `unknown-provider` */
export function findProvider(providers: ReadonlyMap<string, ProviderClient>, name: string): ProviderClient {
  const providerClient = providers.get(name)
  if (!providerClient) throw new Problem('unknown-provider')
  return providerClient
}

const ReturnTo = optionalText('A path of this service to go to afterwards; default /dashboard')

/**
 * Starts a flow, and redirects the browser to the provider, or to /login if the provider cannot be discovered.
 * @throws Problem `provider-unavailable` for callers that do not want a page.
 */
export async function startFlow(
  parts: LoginServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { providerClient, intent, isForm }: { providerClient: ProviderClient; intent: Intent; isForm: boolean },
): Promise<FastifyReply> {
  try {
    const browserHash = parts.binding.of(request, reply).bind()
    const { href } = await parts.flows.start(providerClient, browserHash, intent)
    if (isForm) return await sendRefresh(reply, providerClient.provider.label, href)
    return await reply.redirect(href, 303)
  } catch (error) {
    if (!(error instanceof DiscoveryFailed)) throw error
    const { link, returnTo, offer, entry } = intent
    const failed = {
      provider: providerClient.provider.name,
      failure: providerFailure(error),
      linkingUserId: link?.userId,
      returnTo,
      offer: offer && offerId(offer),
      invitation: entry?.invitation,
    }
    await recordFailure(parts, request, failed)
    if (!wantsPage(request)) throw new Problem('provider-unavailable', { retryAfter: 10 })
    return reply.redirect(failurePath(parts, request, failed), 303)
  }
}

/** Characters of a hint for the provider at most. */
const longestHint = 500

const appParameter = (description: string) => optionalText(`For apps: ${description}`)
const StartQuery = Type.Object({
  return_to: ReturnTo,
  client_id: appParameter('the registered id'),
  redirect_uri: appParameter('a registered redirect URI'),
  code_challenge: appParameter('the S256 challenge (RFC 7636)'),
  code_challenge_method: appParameter('S256'),
  state: appParameter('comes back with the code'),
  reauthenticate: optionalText(
    '`true`: the provider is asked to reauthenticate the person, and has to prove it if it can',
  ),
  second_factor: optionalText('`true`: the same, with `acr_values` of `ADMIN_ACR_VALUES`; for admins'),
  select_account: optionalText('`true`: the provider lets the person choose an account'),
  login_hint: optionalText('Who wants to sign in, such as an e-mail address; for the provider'),
  invitation: optionalText('`true`: a new user uses the invitation whose link this browser opened'),
  acr_values: optionalText('How the provider should authenticate the person, as it names it'),
})

/** Only apps send these. A browser that signs in for itself may still send a `state`. */
const appParameters = ['client_id', 'code_challenge', 'code_challenge_method']

/** GET /auth/{provider}: starts a sign-in of a browser or an app. */
export function startRoute(routes: App, parts: LoginServices): void {
  routes.get(
    '/auth/:provider',
    {
      ...actsOnGet,
      ...route(
        'public',
        ['sign-in'],
        'Start a sign-in: redirects to the provider',
        { params: ProviderParams, querystring: StartQuery, response: { 303: Type.Null() } },
        { rateLimit: limitPerIp, sends: { sometimes: ['Set-Cookie'] } },
      ),
    },
    async (request, reply) => {
      const providerClient = findProvider(parts.providers, request.params.provider)
      const { values: query, repeated: names } = readOAuthParameters(rawQuery(request.url))
      const [repeated] = names
      if (repeated !== undefined)
        throw new Problem('invalid-parameter', {
          parameter: repeated,
          detail: 'It came more than once; send each parameter once (RFC 6749, section 3.1).',
        })
      const returnTo = safeReturnTo(query['return_to'], parts.baseUrl())
      const isApp = appParameters.some((name) => query[name] !== undefined)
      const app = isApp ? await parts.apps.parseRequest(query) : undefined
      const wantsInvitation = parseFlag('invitation', query['invitation'])
      const invited = wantsInvitation ? await openedInvitation(parts, request) : undefined
      const hint = query['login_hint'] ?? invited?.row?.email ?? undefined
      const demands = parseDemands({ ...query, login_hint: hint }, parts.configuration.adminAcrValues)
      const entry = invited && { newUser: false, invitation: invited.hash }
      const intent = { returnTo, app, demands, entry }
      return startFlow(parts, request, reply, { providerClient, intent, isForm: false })
    },
  )
}

/**
 * The invitation whose link this browser opened: the hash of its token, and its row while it can be used. A sign-in checks that at its
 * end, because an existing user needs no invitation.
 */
export async function openedInvitation(
  { invitationCookie, invitations, database }: LoginServices,
  request: FastifyRequest,
) {
  const hash = hashToken(invitationCookie.read(request) ?? '')
  return { hash, row: await invitations.find(database.reader, hash) }
}

/** What the provider is asked for beyond a plain sign-in. @throws Problem `invalid-parameter` */
export function parseDemands(
  query: Readonly<Record<string, string | undefined>>,
  acrValues: readonly string[],
): AuthenticationDemands | undefined {
  const secondFactor = parseFlag('second_factor', query['second_factor'])
  const reauthenticate = parseFlag('reauthenticate', query['reauthenticate']) || secondFactor
  const selectAccount = parseFlag('select_account', query['select_account'])
  const loginHint = parseHint('login_hint', query['login_hint'])
  const wantedAcr = parseHint('acr_values', query['acr_values'])?.split(' ') ?? []
  if (!reauthenticate && !selectAccount && loginHint === undefined && wantedAcr.length === 0) return undefined
  return {
    reauthenticate,
    secondFactor,
    acrValues: secondFactor ? acrValues : wantedAcr,
    selectAccount,
    loginHint,
  }
}

function parseHint(parameter: string, value: string | undefined): string | undefined {
  if (value !== undefined && value.length > longestHint)
    throw new Problem('invalid-parameter', { parameter, detail: `Send at most ${longestHint} characters.` })
  return value
}

function parseFlag(parameter: string, value: string | undefined): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false')
    throw new Problem('invalid-parameter', { parameter, detail: 'Send `true` or `false`.' })
  return value === 'true'
}

/** POST /auth/{provider}/link: starts the linking of another identity, shortly after a sign-in only. */
export function linkRoute(routes: App, parts: LoginServices): void {
  routes.post(
    '/auth/:provider/link',
    route(
      'session',
      ['sign-in'],
      'Link another identity to the signed-in user: redirects to the provider',
      {
        params: ProviderParams,
        querystring: Type.Object({ return_to: ReturnTo }),
        response: {
          200: Type.String({ description: 'For a form in a browser: a page that redirects' }),
          303: Type.Null(),
        },
      },
      {
        rateLimit: { ...limitPerIp, perAccount: 30 },
        sends: { sometimes: ['Set-Cookie', 'Refresh', ...ofPages] },
      },
    ),
    async (request, reply) => {
      const providerClient = findProvider(parts.providers, request.params.provider)
      const { userId, sessionId } = sessionOf(request)
      const returnTo = safeReturnTo(request.query.return_to, parts.baseUrl())
      const isForm = request.headers['sec-fetch-dest'] === 'document'
      try {
        await parts.recentSignIn.require(request, 'identity.link_failed', providerClient.provider.name)
      } catch (error) {
        if (!isForm || !(error instanceof Problem && error.code === 'reauthentication-needed')) throw error
        const page = { error: 'reauthentication-needed', return_to: returnTo }
        return reply.redirect(loginPath(routes.basePath, page), 303)
      }
      const intent = { returnTo, link: { userId, sessionId } }
      return startFlow(parts, request, reply, { providerClient, intent, isForm })
    },
  )
}
