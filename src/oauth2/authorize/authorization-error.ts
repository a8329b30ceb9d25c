/**
 * An error that the client gets at its redirect URI (RFC 6749, section 4.1.2.1; OpenID Connect Core, section 3.1.2.6).
 * The description is for developers.
 */
export class AuthorizationError extends Error {
  readonly error: string

  constructor(error: string, description: string) {
    super(description)
    this.error = error
  }
}
