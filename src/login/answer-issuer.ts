import type { ServerMetadata } from 'openid-client'
import type { OAuthProvider, OpenIdProvider } from './providers/resolved-provider.ts'

/** What an answer at the callback says of where it comes from. */
export interface AnswerOrigin {
  /** Its `iss`. */
  issuer: string | undefined
  /** Whether it is an error. */
  refused: boolean
}

/**
 * RFC 9207, section 2.4, for a discovered provider: an answer, an error too, that names its issuer must name the one
 * that was asked, and where the provider says that it always does, it must be there. The names of the one that was asked
 * are that of the configuration, that of the discovery document, and for documents that speak for many issuers, any of
 * those. @throws when it is another one's.
 */
export function checkDiscoveredIssuer(
  { issuer: configured, quirks }: OpenIdProvider,
  { issuer, authorization_response_iss_parameter_supported: advertised }: ServerMetadata,
  answer: AnswerOrigin,
): void {
  const named = answer.issuer
  if (named === undefined) {
    if (advertised === true) throw missing()
    return
  }
  if (named === issuer || named === configured) return
  if (quirks.answerIssuer?.(named, issuer) !== true) throw another()
}

/**
 * The same for plain OAuth 2.0, where a preset knows the issuer and nothing is advertised: an error without it leads to
 * no sign-in whoever sent it. An address of one's own (a proxy, a server of one's own) may not send it, or name itself.
 */
export function checkKnownIssuer(provider: OAuthProvider, answer: AnswerOrigin): void {
  const { issuer: named, refused } = answer
  const { responseIssuer, ownAddress, authUrl } = provider
  if (named === undefined) {
    if (responseIssuer === undefined || ownAddress || refused) return
    throw missing()
  }
  if (named === responseIssuer) return
  if (ownAddress && URL.canParse(named) && new URL(named).origin === new URL(authUrl).origin) return
  throw another()
}

function missing(): Error {
  return new Error('the answer does not name its issuer, though this provider always does')
}

function another(): Error {
  return new Error('the answer names another issuer than the one that was asked')
}
