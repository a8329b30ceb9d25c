import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { Authentication } from '../accounts/authentication.ts'
import type { ProvidedIdentity } from '../accounts/users.ts'
import { storable, type ProfileDocument } from './profile.ts'

/** What a provider's token endpoint gave. It stays on the server. */
export interface IssuedTokens {
  accessToken: string
  /** Some providers give one only at the first consent, or only when a refresh replaces it. */
  refreshToken: string | undefined
  /** Whole seconds from now, ten years at most; undefined when the provider does not say. */
  expiresIn: number | undefined
  /** Space-separated, at most 2000 characters; undefined when it is what was asked for. */
  scope: string | undefined
}

/** A provider's answer to a sign-in: who it is, how they were authenticated, the whole profile as it came, and the tokens for the provider's API. */
export interface Vouched {
  identity: ProvidedIdentity
  authentication: Authentication
  profile: ProfileDocument
  tokens: IssuedTokens
}

/** Seconds. */
const longest = 10 * 365 * 86_400
const longestScope = 2_000

/**
 * What is stored of it is such that it can be: the provider has replaced the refresh token by now, so an answer that no
 * database takes would lose it.
 */
export function issuedTokens(
  response: TokenEndpointResponse & Partial<TokenEndpointResponseHelpers>,
): IssuedTokens {
  const seconds = response.expiresIn?.() ?? response.expires_in
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token || undefined,
    expiresIn: seconds === undefined ? undefined : Math.floor(Math.min(Math.max(seconds, 0), longest)),
    scope: response.scope === undefined ? undefined : scopeOf(response.scope),
  }
}

function scopeOf(scope: string): string | undefined {
  return storable(scope).slice(0, longestScope).toWellFormed() || undefined
}
