import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { auditOrigin, type Audit } from '../accounts/audit.ts'
import type { HostCookie } from '../accounts/host-cookie.ts'
import type { RecentSignIn } from '../accounts/recent-sign-in.ts'
import { acceptForms, neverStored } from '../accounts/routes.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { clientIp } from '../http/client-address.ts'
import { repeatedParameter } from '../http/query-string.ts'
import { insistOnBaseUrl } from './canonical-host.ts'
import { codeOf, finishSignIn, isOwnFault, isStorageFault } from './callback.ts'
import type { Clients } from './clients.ts'
import { describeCause, SignInFailure } from './failures.ts'
import type { FlowCookie } from './flow-cookie.ts'
import type { Flows, Intent } from './flows.ts'
import { leavingPage } from './page.ts'
import type { AuthenticationDemands, ProviderClient } from './provider-client.ts'
import type { RefusalMessages } from './refusal-messages.ts'
import { safeReturnTo } from './return-to.ts'
import type { SignIn } from './sign-in.ts'

export interface LoginRoutesParts {
  providers: ReadonlyMap<string, ProviderClient>
  flows: Flows
  signIn: SignIn
  clients: Clients
  flowCookie: FlowCookie
  sessionCookie: HostCookie
  audit: Audit
  refusals: RefusalMessages
  recentSignIn: RecentSignIn
  /** What a sign-in with a second factor asks for: `ADMIN_ACR_VALUES`. */
  acrValues: readonly string[]
  baseUrl: () => string
  demo: boolean
  /** Counts how sign-ins end. */
  count: (provider: string, outcome: string) => void
}

const tags = ['sign-in']
const Params = Type.Object({ provider: Type.String() })
const ReturnTo = Type.Optional(
  Type.String({ description: 'A path of this service to go to afterwards; default /dashboard' }),
)
const App = (description: string) => Type.Optional(Type.String({ description: `For apps: ${description}` }))
/** Calls of one address in a minute. */
const rateLimit = { max: 300, together: true } as const
/**
 * One sign-in comes back once: whoever sends its state again and again is guessing something else. It is read as the
 * callback reads it: the parser of all queries leaves out what comes after many others.
 */
const perFlow = {
  max: 30,
  value: (request: FastifyRequest) => new URLSearchParams(queryOf(request)).get('state') ?? undefined,
}

