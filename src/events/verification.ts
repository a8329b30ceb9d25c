/** How a received event was shown to come from its sender. */
export interface Verification {
  /** The scheme's name. */
  readonly scheme: string
  /** The place among the source's secrets of the one that verified, from 1; schemes of one's own may not tell. */
  readonly secret?: number
  /** The time that the sender signed, in milliseconds since 1970. */
  readonly signedAt?: number
}

/**
 * Kept in one text with the event's headers, so that storing an event costs no column more. No header has a name with a
 * colon (RFC 9110, section 5.1).
 */
export const verifiedName = ':verified'

/** Takes apart what is kept as an event's headers. */
export function readStoredHeaders(json: string | null): {
  headers: Record<string, string>
  verification: Verification | undefined
} {
  const { [verifiedName]: verification, ...headers } = JSON.parse(json ?? '{}') as Record<string, unknown>
  return {
    headers: headers as Record<string, string>,
    verification: verification as Verification | undefined,
  }
}
