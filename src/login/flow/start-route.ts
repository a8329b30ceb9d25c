import { Type } from 'typebox'
import { Problem } from '../../errors.ts'
import { actsOnGet } from '../../http/access/background.ts'
import type { App } from '../../http/app.ts'
import { rawQuery, readOAuthParameters } from '../../http/requests/query-string.ts'
import { optionalText } from '../../http/schemas/schemas.ts'
import type { AppSignIns } from './flows.ts'
import type { AuthenticationDemands } from './authorization-request.ts'
import { findProvider, limitPerIp, ProviderParams } from './provider-param.ts'
import { safeReturnTo } from './return-to.ts'
import { ReturnTo, startFlow, type StartParts } from './start-flow.ts'

export interface StartRouteParts extends StartParts {
  apps: AppSignIns
  /** The `acr_values` of a sign-in with a second factor: `ADMIN_ACR_VALUES`. */
  acrValues: readonly string[]
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
  acr_values: optionalText('How the provider should authenticate the person, as it names it'),
})

/** GET /auth/{provider}: starts a sign-in of a browser or an app. */
export function startRoute(routes: App, parts: StartRouteParts): void {
  routes.get(
    '/auth/:provider',
    {
      ...actsOnGet,
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
      const { values: query, repeated: names } = readOAuthParameters(rawQuery(request.url))
      const [repeated] = names
      if (repeated !== undefined)
        throw new Problem('invalid-parameter', {
          parameter: repeated,
          detail: 'It came more than once; send each parameter once (RFC 6749, section 3.1).',
        })
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