/** GET /auth/{provider}, its callback, and linking. */
export async function loginRoutes(app: App, parts: LoginRoutesParts): Promise<void> {
  const { providers, clients, flowCookie, sessionCookie, acrValues, baseUrl } = parts

  const providerOf = (name: string): ProviderClient => {
    const client = providers.get(name)
    if (!client) throw new Problem('unknown-provider')
    return client
  }

  await app.register(async (scope: App) => {
    neverStored(scope)
    acceptForms(scope)
    if (parts.demo) insistOnBaseUrl(scope, baseUrl)

    scope.get(
      '/auth/:provider',
      {
        config: { access: 'public', rateLimit, sends: { sometimes: ['Set-Cookie'] } },
        schema: {
          tags,
          summary: 'Begin a sign-in: a redirect to the provider',
          params: Params,
          querystring: Type.Object({
            return_to: ReturnTo,
            client_id: App('the registered id'),
            redirect_uri: App('a registered redirect URI'),
            code_challenge: App('the S256 challenge (RFC 7636)'),
            code_challenge_method: App('S256'),
            state: App('comes back with the code'),
            reauthenticate: Type.Optional(
              Type.String({
                description:
                  '`true`: the provider is asked to authenticate the person anew, and has to prove it where it can',
              }),
            ),
            second_factor: Type.Optional(
              Type.String({
                description: '`true`: the same, with `acr_values` of `ADMIN_ACR_VALUES`; for admins',
              }),
            ),
          }),
          response: { 303: Type.Null() },
        },
      },
      async (request, reply) => {
        const client = providerOf(request.params.provider)
        const repeated = repeatedParameter(queryOf(request))
        if (repeated !== undefined)
          throw new Problem('invalid-parameter', {
            parameter: repeated,
            detail: 'It came more than once; send each parameter once (RFC 6749, section 3.1).',
          })
        const query = request.query as Record<string, string | undefined>
        const returnTo = safeReturnTo(query['return_to'], baseUrl())
        const url = await begin(request, reply, client, {
          purpose: 'login',
          returnTo,
          app: clients.read(query),
          demands: readDemands(query, acrValues),
        })
        return url === undefined ? reply : reply.redirect(url.href, 303)
      },
    )

    scope.get(
      '/auth/:provider/callback',
      {
        config: {
          access: 'public',
          rateLimit: { ...rateLimit, per: perFlow },
          sends: { sometimes: ['Set-Cookie'] },
        },
        schema: {
          tags,
          summary: 'Where the provider sends the browser back to: /dashboard, or /login when it failed',
          params: Params,
          querystring: Type.Object({
            code: Type.Optional(Type.String()),
            state: Type.Optional(Type.String()),
            iss: Type.Optional(Type.String()),
            error: Type.Optional(Type.String()),
          }),
          response: { 303: Type.Null() },
        },
      },
      async (request, reply) => {
        const client = providerOf(request.params.provider)
        const sessionToken = sessionCookie.read(request)
        const browser = { origin: { ...auditOrigin(request), address: clientIp(request) }, sessionToken }
        const outcome = await finishSignIn(parts, {
          client,
          query: queryOf(request),
          browserToken: flowCookie.read(request),
          browser,
        })
        if (!outcome.ok) {
          const { failure, flow, target } = outcome
          await report(request, client, failure, flow?.purpose === 'link' ? (flow.user_id ?? '') : undefined)
          return reply.redirect(target ?? failurePath(request, client, failure), 303)
        }
        parts.count(client.provider.name, 'ok')
        const { signedIn } = outcome
        if (signedIn.kind === 'session') sessionCookie.set(reply, signedIn.token, signedIn.maxAge)
        return reply.redirect(signedIn.target, 303)
      },
    )

    scope.post(
      '/auth/:provider/link',
      {
        config: {
          access: 'session',
          rateLimit: { ...rateLimit, perAccount: 30 },
          sends: { sometimes: ['Set-Cookie', 'Refresh'] },
        },
        schema: {
          tags,
          summary: 'Link another identity to the signed-in user: a redirect to the provider',
          params: Params,
          querystring: Type.Object({ return_to: ReturnTo }),
          response: {
            200: Type.String({ description: 'To a form in a browser: a page that leads on' }),
            303: Type.Null(),
          },
        },
      },
      async (request, reply) => {
        const client = providerOf(request.params.provider)
        const { userId, sessionId } = request.principal ?? {}
        if (userId === undefined || sessionId === undefined) throw new Problem('not-signed-in')
        const returnTo = safeReturnTo(request.query.return_to, baseUrl())
        const inPage = request.headers['sec-fetch-dest'] === 'document'
        const problem = await parts.recentSignIn.check(request, 'identity.link_failed', client.provider.name)
        if (problem) {
          if (!inPage) throw problem
          const query = new URLSearchParams({ error: 'reauthentication-needed', return_to: returnTo })
          return reply.redirect(`/login?${query.toString()}`, 303)
        }
        const url = await begin(request, reply, client, { purpose: 'link', returnTo, userId, sessionId })
        if (url === undefined) return reply
        // Browsers hold the redirects of a form to the form-action of its page, which no provider is in. A page of our
        // own that leads on is a navigation of its own.
        if (!inPage) return reply.redirect(url.href, 303)
        reply.header('refresh', `0;url=${url.href}`).type('text/html; charset=utf-8')
        return reply.serializer((html: string) => html).send(leavingPage(client.provider.label, url.href))
      },
    )
  })

  /** The address at the provider; `undefined` when it could not be had and the browser was told so. */
  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    client: ProviderClient,
    intent: Intent,
  ): Promise<URL | undefined> {
    const browser = flowCookie.renew(request, reply)
    try {
      return await parts.flows.begin(client, browser, intent)
    } catch (error) {
      if (!isProviderFault(error)) throw error
      const failure = new SignInFailure(codeOf(error), error)
      await report(request, client, failure, intent.purpose === 'link' ? intent.userId : undefined)
      if (request.headers.accept?.includes('text/html') !== true) {
        throw new Problem('provider-unavailable', { retryAfter: 10 })
      }
      void reply.redirect(failurePath(request, client, failure), 303)
      return undefined
    }
  }

  /** @param linker the user who was linking; undefined at a sign-in. */
  async function report(
    request: FastifyRequest,
    client: ProviderClient,
    failure: SignInFailure,
    linker: string | undefined,
  ): Promise<void> {
    const provider = client.provider.name
    const { code, details } = failure
    parts.count(provider, code)
    const line = { provider, failure: code, causes: describeCause(failure.cause) }
    if (isOwnFault(failure)) request.log.error({ ...line, err: failure.cause }, 'sign-in failed')
    else request.log.warn(line, 'sign-in failed')
    // The database does not answer: the line above has to do.
    if (isStorageFault(failure)) return
    const { userId, providerId } = details
    await parts.audit.note({
      ...auditOrigin(request),
      action: linker === undefined ? 'sign_in.failed' : 'identity.link_failed',
      actor: linker && `user:${linker}`,
      userId: linker || userId,
      provider,
      providerId,
      code,
    })
  }

  /** /login, with all that the page needs to say what happened. */
  function failurePath(request: FastifyRequest, client: ProviderClient, failure: SignInFailure): string {
    const { code, details } = failure
    const query = new URLSearchParams({ error: code, id: request.id, provider: client.provider.name })
    if (details.message) {
      const message = parts.refusals.write(request.id, details.message)
      for (const [name, value] of Object.entries(message)) query.set(name, value)
    }
    return `/login?${query.toString()}`
  }
}

/** What the sign-in is to ask the provider for. */
function readDemands(
  query: Readonly<Record<string, string | undefined>>,
  acrValues: readonly string[],
): AuthenticationDemands | undefined {
  const secondFactor = isWanted('second_factor', query['second_factor'])
  if (!isWanted('reauthenticate', query['reauthenticate']) && !secondFactor) return undefined
  return { anew: true, secondFactor, acrValues: secondFactor ? acrValues : [] }
}

function isWanted(parameter: string, value: string | undefined): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false')
    throw new Problem('invalid-parameter', { parameter, detail: 'Send `true` or `false`.' })
  return value === 'true'
}

/** As it was sent, without the question mark. */
function queryOf({ url }: FastifyRequest): string {
  return url.split('?').slice(1).join('?')
}

/** Errors of discovery: of fetch and of openid-client. Everything else (our storage, a mistake) is not the provider's. */
function isProviderFault(error: unknown): boolean {
  const { name, code } = error as { name?: string; code?: string }
  return (
    error instanceof TypeError ||
    name === 'TimeoutError' ||
    name === 'ClientError' ||
    code?.startsWith('OAUTH_') === true
  )
}
