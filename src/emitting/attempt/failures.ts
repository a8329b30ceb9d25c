import type { Outcome, Step } from '../../network/exchange.ts'

/** Why an attempt failed: a stable kind and a message. `troubleshootingHint` has the remedies. */
export interface Failure {
  kind: FailureKind
  message: string
}

/** Network errors by their code. */
const byCode = {
  ECONNREFUSED: ['refused', 'the connection was refused: nothing listens at this address'],
  ECONNRESET: ['closed', 'the connection was reset before the response was complete'],
  EPIPE: ['closed', 'the connection was closed while the request was being sent'],
  UND_ERR_SOCKET: ['closed', 'the connection was closed before the response was complete'],
  EHOSTUNREACH: ['unreachable', 'the host cannot be reached'],
  ENETUNREACH: ['unreachable', 'the network cannot be reached'],
  ENOTFOUND: ['name-not-found', 'the host name does not resolve'],
  EAI_AGAIN: ['name-unavailable', 'the host name could not be resolved at the moment'],
  UND_ERR_HEADERS_OVERFLOW: ['headers-too-large', "the response's headers are too large"],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: [
    'wrong-length',
    "the response's body is not as long as its Content-Length says",
  ],
  UND_ERR_PRX_TLS: ['proxy-failed', 'the TLS connection to the proxy failed'],
  UND_ERR_PRX_CONN: ['proxy-failed', 'the proxy closed the connection'],
  ENDLESS_INTERIM: ['not-http', 'interim responses (1xx) came without end, and no final response'],
  CERT_HAS_EXPIRED: ['tls-expired', 'the TLS certificate has expired'],
  CERT_NOT_YET_VALID: ['tls-expired', 'the TLS certificate is not valid yet'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls-untrusted', 'the TLS certificate is self-signed'],
  SELF_SIGNED_CERT_IN_CHAIN: [
    'tls-untrusted',
    'the TLS certificate chain contains a self-signed certificate',
  ],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls-untrusted', 'the TLS certificate has an unknown issuer'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'tls-incomplete',
    'the TLS certificate cannot be verified: an intermediate certificate is missing',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls-wrong-name', 'the TLS certificate is for another host name'],
} as const satisfies Record<string, readonly [FailureKind, message: string]>

const slow = {
  dns: ['timeout-dns', 'the host name was not resolved'],
  connect: ['timeout-connect', 'no connection was established'],
  tls: ['timeout-tls', 'the TLS handshake did not end'],
  answer: ['timeout-answer', 'no response'],
  body: ['timeout-body', "the response's body did not end"],
} as const satisfies Record<Step, readonly [FailureKind, message: string]>

const byStatus = {
  400: 'rejected',
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'no-such-path',
  405: 'no-such-path',
  410: 'gone',
  413: 'too-large',
  415: 'rejected',
  422: 'rejected',
  429: 'too-many-requests',
} as const satisfies Record<number, FailureKind>

/** The failure of a response whose status is not 2xx. */
export function failureOfStatus(status: number, location: string | undefined): Failure {
  if (status >= 300 && status <= 399) {
    const to = location === undefined ? '' : ` to ${location.slice(0, 500)}`
    return { kind: 'redirect', message: `returned HTTP ${status}${to}: redirects are not followed` }
  }
  const known = byStatus[status as keyof typeof byStatus] as FailureKind | undefined
  const kind = known ?? (status < 500 ? 'client-error' : 'server-error')
  return { kind, message: `returned HTTP ${status}` }
}

/** @param limit milliseconds */
export function failureOfTime(step: Step, limit: number): Failure {
  const [kind, what] = slow[step]
  return { kind, message: `${what} within ${limit / 1000} s` }
}

/** Why an exchange failed. The message contains no NUL, which PostgreSQL does not store. */
export function failureOfError({ error, status, step, phases }: Outcome): Failure {
  const cause = innermost(error)
  const { code } = cause as { code?: unknown }
  const fault = status === null ? faultOfHead(cause) : undefined
  if (fault !== undefined) return { kind: 'not-http', message: fault }
  if (code === 'RESERVED_ADDRESS' || code === 'REFUSED_PORT')
    return { kind: 'address-refused', message: cause.message }
  if (typeof code === 'string' && code in byCode) {
    const [kind, message] = byCode[code as keyof typeof byCode]
    // A server without TLS, or with another version, closes the connection.
    if (step === 'tls' && kind === 'closed')
      return { kind: 'tls-failed', message: 'the connection was closed during the TLS handshake' }
    // With TLS 1.3, a server checks the client's certificate when the handshake has ended for the client.
    if (step === 'answer' && kind === 'closed' && phases.tls !== undefined)
      return {
        kind,
        message: `${message}, right after the TLS handshake: the server may require a client certificate`,
      }
    return { kind, message }
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return failureOfTime(step, Math.round(phases.total / 100) * 100)
  if (cause.message.startsWith('Proxy response'))
    return { kind: 'proxy-failed', message: `the proxy rejected the connection: ${cause.message}` }
  // undici fails an assertion if a response breaks the protocol, for example by an upgrade that nobody requested.
  if (cause.name === 'HTTPParserError' || code === 'ERR_ASSERTION')
    return { kind: 'not-http', message: 'the response is not valid HTTP' }
  if (typeof code === 'string' && (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')))
    return { kind: 'tls-failed', message: alertInWords(code) ?? `TLS failed (${code})` }
  const text = cause.message.replaceAll('\0', '').toWellFormed().slice(0, 500)
  return { kind: 'other', message: `the request failed: ${text}` }
}

/** Why the head of an answer could not be read. undici reports most faults of a head with Content-Length as a wrong length. */
function faultOfHead(cause: Error & { code?: unknown }): string | undefined {
  const isParsed = cause.name === 'HTTPParserError'
  if (!isParsed && cause.code !== 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return undefined
  const reason = /\(([\w ,.:;/'`-]+)\)$/.exec(cause.message)?.[1]
  return isParsed && reason !== undefined
    ? `the response is not valid HTTP/1.1: ${reason}`
    : 'the response is not valid HTTP/1.1: a header is invalid, or continued on a second line, or Content-Length occurs twice'
}

/** What the alert of a server means. Codes are OpenSSL's names. */
function alertInWords(code: string): string | undefined {
  if (code.endsWith('NO_APPLICATION_PROTOCOL'))
    return 'the server rejected HTTP/1.1 in the TLS handshake (ALPN): it speaks only HTTP/2'
  if (code.endsWith('CERTIFICATE_REQUIRED'))
    return 'the server requires a client certificate, and none was sent'
  return undefined
}

/**
 * Hides from an owner whether a name is unknown or resolves to a private address. Otherwise the delivery log would reveal the names
 * of the private network. A proxy is asked for the unknown names only, so its failures are hidden as well; not those of TLS, for which
 * it has connected.
 */
export function withoutResolution(failure: Failure, { error, unresolved }: Outcome): Failure {
  const { resolved } = innermost(error) as { resolved?: unknown }
  const ofProxy = unresolved && !failure.kind.startsWith('tls-')
  if (resolved !== true && failure.kind !== 'name-not-found' && !ofProxy) return failure
  return { kind: 'name-not-found', message: 'the host name does not resolve to a public address' }
}

/** net.connect tries several addresses and reports an AggregateError, which has no message. */
function innermost(error: unknown): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  return error instanceof Error ? error : new Error(String(error))
}

const handler = 'Check the log of the receiving application at that time.'

/** What the operator of an endpoint can do about each kind of failure. */
const hints = {
  refused:
    'Check that the receiving service is running, that the port in the URL is correct, and that no firewall rejects the connection.',
  closed: `The endpoint, or a proxy or load balancer in front of it, ended the connection. Servers that require a client certificate also do that; set one in the settings of the endpoint. ${handler}`,
  unreachable: 'Check the URL, and the routes and firewalls between this service and the endpoint.',
  'name-not-found': 'Check the host in the URL for typos, and that its DNS record exists.',
  'name-unavailable':
    'The name servers did not respond. If this continues, check the resolver of this machine and the name servers of the domain.',
  'headers-too-large': 'Send fewer or shorter response headers: at most 32 KiB are read.',
  'wrong-length':
    'Correct the Content-Length header of the response, or omit it. A proxy may have truncated the body.',
  'not-http':
    'Check that the port speaks HTTP/1.1 and not only HTTP/2, that the URL uses the right scheme, http or https, and that no header is sent twice or on several lines.',
  'tls-expired': 'Renew the certificate, and check that the clock of the endpoint is correct.',
  'tls-untrusted':
    'Install a certificate from a public certificate authority. For your own authority, set its certificate in the settings of the endpoint, or start this service with NODE_EXTRA_CA_CERTS.',
  'tls-incomplete': 'Configure the server to send its intermediate certificates as well (the “full chain”).',
  'tls-wrong-name':
    'Use the host name that the certificate was issued for, or get one that includes this name.',
  'tls-failed':
    'Check that the port speaks TLS 1.2 or newer and HTTP/1.1, not only HTTP/2, and, if it requires a client certificate, that the settings of the endpoint have it.',
  'timeout-dns':
    'The resolver is slow. Check the resolver of this machine and the name servers of the domain.',
  'timeout-connect':
    'Packets are dropped, usually by a firewall. Allow connections from this service to that port.',
  'timeout-tls':
    'The server accepted the connection and then sent nothing: it may be overloaded, or not use TLS on this port.',
  'timeout-answer': 'Respond before processing: store the event, return 2xx, and process it from a queue.',
  'timeout-body': 'Send a short body or none, and end it immediately: only the status counts.',
  rejected: `The endpoint did not accept the event. Check that it takes application/json of this type. ${handler}`,
  unauthorized:
    'Check the signing secret that the endpoint verifies with, its clock, and headers or firewalls that require credentials.',
  'no-such-path': 'Check the path of the URL, and that it accepts the method, which is POST by default.',
  gone: 'The endpoint rejects all further events. If that is wrong, enable it again.',
  aborted:
    'The endpoint asked for no more attempts to deliver this event. Replay the delivery if it wants the event now.',
  'too-large':
    'Raise the limit for bodies at the endpoint and at proxies in front of it, or emit smaller events.',
  'too-many-requests':
    'Set a rate limit that this endpoint can handle. The service respects a Retry-After header.',
  redirect: 'Register the final URL. Redirects are not followed.',
  'client-error': `The endpoint did not accept the request. ${handler}`,
  'server-error': `The endpoint, or one of its dependencies, failed. ${handler}`,
  'address-refused':
    'Use a public address and a usual port. EMIT_ALLOWED_NETWORKS and EMIT_ALLOWED_HOSTS allow private addresses for endpoints without a customer; EMIT_PORTS allows ports.',
  'proxy-failed':
    'Check EMIT_PROXY, its credentials, and whether the proxy allows connections to this host and port.',
  'unexpected-status': 'Check the statuses that count as a success in the settings of the endpoint.',
  'token-failed':
    'Check the token URL, client ID, client secret and scope of the endpoint, and that its authorization server is available.',
  'transformation-failed':
    'Correct the transformation of the endpoint, and test it with this event. The next attempt runs the new code.',
  canceled: 'The transformation of the endpoint canceled this event, so nothing was sent.',
  'destination-failed':
    'The deliver function of the destination failed. Check the settings of the endpoint and that the destination is available.',
  'destination-timeout':
    'The deliver function took longer than the timeout of the endpoint. The event may still have arrived: the next attempt repeats its ID.',
  'payload-gone': 'The payload was removed because of its age. Emit the event again if it is still needed.',
  'other-audience':
    'The event belongs to the previous customer of the endpoint. Emit it again for the right customer.',
  other: handler,
}

type FailureKind = keyof typeof hints

/** One or two sentences; `null` for an unknown kind, for example of a newer version. */
export function troubleshootingHint(kind: string | null): string | null {
  return kind !== null && Object.hasOwn(hints, kind) ? hints[kind as FailureKind] : null
}
