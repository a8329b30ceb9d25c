import { OAuthError } from '../oauth-error.ts'

/** A client could not authenticate, or asked for more than it may: the audit log gets an entry. */
export class RefusedClient extends OAuthError {
  /** The reason, for the audit log. */
  readonly code: string
  /** As the request names it. No such client need exist. */
  readonly clientId: string | undefined

  constructor(
    code: string,
    clientId: string | undefined,
    ...about: ConstructorParameters<typeof OAuthError>
  ) {
    super(...about)
    this.code = code
    this.clientId = clientId
  }
}
