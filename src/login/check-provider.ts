import type { Clock } from '../runtime/clock.ts'
import { causeInWords } from '../runtime/cause-in-words.ts'
import type { GuardedFetch } from '../network/guarded-fetch.ts'
import type { ServerMetadata } from 'openid-client'
import { clockTolerance } from './provider-client/profile.ts'
import { DiscoveryFailed } from './provider-client/provider-errors.ts'
import { ProviderServerCache, withProviderHeaders } from './provider-client/provider-server.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'

/** Milliseconds for one request to a provider. */
export const checkLimit = 5_000

/** What a check found: a fault stops sign-ins, a warning may. */
export interface ProviderFinding {
  state: 'ok' | 'warning' | 'fault'
  text: string
}

/**
 * Reaches a provider as sign-ins do: over the same guarded connections, with the same discovery, at the addresses that are configured,
 * known or discovered. Any answer counts, except those of the discovery document and the keys, which must be there.
 * @param guarded bounds each request in time and bytes
 */
export async function checkProvider(
  provider: ResolvedProvider,
  guarded: GuardedFetch,
  { clock, allowPrivateNetwork }: { clock: Clock; allowPrivateNetwork: boolean },
): Promise<ProviderFinding> {
  const clocks: number[] = []
  const fetch = withProviderHeaders(provider, async (url, init) => {
    const response = await guarded(url, init)
    clocks.push(Math.abs(Date.parse(response.headers.get('date') ?? '') - clock.now()))
    return response
  })
  const servers = new ProviderServerCache({ provider, fetch, allowPrivateNetwork, clock })
  const call: Call = (url, method) => fetch(url, { method })
  let metadata: ServerMetadata
  try {
    ;({ metadata } = await servers.current())
  } catch (error) {
    if (error instanceof DiscoveryFailed) return { state: 'fault', text: error.reason }
    throw error
  }
  const { service, browser } = addressesOf(provider, metadata)
  const faults = [
    ...missingIn(metadata),
    ...(await reach(service, call)),
    ...(await keyFaults(provider, metadata, call)),
  ]
  if (faults.length > 0) return { state: 'fault', text: faults.join('; ') }
  const shut = await reach(browser, call)
  if (shut.length > 0)
    return { state: 'warning', text: `${shut.join('; ')}. It is enough that browsers reach it` }
  const off = Math.max(...clocks.filter((difference) => !Number.isNaN(difference)), 0)
  if (off > clockTolerance * 1000)
    return {
      state: 'warning',
      text: `its clock and this one differ by ${Math.round(off / 1000)} s: id tokens may be rejected`,
    }
  const hosts = [...service, ...browser].map((url) => new URL(url).host)
  return { state: 'ok', text: `${[...new Set(hosts)].join(', ')} can be reached` }
}

type Call = (url: string, method: 'GET' | 'HEAD') => Promise<Response>

/** The addresses without which nobody can sign in. */
function missingIn(metadata: ServerMetadata): string[] {
  return ['authorization_endpoint', 'token_endpoint']
    .filter((name) => typeof metadata[name] !== 'string')
    .map((name) => `the discovery document has no ${name}`)
}

/** Why the keys of id tokens cannot be read; empty when they can, or none are needed. */
async function keyFaults(
  { kind }: ResolvedProvider,
  { jwks_uri: url }: ServerMetadata,
  call: Call,
): Promise<string[]> {
  if (kind === 'oauth') return []
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

/** One address per host: what this service calls, and where it only sends browsers. */
function addressesOf(
  { profileUrl }: ResolvedProvider,
  { token_endpoint: tokenUrl, authorization_endpoint: authUrl }: ServerMetadata,
): { service: string[]; browser: string[] } {
  const hosts = new Set<string>()
  const isNew = (url: unknown): url is string => {
    const host = typeof url === 'string' ? URL.parse(url)?.host : undefined
    return host !== undefined && !hosts.has(host) && hosts.add(host).size > 0
  }
  return { service: [tokenUrl, profileUrl].filter(isNew), browser: [authUrl].filter(isNew) }
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
