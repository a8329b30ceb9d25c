/** The claims of an access token (RFC 9068, section 2.2). Frozen: one object is given to all requests with the token. */
export interface AccessTokenClaims {
  readonly iss: string
  /** The user's id; of a token without a user, the client's. */
  readonly sub: string
  readonly aud: string | readonly string[]
  /** Seconds since 1970. */
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly client_id: string
  readonly scope?: string
  readonly auth_time?: number
  /** The session: it can be ended at the service. */
  readonly sid?: string
  readonly [claim: string]: unknown
}
