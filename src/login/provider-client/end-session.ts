import type { ServerMetadata } from 'openid-client'
import type { OpenIdProvider } from '../providers/resolved-provider.ts'

/** A sign-out that goes on at the provider. */
export interface EndSessionRequest {
  /** Where the provider sends the browser afterwards. It has to be registered at the provider. */
  postLogoutRedirectUri: string
  /** Comes back with the browser. */
  state: string
}

/**
 * The provider's address for ending its own session (OpenID Connect RP-Initiated Logout 1.0, section 2); `undefined` if the
 * discovery document has none that a browser may be sent to. The id_token is not stored, so `client_id` takes the place of
 * `id_token_hint`; the provider may then ask the person before it signs out.
 */
export function endSessionAddress(
  { issuer, clientId }: Pick<OpenIdProvider, 'issuer' | 'clientId'>,
  { end_session_endpoint: endpoint }: ServerMetadata,
  { postLogoutRedirectUri, state }: EndSessionRequest,
): URL | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined
  const url = new URL(endpoint)
  // As secure as the issuer at least; never `javascript:`.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && issuer.startsWith('http:'))) return undefined
  url.searchParams.set('client_id', clientId)
  url.searchParams.set('post_logout_redirect_uri', postLogoutRedirectUri)
  url.searchParams.set('state', state)
  return url
}
