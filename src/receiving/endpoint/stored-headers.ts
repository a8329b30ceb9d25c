import type { IncomingHttpHeaders } from 'node:http'
import { type Verification, verifiedName } from '../../events/store.ts'
import { isSensitiveHeader } from '../../telemetry/redaction.ts'

/** Names of headers about the connection. */
const connection =
  /^(?:host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|accept|accept-encoding)$/

/** Whether a header is stored, by its name. Senders choose the names, so the size is bounded. */
const known = new Map<string, boolean>()

/**
 * Returns the headers to store with an event, as JSON without credentials.
 * @param signatureHeader another header with a signature
 * @param verified stored under a name that no header can have, see events/store.ts
 */
export function headersToStore(
  headers: IncomingHttpHeaders,
  signatureHeader?: string,
  verified?: Verification,
): string {
  const stored: Record<string, unknown> = {}
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' && name !== signatureHeader && isStored(name)) stored[name] = value
  }
  if (verified) stored[verifiedName] = verified
  return JSON.stringify(stored)
}

export function isAboutConnection(name: string): boolean {
  return connection.test(name)
}

function isStored(name: string): boolean {
  let stored = known.get(name)
  if (stored === undefined) {
    stored = !isSensitiveHeader(name) && !isAboutConnection(name)
    if (known.size < 1_000) known.set(name, stored)
  }
  return stored
}
