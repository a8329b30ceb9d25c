import type { TokenAuth } from '../../config/providers.ts'
import type { Own, Quirks } from './preset.ts'

interface Common {
  name: string
  label: string
  /** A data: URI. */
  icon: string
  clientId: string
  /** Absent for a public client, and where it is made for each request. */
  clientSecret: string | undefined
  /** Space-separated; may be empty. */
  scope: string
  pkce: boolean
  nonce: boolean
  /** How the secret is sent; `undefined` leaves it to the discovery. */
  tokenAuth: TokenAuth | undefined
  /** Whether `auth_time` is expected of an id_token, once the provider was asked to authenticate anew. */
  provesAuthentication: boolean
  /** More parameters of the authorization request. */
  authParams: Readonly<Record<string, string>>
  quirks: Quirks
  own: Own
}

/** OpenID Connect: what is not given is discovered; given addresses replace discovered ones. */
export interface OpenIdProvider extends Common {
  kind: 'openid'
  issuer: string
  authUrl: string | undefined
  tokenUrl: string | undefined
  profileUrl: string | undefined
  jwksUrl: string | undefined
  /** What its identities are bound to in place of the issuer, whose address changes with the service's own. */
  issuerName?: string
  /** Resolves when the built-in provider is loaded: its discovery is bounded by the time of one request. */
  loaded?: () => Promise<unknown>
}

/** Plain OAuth 2.0 by its addresses. */
export interface OAuthProvider extends Common {
  kind: 'oauth'
  authUrl: string
  tokenUrl: string
  profileUrl: string
  /** What its identities are bound to: the preset's issuer, or the origins of the addresses that are configured. */
  identityIssuer: string
  /** What the provider sends as `iss` with every answer, where a preset knows it. */
  responseIssuer: string | undefined
  /** Whether `authUrl` is not the preset's: an `iss` need not come, and one of the address's origin is right too. */
  ownAddress: boolean
}

export type ResolvedProvider = OpenIdProvider | OAuthProvider

/** What both protocols have in common. */
export type ProviderBasics = Common
