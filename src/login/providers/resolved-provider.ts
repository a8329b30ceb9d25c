import type { TokenAuth } from '../../config/providers.ts'
import type { Own, Quirks } from './preset.ts'

interface Common {
  name: string
  label: string
  /** A data: URI. */
  icon: string
  clientId: string
  /** `undefined` for a public client, or if it is created for each request. */
  clientSecret: string | undefined
  /** Space-separated; may be empty. */
  scope: string
  pkce: boolean
  nonce: boolean
  /** How the secret is sent; `undefined`: as in the discovery document. */
  tokenAuth: TokenAuth | undefined
  /** Whether the provider proves a reauthentication by `auth_time`. */
  provesAuthentication: boolean
  /** Additional parameters of the authorization request. */
  authParams: Readonly<Record<string, string>>
  quirks: Quirks
  own: Own
}

/** OpenID Connect. Missing addresses are discovered; configured ones replace discovered ones. */
export interface OpenIdProvider extends Common {
  kind: 'openid'
  issuer: string
  authUrl: string | undefined
  tokenUrl: string | undefined
  profileUrl: string | undefined
  jwksUrl: string | undefined
  /** For the built-in provider, whose issuer changes with BASE_URL: the name that identities are bound to instead. */
  issuerName?: string
  /** Resolves when the built-in provider is loaded: its discovery is bounded by the time of one request. */
  loaded?: () => Promise<unknown>
}

/** Plain OAuth 2.0. */
export interface OAuthProvider extends Common {
  kind: 'oauth'
  authUrl: string
  tokenUrl: string
  profileUrl: string
  /** What identities are bound to: the preset's issuer, or the origins of the configured addresses. */
  identityIssuer: string
  /** The `iss` of every response, if the preset knows it. */
  responseIssuer: string | undefined
  /** Whether `authUrl` is configured: `iss` may then be missing, or be the origin of `authUrl`. */
  hasConfiguredAuthUrl: boolean
}

export type ResolvedProvider = OpenIdProvider | OAuthProvider

/** The fields of both protocols. */
export type ProviderBasics = Common
