import { printable } from '../../telemetry/printable.ts'
import { ReauthenticationUnproven } from './profile.ts'
import type { FailureCode } from '../flow/failures.ts'

/** What a provider says about a failure (RFC 6749, section 4.1.2.1), and Facebook in parameters of its own. For the log only. */
type ProviderSaid = Partial<
  Record<'error' | 'error_description' | 'error_uri' | 'error_code' | 'error_message', string | undefined>
>

const longestWord = 100
const longestText = 500

/** The words on one printable line: anyone can send any parameters to a callback. */
export function quoteProvider(said: ProviderSaid): string {
  const code = said.error ?? said.error_code ?? 'no error code'
  const texts = [said.error_description, said.error_message, said.error_uri]
  const parts = [
    JSON.stringify(code.slice(0, longestWord)),
    ...texts.flatMap((text) => (typeof text === 'string' ? [text.slice(0, longestText)] : [])),
  ]
  return printable(parts.join(' '))
}

/** The discovery document cannot be read or used. */
export class DiscoveryFailed extends Error {
  override readonly name = 'DiscoveryFailed'
  /** What is wrong, for the log and for `postern doctor`. */
  readonly reason: string

  constructor(reason: string, cause: unknown) {
    super(`the provider cannot be discovered: ${reason}`, { cause })
    this.reason = reason
  }
}

/** The authorization response is an error (RFC 6749, section 4.1.2.1). */
export class ProviderReturnedError extends Error {
  readonly error: string
  constructor(said: ProviderSaid) {
    super(`the provider answered ${quoteProvider(said)}`)
    this.name = 'ProviderReturnedError'
    this.error = said.error ?? ''
  }
}

/** The token endpoint answered with an error (RFC 6749, section 5.2). openid-client's error has its description only as a property. */
class TokenRequestRefused extends Error {
  readonly error: string
  readonly status: number
  /** @param said the answer, of which only the explanation is read */
  constructor(error: string, status: number, said: ProviderSaid, cause: unknown) {
    super(`the token endpoint answered ${quoteProvider({ ...said, error })}`, { cause })
    this.name = 'TokenRequestRefused'
    this.error = error
    this.status = status
  }
}

/** For errors of token requests. @throws TokenRequestRefused, or the error itself if it is not an answer */
export function refusedTokens(error: unknown): never {
  if ((error as Error).name !== 'ResponseBodyError') throw error
  const { error: code, status, cause } = error as { error: string; status: number; cause: ProviderSaid }
  throw new TokenRequestRefused(code, status, cause, error)
}

/** The provider's API answered the request for the profile with an error. */
export class ProfileRefused extends Error {
  readonly status: number
  constructor(status: number, cause?: unknown) {
    super(`the profile request failed with status ${status}`, { cause })
    this.name = 'ProfileRefused'
    this.status = status
  }
}

/** A document of the provider's API could not be read this time. */
export class ProviderUnavailable extends Error {
  constructor(cause: unknown) {
    super('a profile document could not be read', { cause })
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
  if (error instanceof ProfileRefused || error instanceof TokenRequestRefused) return 'provider-refused'
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
