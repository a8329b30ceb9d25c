/** An authorization request that waits for its user. */
export interface AuthorizationRequestsTable {
  /** SHA-256 of the random part of its `request_uri`. */
  request_hash: Uint8Array
  client_id: string
  /** JSON: pairs of name and value. */
  parameters: string
  /** 1 if the client pushed it (RFC 9126). */
  pushed: number
  created_at: number
  expires_at: number
}
