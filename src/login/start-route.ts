import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { rawQuery, readOAuthParameters } from '../http/query-string.ts'
import type { Clients } from './clients.ts'
import { DiscoveryFailed } from './discovery.ts'
import { failurePath, recordFailure, type FailedSignInsParts } from './failed-sign-ins.ts'
import { SignInFailure } from './failures.ts'
import type { FlowCookie } from './flow-cookie.ts'
import type { Flows, Intent } from './flows.ts'
import type { AuthenticationDemands } from './authorization-request.ts'
import type { ProviderClient } from './provider-client.ts'
import { providerErrorCode } from './provider-errors.ts'
import { safeReturnTo } from './return-to.ts'
import { optionalText } from '../http/schemas.ts'

export interface StartParts extends FailedSignInsParts {
  providers: ReadonlyMap<string, ProviderClient>
  flows: Flows
  flowCookie: FlowCookie
  baseUrl: () => string
}

export interface StartRouteParts extends StartParts {
  clients: Clients
  /** The `acr_values` of a sign-in with a second factor: `ADMIN_ACR_VALUES`. */
  acrValues: readonly string[]
}

export const ProviderParams = Type.Object({ provider: Type.String() })
export const ReturnTo = optionalText('A path of this service to go to afterwards; default /dashboard')
/** Calls of one address in a minute. */
export const perAddress = { max: 300, together: true } as const

const App = (description: string) => optionalText(`For apps: ${description}`)
const StartQuery = Type.Object({
  return_to: ReturnTo,
  client_id: App('the registered id'),
  redirect_uri: App('a registered redirect URI'),
  code_challenge: App('the S256 challenge (RFC 7636)'),
  code_challenge_method: App('S256'),
  state: App('comes back with the code'),
  reauthenticate: optionalText(
    '`true`: the provider is asked to reauthenticate the person, and has to prove it if it can',
  ),
  second_factor: optionalText('`true`: the same, with `acr_values` of `ADMIN_ACR_VALUES`; for admins'),
})

/** GET /auth/{provider}: starts a sign-in of a browser or an app. */
export function startRoute(scope: App, parts: StartRouteParts): void {
  scope.get(
    '/auth/:provider',
    {
      config: { access: 'public', rateLimit: perAddress, sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags: ['sign-in'],
        summary: 'Start a sign-in: redirects to the provider',
        params: ProviderParams,
        querystring: StartQuery,
        response: { 303: Type.Null() },
      },
    },
    async (request, reply) => {
      const client = findProvider(parts.providers, request.params.provider)
      const [repeated] = readOAuthParameters(rawQuery(request.url)).repeated
      if (repeated !== undefined)
        throw new Problem('invalid-parameter', {
          parameter: repeated,
          detail: 'It came more than once; send each parameter once (RFC 6749, section 3.1).',
        })
      const query = request.query as Record<string, string | undefined>
      const returnTo = safeReturnTo(query['return_to'], parts.baseUrl())
      const app = parts.clients.parseRequest(query)
      const demands = parseDemands(query, parts.acrValues)
      const intent = { purpose: 'login', returnTo, app, demands } as const
      const url = await startFlow(parts, request, reply, { client, intent })
      return url === undefined ? reply : reply.redirect(url.href, 303)
    },
  )
}

/** @throws Problem `unknown-provider` */
export function findProvider(providers: ReadonlyMap<string, ProviderClient>, name: string): ProviderClient {
  const client = providers.get(name)
  if (!client) throw new Problem('unknown-provider')
  return client
}

/**
 * Starts a flow and gives the address at the provider. When the provider cannot be discovered, a browser is redirected to
 * /login and the result is `undefined`.
 * @throws Problem `provider-unavailable` for callers that do not accept HTML.
 */
export async function startFlow(
  parts: StartParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { client, intent }: { client: ProviderClient; intent: Intent },
): Promise<URL | undefined> {
  const browser = parts.flowCookie.renew(request, reply)
  try {
    return await parts.flows.start(client, browser, intent)
  } catch (error) {
    if (!(error instanceof DiscoveryFailed)) throw error
    const failure = new SignInFailure(providerErrorCode(error), error)
    const linkingUserId = intent.purpose === 'link' ? intent.userId : undefined
    await recordFailure(parts, request, { client, failure, linkingUserId })
    if (request.headers.accept?.includes('text/html') !== true)
      throw new Problem('provider-unavailable', { retryAfter: 10 })
    void reply.redirect(failurePath(parts, request, client, failure), 303)
    return undefined
  }
}

/** What the provider is asked for beyond a plain sign-in. @throws Problem `invalid-parameter` */
function parseDemands(
  query: Readonly<Record<string, string | undefined>>,
  acrValues: readonly string[],
): AuthenticationDemands | undefined {
  const secondFactor = parseFlag('second_factor', query['second_factor'])
  if (!parseFlag('reauthenticate', query['reauthenticate']) && !secondFactor) return undefined
  return { reauthenticate: true, secondFactor, acrValues: secondFactor ? acrValues : [] }
}

function parseFlag(parameter: string, value: string | undefined): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false')
    throw new Problem('invalid-parameter', { parameter, detail: 'Send `true` or `false`.' })
  return value === 'true'
}
