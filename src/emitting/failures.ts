/** What errors of the network mean, in plain words, by their code. */
const words: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused: nothing listens at this address',
  ECONNRESET: 'the connection was reset before the answer was complete',
  EPIPE: 'the connection was closed while the request was being sent',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name could not be resolved just now',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was established in time',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer's body is not as long as its Content-Length says",
  CERT_HAS_EXPIRED: 'the TLS certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the TLS certificate chain holds a self-signed certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the TLS certificate cannot be verified: an intermediate certificate is missing',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the TLS certificate is for another host name',
}

/** One sentence about why an exchange failed. It holds no NUL, which PostgreSQL does not store. */
export function explainFailure(error: unknown): string {
  const cause = innermost(error)
  const code = (cause as { code?: unknown }).code
  if (code === 'RESERVED_ADDRESS') return cause.message
  if (typeof code === 'string' && words[code]) return words[code]
  if (cause.name === 'HTTPParserError') return 'the answer is not valid HTTP'
  if (typeof code === 'string' && code.startsWith('ERR_SSL')) return `TLS failed (${code})`
  return `the request failed: ${cause.message}`.replaceAll('\0', '').toWellFormed().slice(0, 500)
}

/** net.connect tries several addresses and reports an AggregateError without a message of its own. */
function innermost(error: unknown): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  return error instanceof Error ? error : new Error(String(error))
}
