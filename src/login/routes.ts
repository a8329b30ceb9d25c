import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { HostCookie } from '../accounts/host-cookie.ts'
import { acceptForms, neverStored } from '../accounts/routes.ts'
import { newToken } from '../crypto/tokens.ts'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { insistOnBaseUrl } from './canonical-host.ts'
import { codeOf, finishSignIn, isOwnFault } from './callback.ts'
import type { Clients } from './clients.ts'
import { describeCause, SignInFailure } from './failures.ts'
import type { Flows, Intent } from './flows.ts'
import { leavingPage } from './page.ts'
import type { ProviderClient } from './provider-client.ts'
import { safeReturnTo } from './return-to.ts'
import type { SignIn } from './sign-in.ts'

export interface LoginRoutesParts {
  providers: ReadonlyMap<string, ProviderClient>
  flows: Flows
  signIn: SignIn
  clients: Clients
  flowCookie: HostCookie
  sessionCookie: HostCookie
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
/** Seconds that a browser keeps the cookie its sign-ins are bound to. */
const flowCookieAge = 30 * 86_400
const rateLimit = { max: 300, timeWindow: 60_000 }

/** GET /auth/{provider}, its callback, and linking. */
export async function loginRoutes(app: App, parts: LoginRoutesParts): Promise<void> {
  const { providers, clients, flowCookie, sessionCookie, baseUrl } = parts

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
        config: { access: 'public', rateLimit },
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
          }),
          response: { 302: Type.Null() },
        },
      },
      async (request, reply) => {
        const client = providerOf(request.params.provider)
        const query = request.query as Record<string, string | undefined>
        const returnTo = safeReturnTo(query['return_to'], baseUrl())
        const url = await begin(request, reply, client, {
          purpose: 'login',
          returnTo,
          app: clients.read(query),
        })
        return url === undefined ? reply : reply.redirect(url.href, 302)
      },
    )

    scope.get(
      '/auth/:provider/callback',
      {
        config: { access: 'public', rateLimit },
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
        const browser = { address: request.ip, userAgent: request.headers['user-agent'], sessionToken }
        const query = request.url.split('?').slice(1).join('?')
        const outcome = await finishSignIn(parts, {
          client,
          query,
          browserToken: flowCookie.read(request),
          browser,
        })
        if (!outcome.ok) {
          report(request, client, outcome.failure)
          return reply.redirect(outcome.target ?? failurePath(request, outcome.failure), 303)
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
        config: { access: 'session', rateLimit },
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
        const url = await begin(request, reply, client, { purpose: 'link', returnTo, userId, sessionId })
        if (url === undefined) return reply
        // Browsers hold the redirects of a form to the form-action of its page, which no provider is in. A page of our
        // own that leads on is a navigation of its own.
        if (request.headers['sec-fetch-dest'] !== 'document') return reply.redirect(url.href, 303)
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
    const known = flowCookie.read(request)
    const browser = known ?? newToken()
    try {
      const url = await parts.flows.begin(client, browser, intent)
      // Set once: another tab's sign-in may be under way with it.
      if (known === undefined) flowCookie.set(reply, browser, flowCookieAge)
      return url
    } catch (error) {
      if (!isProviderFault(error)) throw error
      const failure = new SignInFailure(codeOf(error), error)
      report(request, client, failure)
      if (request.headers.accept?.includes('text/html') !== true) {
        throw new Problem('provider-unavailable', { retryAfter: 10 })
      }
      void reply.redirect(failurePath(request, failure), 303)
      return undefined
    }
  }

  function report(request: FastifyRequest, client: ProviderClient, failure: SignInFailure): void {
    const provider = client.provider.name
    parts.count(provider, failure.code)
    const details = { provider, failure: failure.code, causes: describeCause(failure.cause) }
    if (isOwnFault(failure)) request.log.error({ ...details, err: failure.cause }, 'sign-in failed')
    else request.log.warn(details, 'sign-in failed')
  }
}

function failurePath(request: FastifyRequest, { code }: SignInFailure): string {
  return `/login?error=${code}&id=${encodeURIComponent(request.id)}`
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
