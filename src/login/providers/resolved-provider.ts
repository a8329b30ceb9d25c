import type { ProviderSettings, TokenAuth } from '../../config/providers.ts'
import type { Admission, GroupMapping } from '../provider-client/groups.ts'
import type { ReadPresetSetting, Quirks } from './preset.ts'

type GivenSetting =
  | 'name'
  | 'label'
  | 'icon'
  | 'clientId'
  | 'scope'
  | 'pkce'
  | 'audiences'
  | 'updateProfile'
  | 'endSession'
  | 'authParams'
  | 'provesAuthentication'

/** The fields of both protocols: the settings with their defaults. The icon is a data: URI, and the scope may be empty. */
export interface ProviderBasics extends Required<Pick<ProviderSettings, GivenSetting>> {
  /** `undefined` for a public client, or if it is created for each request. */
  clientSecret: string | undefined
  nonce: boolean
  /** How the secret is sent; `undefined`: as in the discovery document. */
  tokenAuth: TokenAuth | undefined
  groups: GroupMapping
  admission: Admission
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
