import { systemClock } from '../runtime/clock.ts'
import type { ResolvedProvider } from '../login/providers/resolved-provider.ts'
import { createGuardedFetch, type GuardedFetch } from '../network/guarded-fetch.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { causeInWords } from './describe-error.ts'
import { fault, ok, warning, type Finding } from './finding.ts'

/** Milliseconds for one request to a provider. */
const limit = 5_000
/** Milliseconds by which a provider's clock may differ: id tokens are valid with about as much leeway. */
const tolerance = 30_000

/**
 * Reaches every provider as sign-ins will: over the same guarded connections, at the addresses that are configured, known
 * or discovered. Any answer counts, but for a discovery document, which must be there.
 */
export async function checkProviders(
  providers: readonly ResolvedProvider[],
  allowPrivateNetwork: boolean,
): Promise<Finding[]> {
  const agent = createOutboundAgent({ allowPrivateNetwork, timeout: limit })
  const guarded = createGuardedFetch({ agent, allowPrivateNetwork, timeout: limit })
  try {
    return await Promise.all(providers.map((provider) => checkProvider(provider, guarded)))
  } finally {
    await agent.destroy()
  }
}

async function checkProvider(provider: ResolvedProvider, guarded: GuardedFetch): Promise<Finding> {
  const about = `provider ${provider.name}`
  const clocks: number[] = []
  const call = async (url: string, method: 'GET' | 'HEAD'): Promise<Response> => {
    const headers = { 'user-agent': 'postern', ...provider.quirks.headers?.(provider.presetSetting) }
    const response = await guarded(url, { method, headers })
    clocks.push(Math.abs(Date.parse(response.headers.get('date') ?? '') - systemClock.now()))
    return response
  }
  const discovered = await discover(provider, call)
  if (typeof discovered === 'string') return fault(about, discovered)
  const { service, browser } = addressesOf(provider, discovered)
  const unreachable = await reach(service, call)
  if (unreachable.length > 0) return fault(about, unreachable.join('; '))
  const shut = await reach(browser, call)
  if (shut.length > 0) return warning(about, `${shut.join('; ')}. It is enough that browsers reach it`)
  const off = Math.max(...clocks.filter((clock) => !Number.isNaN(clock)), 0)
  if (off > tolerance)
    return warning(
      about,
      `its clock and this one differ by ${Math.round(off / 1000)} s: id tokens may be refused`,
    )
  return ok(about, `${[...service, ...browser].map((url) => new URL(url).host).join(', ')} can be reached`)
}

type Call = (url: string, method: 'GET' | 'HEAD') => Promise<Response>
type Discovered = Readonly<Record<string, unknown>>

/** The discovery document, where one is needed; a text says why there is none. */
async function discover(provider: ResolvedProvider, call: Call): Promise<Discovered | string> {
  const { authUrl, tokenUrl } = provider
  if (provider.kind === 'oauth' || (authUrl && tokenUrl && provider.jwksUrl)) return {}
  const url = `${provider.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  try {
    const response = await call(url, 'GET')
    if (response.status !== 200) return `${url} answered ${response.status}: check its issuer`
    return ((await response.json()) ?? {}) as Discovered
  } catch (error) {
    return `${url} cannot be read: ${why(error)}`
  }
}

/** One address per host: what this service calls, and where it only sends browsers. */
function addressesOf(
  provider: ResolvedProvider,
  discovered: Discovered,
): { service: string[]; browser: string[] } {
  const { authUrl, tokenUrl, profileUrl } = provider
  const jwksUrl = provider.kind === 'openid' ? (provider.jwksUrl ?? discovered['jwks_uri']) : undefined
  const hosts = new Set<string>()
  const isNew = (url: unknown): url is string => {
    const host = typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined
    return host !== undefined && !hosts.has(host) && hosts.add(host).size > 0
  }
  return {
    service: [tokenUrl ?? discovered['token_endpoint'], jwksUrl, profileUrl].filter(isNew),
    browser: [authUrl ?? discovered['authorization_endpoint']].filter(isNew),
  }
}

/** Why addresses cannot be reached; empty when all can. */
async function reach(urls: readonly string[], call: Call): Promise<string[]> {
  const results = await Promise.all(
    urls.map((url) =>
      call(url, 'HEAD').then(
        () => undefined,
        (error: unknown) => `${url} cannot be reached: ${why(error)}`,
      ),
    ),
  )
  return results.filter((text) => text !== undefined)
}

function why(error: unknown): string {
  const { name, cause } = error as Error
  return name === 'TimeoutError'
    ? `nothing came within ${limit / 1000} seconds`
    : causeInWords(cause ?? error)
}
