import type { Clock } from '../runtime/clock.ts'
import { causeInWords } from '../network/cause-in-words.ts'
import type { GuardedFetch } from '../network/guarded-fetch.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'

/** Milliseconds for one request to a provider. */
export const checkLimit = 5_000
/** Milliseconds by which a provider's clock may differ: id tokens are valid with about as much leeway. */
const tolerance = 30_000

/** What a check found: a fault stops sign-ins, a warning may. */
export interface ProviderFinding {
  state: 'ok' | 'warning' | 'fault'
  text: string
}

/**
 * Reaches a provider as sign-ins will: over the same guarded connections, at the addresses that are configured, known or
 * discovered. Any answer counts, but for the discovery document and the keys, which must be there.
 * @param guarded bounds each request in time and bytes
 */
export async function checkProvider(
  provider: ResolvedProvider,
  guarded: GuardedFetch,
  clock: Clock,
): Promise<ProviderFinding> {
  const clocks: number[] = []
  const call = async (url: string, method: 'GET' | 'HEAD'): Promise<Response> => {
    const headers = { 'user-agent': 'postern', ...provider.quirks.headers?.(provider.presetSetting) }
    const response = await guarded(url, { method, headers })
    clocks.push(Math.abs(Date.parse(response.headers.get('date') ?? '') - clock.now()))
    return response
  }
  const discovered = await discover(provider, call)
  if (typeof discovered === 'string') return { state: 'fault', text: discovered }
  const { service, browser } = addressesOf(provider, discovered)
  const faults = [...(await reach(service, call)), ...(await keyFaults(provider, discovered, call))]
  if (faults.length > 0) return { state: 'fault', text: faults.join('; ') }
  const shut = await reach(browser, call)
  if (shut.length > 0)
    return { state: 'warning', text: `${shut.join('; ')}. It is enough that browsers reach it` }
  const off = Math.max(...clocks.filter((difference) => !Number.isNaN(difference)), 0)
  if (off > tolerance)
    return {
      state: 'warning',
      text: `its clock and this one differ by ${Math.round(off / 1000)} s: id tokens may be refused`,
    }
  const hosts = [...service, ...browser].map((url) => new URL(url).host)
  return { state: 'ok', text: `${[...new Set(hosts)].join(', ')} can be reached` }
}

/** Why the keys of id tokens cannot be read; empty when they can, or none are needed. */
async function keyFaults(provider: ResolvedProvider, discovered: Discovered, call: Call): Promise<string[]> {
  if (provider.kind === 'oauth') return []
  const url = provider.jwksUrl ?? discovered['jwks_uri']
  if (typeof url !== 'string') return ['the discovery document names no keys (jwks_uri)']
  try {
    const response = await call(url, 'GET')
    if (response.status !== 200) return [`${url} answered ${response.status}: id tokens cannot be verified`]
    const { keys } = ((await response.json()) ?? {}) as { keys?: unknown }
    return Array.isArray(keys) && keys.length > 0 ? [] : [`${url} has no keys: id tokens cannot be verified`]
  } catch (error) {
    return [`${url} cannot be reached: ${why(error)}`]
  }
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
  const hosts = new Set<string>()
  const isNew = (url: unknown): url is string => {
    const host = typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined
    return host !== undefined && !hosts.has(host) && hosts.add(host).size > 0
  }
  return {
    service: [tokenUrl ?? discovered['token_endpoint'], profileUrl].filter(isNew),
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
    ? `nothing came within ${checkLimit / 1000} seconds`
    : causeInWords(cause ?? error)
}
