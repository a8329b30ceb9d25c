import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { ProvidedIdentity } from '../accounts/users.ts'
import type { ProfileDocument } from './profile.ts'

/** What a provider's token endpoint gave. It stays on the server. */
export interface IssuedTokens {
  accessToken: string
  /** Some providers give one only at the first consent, or only when a refresh replaces it. */
  refreshToken: string | undefined
  /** Seconds from now; undefined when the provider does not say. */
  expiresIn: number | undefined
  /** Space-separated; undefined when it is what was asked for. */
  scope: string | undefined
}

/** A provider's answer to a sign-in: who it is, the whole profile as it came, and the tokens for the provider's API. */
export interface Vouched {
  identity: ProvidedIdentity
  profile: ProfileDocument
  tokens: IssuedTokens
}

export function issuedTokens(
  response: TokenEndpointResponse & Partial<TokenEndpointResponseHelpers>,
): IssuedTokens {
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token || undefined,
    expiresIn: response.expiresIn?.() ?? response.expires_in,
    scope: response.scope || undefined,
  }
}
