import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { wantsPage } from '../http/requests/accept.ts'
import { isLocalPath } from '../http/requests/base-path.ts'
import type { RawCall } from '../http/raw/call.ts'
import type { GuardedHost } from './hosts.ts'

/** The request that the proxy received, and asks about. */
export type ForwardedRequest = Exclude<ReturnType<typeof readForwarded>, string>

/** The path at which proxies ask. */
export const forwardPath = '/auth/forward'

/**
 * Reads what a proxy asks about. Most proxies ask at `/auth/forward` and pass on the request in X-Forwarded-Method, -Host and -Uri. Envoy
 * asks at `/auth/forward` with the path of the request behind it, and with its method and Host. No request is read in both ways, so that
 * a client cannot add headers that count instead of what the proxy sent.
 * @returns a text that says what is wrong with the request
 */
function readForwarded(request: IncomingMessage) {
  const { method = 'GET', url = '', headers } = request
  const behind = url.slice(forwardPath.length)
  const isEnvoy = behind.startsWith('/')
  const asked = isEnvoy
    ? { host: headers.host, uri: behind, method }
    : {
        host: single(headers['x-forwarded-host']),
        uri: single(headers['x-forwarded-uri']),
        method: single(headers['x-forwarded-method']),
      }
  const { host, uri } = asked
  if (host === undefined) return 'The proxy has to send X-Forwarded-Host, with one value.'
  if (uri === undefined) return 'The proxy has to send X-Forwarded-Uri, with one value.'
  const path = pathOf(uri)
  if (path === undefined) return 'X-Forwarded-Uri has to be a path, without a fragment.'
  const isNavigation = navigates(headers)
  const isRead = asked.method === undefined || asked.method === 'GET' || asked.method === 'HEAD'
  const methods = methodsOf(asked.method, uri, headers)
  const { origin, 'access-control-request-method': requested } = headers
  const isPreflight = origin !== undefined && /^[\w-]+$/.test(requested ?? '') && methods.join() === 'OPTIONS'
  return {
    host: normalHost(host),
    /** The path and query. */
    uri,
    path,
    /** The methods that the application may read from the request; for a preflight, the requested one. */
    methods: isPreflight ? [methodName(requested!)] : methods,
    cookie: headers.cookie,
    authorization: headers.authorization,
    /** Of the page whose script sends the request. */
    origin,
    /** See https://fetch.spec.whatwg.org/#cors-preflight-request. Browsers send no credential with it. */
    isPreflight,
    /** Whether Envoy asks, or a proxy lets this service answer a preflight. */
    isEnvoy,
    /** Whether a browser shows the answer as a page, so that a redirect makes sense. */
    isPage: isRead && isNavigation,
    /** Whether a browser sent a form and shows the answer as a page. */
    isForm: !isRead && isNavigation,
    acceptLanguage: headers['accept-language'],
  }
}

/** With these headers, clients ask some frameworks for another method than the request's. */
const methodOverrides = ['x-http-method-override', 'x-http-method', 'x-method-override'] as const
/** For a request whose method the proxy did not send, or that asks for many methods. No rule names it. */
const unknownMethod = '?'

/**
 * The methods that an application may read from a request: its own, and those in a header or in `_method` of the query. The rules must
 * allow each. `HEAD` counts as `GET`.
 */
export function methodsOf(
  method = unknownMethod,
  uri: string,
  headers: IncomingHttpHeaders,
): readonly string[] {
  const parameters = [...new URLSearchParams(/\?.*/s.exec(uri)?.[0])]
  const named = parameters.filter(([name]) => name.toLowerCase() === '_method').map(([, value]) => value)
  const others = methodOverrides.flatMap((name) => headers[name] ?? []).concat(named)
  return others.length > 4 ? [unknownMethod] : [...new Set([method, ...others].map(methodName))]
}

/** Some frameworks treat `delete` as `DELETE`. */
function methodName(method: string): string {
  const name = method.toUpperCase()
  return name === 'HEAD' ? 'GET' : name
}

/** The path of a path and query; `undefined` for other texts. */
export function pathOf(uri: string): string | undefined {
  if (!uri.startsWith('/') || uri.includes('#')) return undefined
  const query = uri.indexOf('?')
  return query < 0 ? uri : uri.slice(0, query)
}

/** Two headers with one name arrive as one with a comma. A path may have a comma, so such a pair is recognized by its space. */
export function single(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  return /,\s/.test(header) ? undefined : header
}

/** In lowercase, without the default port and without a dot at its end. */
export function normalHost(host: string): string {
  const lower = host.toLowerCase()
  return lower.replace(/:(?:80|443)$/, '').replace(/\.(?=:\d+$|$)/, '')
}

/** Whether a browser will show the answer as the page of a tab: by Sec-Fetch-Dest, or without it by Accept. */
function navigates(headers: IncomingHttpHeaders): boolean {
  const destination = headers['sec-fetch-dest']
  if (destination !== undefined) return destination === 'document'
  return wantsPage({ headers })
}

/** Characters of an escaped path: /login takes 2,048, and the path is in a parameter of its parameter. */
const longestReturn = 1_500

/**
 * Where the browser returns to at the same host: a path and query. One that a browser could take for another site is replaced by `/`;
 * of one that is too long, the query is left out.
 */
export function returnPath(uri: string | undefined): string {
  // Other characters than ASCII come escaped.
  if (uri === undefined || !isLocalPath(uri) || /[^!-~]/.test(uri)) return '/'
  if (encodeURIComponent(uri).length <= longestReturn) return uri
  const path = /^[^?#]*/.exec(uri)![0]
  return encodeURIComponent(path).length <= longestReturn ? path : '/'
}

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
  if (guarded.namesMethods && forwarded.methods.includes(unknownMethod))
    return {
      code: 'unreadable',
      detail: 'Rules of the host name methods, so the proxy has to send X-Forwarded-Method, with one value.',
      advice: 'Correct the configuration of the proxy.',
    }
  // The redirect to the sign-in would be redirected to the sign-in, for ever.
  if (!guarded.isOwn && forwarded.path.startsWith(signInPaths))
    return {
      code: 'guarded-sign-in',
      detail: `The proxy asked about the sign-in of this host, below ${signInPaths}.`,
      advice: `Let the proxy pass ${signInPaths} of this host on to Postern, without asking first.`,
    }
  return { forwarded, guarded }
}
