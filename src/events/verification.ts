/** How a received event was verified. */
export interface Verification {
  /** The scheme's name. */
  readonly scheme: string
  /** Which secret of the source verified it, counted from 1. Custom schemes may omit it. */
  readonly secret?: number
  /** The time that the sender signed, in milliseconds since 1970. */
  readonly signedAt?: number
}

/**
 * The verification is stored with the headers of the event, which saves a column. The name of a header cannot contain a colon
 * (RFC 9110, section 5.1).
 */
export const verifiedName = ':verified'

/** Separates the stored headers from the verification. */
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
