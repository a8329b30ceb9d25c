import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import { storableText } from '../../storage/text.ts'

/** The response of a provider's token endpoint. It stays on the server. */
export interface IssuedTokens {
  accessToken: string
  /** Some providers send one only at the first consent, or only when a refresh replaces it. */
  refreshToken: string | undefined
  /** Whole seconds from now, ten years at most; undefined when the provider does not say. */
  expiresIn: number | undefined
  /** Space-separated, at most 2000 characters; undefined when it equals the requested scope. */
  scope: string | undefined
}

const maxSeconds = 10 * 365 * 86_400
const maxScopeCharacters = 2_000

/**
 * Reads a token response and bounds its values. The provider may have replaced the refresh token already, so a value
 * that the database rejects would lose it.
 */
export function issuedTokens(
  response: TokenEndpointResponse & Partial<TokenEndpointResponseHelpers>,
): IssuedTokens {
  const seconds = response.expiresIn?.() ?? response.expires_in
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token || undefined,
    expiresIn: seconds === undefined ? undefined : Math.floor(Math.min(Math.max(seconds, 0), maxSeconds)),
    scope: response.scope === undefined ? undefined : scopeOf(response.scope),
  }
}

function scopeOf(scope: string): string | undefined {
  return storableText(scope, maxScopeCharacters) || undefined
}
