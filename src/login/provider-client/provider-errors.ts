import { ReauthenticationUnproven } from './authentication-claims.ts'
import { DiscoveryFailed } from './discovery.ts'
import type { FailureCode } from '../flow/failures.ts'

/** The authorization response is an error (RFC 6749, section 4.1.2.1). */
export class ProviderReturnedError extends Error {
  readonly error: string
  constructor(error: string) {
    super(`the provider answered ${JSON.stringify(error.slice(0, 100))}`)
    this.name = 'ProviderReturnedError'
    this.error = error
  }
}

/** The provider's API answered the request for the profile with an error. */
export class ProfileRefused extends Error {
  readonly status: number
  /** Whether the status is that of a rate limit. */
  readonly isRateLimit: boolean
  constructor(
    status: number,
    { isRateLimit = false, cause }: { isRateLimit?: boolean; cause?: unknown } = {},
  ) {
    super(`the request for the profile was answered with status ${status}`, { cause })
    this.name = 'ProfileRefused'
    this.status = status
    this.isRateLimit = isRateLimit
  }
}

/** A document of the provider's API could not be read this time. */
export class ProviderUnavailable extends Error {
  constructor(cause: unknown) {
    super('a document of the profile could not be read', { cause })
    this.name = 'ProviderUnavailable'
  }
}

/** The account exists at the provider, but the configuration does not admit it. */
export class AccountNotAdmitted extends Error {
  /** The verified id of the account, if it was read already. */
  readonly providerId: string | undefined
  constructor(reason: string, providerId?: string) {
    super(reason)
    this.providerId = providerId
    this.name = 'AccountNotAdmitted'
  }
}

/** The failure code of an error that a call to the provider threw: errors of this room, openid-client and fetch. */
export function providerErrorCode(error: unknown): FailureCode {
  const { name, code, message, status, cause } = error as {
    name?: string
    code?: string
    message?: string
    status?: number
    cause?: unknown
  }
  if (error instanceof DiscoveryFailed) return providerErrorCode(cause)
  if (error instanceof ProviderReturnedError) return returnedErrorCode(error.error)
  if (error instanceof ProviderUnavailable) return 'provider-unavailable'
  if (error instanceof AccountNotAdmitted) return 'account-not-admitted'
  if (error instanceof ReauthenticationUnproven) return 'reauthentication-unproven'
  const answered = status ?? (cause instanceof Response ? cause.status : 0)
  if (answered >= 500 || answered === 429) return 'provider-unavailable'
  if (error instanceof ProfileRefused || name === 'ResponseBodyError') return 'provider-refused'
  if (name === 'WWWAuthenticateChallengeError') return 'provider-refused'
  if (name === 'TimeoutError' || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT')
    return 'provider-unavailable'
  if (error instanceof TypeError && /^(request failed|fetch failed|The address)/.test(message ?? ''))
    return 'provider-unavailable'
  return 'provider-answer-invalid'
}

function returnedErrorCode(error: string): FailureCode {
  // `user_cancelled_…` are Apple's and LinkedIn's own codes for access_denied.
  if (/^(access_denied|user_cancelled_\w{1,30})$/.test(error)) return 'access-denied'
  if (error === 'temporarily_unavailable' || error === 'server_error') return 'provider-unavailable'
  return 'provider-refused'
}
