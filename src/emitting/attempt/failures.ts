import type { Outcome, Step } from '../../network/exchange.ts'

/** Why an attempt failed: a stable kind and a message. troubleshooting-hints.ts has the remedies. */
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
} as const satisfies Record<string, readonly [kind: string, message: string]>

const slow = {
  dns: ['timeout-dns', 'the host name was not resolved'],
  connect: ['timeout-connect', 'no connection was established'],
  tls: ['timeout-tls', 'the TLS handshake did not end'],
  answer: ['timeout-answer', 'no response'],
  body: ['timeout-body', "the response's body did not end"],
} as const satisfies Record<Step, readonly [kind: string, message: string]>

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
} as const satisfies Record<number, string>

export type FailureKind =
  | (typeof byCode)[keyof typeof byCode][0]
  | (typeof slow)[Step][0]
  | (typeof byStatus)[keyof typeof byStatus]
  | 'redirect'
  | 'client-error'
  | 'server-error'
  | 'address-refused'
  | 'tls-failed'
  | 'payload-gone'
  | 'other-audience'
  | 'aborted'
  | 'other'

/** The failure of a response by its status; `undefined` for 2xx. */
export function failureOfStatus(status: number, location: string | undefined): Failure | undefined {
  if (status >= 200 && status <= 299) return undefined
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
  if (code.endsWith('CERTIFICATE_REQUIRED')) return 'the server requires a client certificate; none is sent'
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
