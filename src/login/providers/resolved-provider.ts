import type { TokenAuth } from '../../config/providers.ts'
import type { Admission, GroupMapping } from '../provider-client/groups.ts'
import type { ReadPresetSetting, Quirks } from './preset.ts'

/** The fields of both protocols. */
export interface ProviderBasics {
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
  groups: GroupMapping
  admission: Admission
  /** The audiences that a native app's id_token may have. Empty: no id_tokens are accepted. */
  audiences: readonly string[]
  /** Whether each sign-in updates the e-mail address and name of the user. */
  updateProfile: boolean
  /** Whether a sign-out of an application goes on to the provider's own sign-out. */
  endSession: boolean
  /** Additional parameters of the authorization request. */
  authParams: Readonly<Record<string, string>>
  quirks: Quirks
  presetSetting: ReadPresetSetting
}

/** OpenID Connect. Missing endpoints are discovered; configured ones replace discovered ones. */
export interface OpenIdProvider extends ProviderBasics {
  kind: 'openid'
  issuer: string
  authUrl: string | undefined
  tokenUrl: string | undefined
  profileUrl: string | undefined
  jwksUrl: string | undefined
  /** For the built-in provider, whose issuer changes with BASE_URL: the name that identities are bound to instead. */
  identityNamespace?: string
  /** Resolves when the built-in provider is loaded: its discovery is bounded by the time of one request. */
  loaded?: () => Promise<unknown>
}

/** Plain OAuth 2.0. */
export interface OAuthProvider extends ProviderBasics {
  kind: 'oauth'
  authUrl: string
  tokenUrl: string
  profileUrl: string
  /** What identities are bound to: the preset's issuer, or the origins of the configured endpoints. */
  identityNamespace: string
  /** The `iss` of every response, if the preset knows it. */
  expectedResponseIssuer: string | undefined
  /** Whether `authUrl` is configured: `iss` may then be missing, or be the origin of `authUrl`. */
  hasConfiguredAuthUrl: boolean
}

export type ResolvedProvider = OpenIdProvider | OAuthProvider
