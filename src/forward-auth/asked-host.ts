import type { RawCall } from '../http/raw/call.ts'
import { readForwarded, type ForwardedRequest } from './forwarded-request.ts'
import type { GuardedHost } from './hosts.ts'

/** A request that no rule can be about. Its cause is the proxy, its configuration, or a client that calls past it. */
export interface Misdirected {
  code: 'untrusted-proxy' | 'unreadable' | 'unknown-host' | 'guarded-sign-in'
  detail: string
  /** What to do about it. */
  advice: string
}

interface Directed {
  forwarded: ForwardedRequest
  guarded: GuardedHost
}

/** What is said about a host without rules. */
export const unknownHost = {
  detail: 'No rule of forwardAuth names the host of the request.',
  advice: 'Add the host to forwardAuth.hosts, with its port if that is not the default one.',
} as const

/** Where the sign-in is at other hosts than the service's own. */
const signInPaths = '/.postern/'

/** The request that a proxy asks about, with the host that it is for. */
export function readAskedHost(
  call: RawCall,
  hosts: ReadonlyMap<string, GuardedHost>,
): Directed | Misdirected {
  if (!call.isFromProxy)
    return {
      code: 'untrusted-proxy',
      detail: 'The call did not come from a proxy that TRUSTED_PROXIES names.',
      advice: 'Only a proxy asks here. Name the address from which it calls in TRUSTED_PROXIES.',
    }
  const forwarded = readForwarded(call.request)
  if (typeof forwarded === 'string')
    return { code: 'unreadable', detail: forwarded, advice: 'Correct the configuration of the proxy.' }
  const guarded = hosts.get(forwarded.host)
  if (!guarded) return { code: 'unknown-host', ...unknownHost }
  // The redirect to the sign-in would be redirected to the sign-in, for ever.
  if (!guarded.isOwn && forwarded.path.startsWith(signInPaths))
    return {
      code: 'guarded-sign-in',
      detail: `The proxy asked about the sign-in of this host, below ${signInPaths}.`,
      advice: `Let the proxy pass ${signInPaths} of this host on to Postern, without asking first.`,
    }
  return { forwarded, guarded }
}
