import type { IncomingHttpHeaders } from 'node:http'

/** Names that tell of credentials or signatures, and those that are about the connection and not about the event. */
const left =
  /auth|cookie|secret|token|signature|hmac|password|api-?key|^(?:host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|accept|accept-encoding)$/

/** Whether a header is kept, by its name; the senders choose names, so what is remembered is bounded. */
const known = new Map<string, boolean>()

/** The headers to keep with an event, as JSON: those without credentials. */
export function keptHeaders(headers: IncomingHttpHeaders): string {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && isKept(name)) kept[name] = value
  }
  return JSON.stringify(kept)
}

function isKept(name: string): boolean {
  let kept = known.get(name)
  if (kept === undefined) {
    kept = !left.test(name)
    if (known.size < 1_000) known.set(name, kept)
  }
  return kept
}
