/** A session at a host other than the service's own: the cookie there has a token of its own. */
export interface HostSessionsTable {
  /** SHA-256 of the cookie's token. */
  token_hash: Uint8Array
  session_id: string
  /** With the port, if it is not the default one. */
  host: string
  created_at: number
}

/** A one-time code that carries a session to another host. */
export interface HostCodesTable {
  code_hash: Uint8Array
  session_id: string
  host: string
  /** SHA-256 of the value of the binding cookie at that host. */
  browser_hash: Uint8Array
  /** The path to return to. */
  return_to: string
  expires_at: number
}
