import { Type } from 'typebox'
import { Problem } from '../errors.ts'
import type { App } from '../http/app.ts'
import { rawQuery, readOAuthParameters } from '../http/requests/query-string.ts'
import { optionalText } from '../http/schemas/schemas.ts'
import type { AppSignIns } from './app-sign-ins.ts'
import type { AuthenticationDemands } from './authorization-request.ts'
import { safeReturnTo } from './return-to.ts'
import {
  findProvider,
  limitPerIp,
  ProviderParams,
  ReturnTo,
  startFlow,
  type StartParts,
} from './route-shared.ts'

export interface StartRouteParts extends StartParts {
  apps: AppSignIns
  /** The `acr_values` of a sign-in with a second factor: `ADMIN_ACR_VALUES`. */
  acrValues: readonly string[]
}

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
})

/** GET /auth/{provider}: starts a sign-in of a browser or an app. */
export function startRoute(routes: App, parts: StartRouteParts): void {
  routes.get(
    '/auth/:provider',
    {
      config: { access: 'public', rateLimit: limitPerIp, sends: { sometimes: ['Set-Cookie'] } },
      schema: {
        tags: ['sign-in'],
        summary: 'Start a sign-in: redirects to the provider',
        params: ProviderParams,
        querystring: StartQuery,
        response: { 303: Type.Null() },
      },
    },
    async (request, reply) => {
      const providerClient = findProvider(parts.providers, request.params.provider)
      const [repeated] = readOAuthParameters(rawQuery(request.url)).repeated
      if (repeated !== undefined)
        throw new Problem('invalid-parameter', {
          parameter: repeated,
          detail: 'It came more than once; send each parameter once (RFC 6749, section 3.1).',
        })
      const query = request.query as Record<string, string | undefined>
      const returnTo = safeReturnTo(query['return_to'], parts.baseUrl())
      const appRequest = await parts.apps.parseRequest(query)
      const demands = parseDemands(query, parts.acrValues)
      const intent = { purpose: 'login', returnTo, app: appRequest, demands } as const
      const url = await startFlow(parts, request, reply, { providerClient, intent })
      return url === undefined ? reply : reply.redirect(url.href, 303)
    },
  )
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
