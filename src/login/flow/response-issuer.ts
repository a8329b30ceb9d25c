import type { ServerMetadata } from 'openid-client'
import type { OAuthProvider, OpenIdProvider } from '../providers/resolved-provider.ts'

/** The parts of an authorization response that its issuer is checked by. */
export interface ResponseOrigin {
  /** The parameter `iss`. */
  issuer: string | undefined
  /** Whether the response is an error. */
  isError: boolean
}

/**
 * RFC 9207, section 2.4, for a discovered provider. If the response (also an error) has `iss`, it must be the issuer of the
 * configuration or of the discovery document, or one of the issuers that a multi-tenant document stands for. If the document
 * advertises `iss`, it must be present.
 * @throws when the response is not from this provider.
 */
export function checkDiscoveredIssuer(
  { issuer: configured, quirks }: OpenIdProvider,
  { issuer, authorization_response_iss_parameter_supported: advertised }: ServerMetadata,
  { issuer: named }: ResponseOrigin,
): void {
  if (named === undefined) {
    if (advertised === true) throw missingIssuer()
    return
  }
  if (named === issuer || named === configured) return
  if (quirks.acceptsResponseIssuer?.(named, issuer) !== true) throw wrongIssuer()
}

/**
 * The same for plain OAuth 2.0, where the preset knows the issuer. An error response may omit `iss`: it cannot lead to a
 * sign-in. With a configured address (a proxy, a self-hosted server) `iss` may be missing or be the origin of that address.
 */
export function checkKnownIssuer(provider: OAuthProvider, { issuer: named, isError }: ResponseOrigin): void {
  const { expectedResponseIssuer, hasConfiguredAuthUrl, authUrl } = provider
  if (named === undefined) {
    if (expectedResponseIssuer === undefined || hasConfiguredAuthUrl || isError) return
    throw missingIssuer()
  }
  if (named === expectedResponseIssuer) return
  if (hasConfiguredAuthUrl && URL.canParse(named) && new URL(named).origin === new URL(authUrl).origin) return
  throw wrongIssuer()
}

function missingIssuer(): Error {
  return new Error('the response does not name its issuer (iss), although this provider always does')
}

function wrongIssuer(): Error {
  return new Error('the response names another issuer (iss) than that of this provider')
}
