import type { TokenAuth } from '../../config/providers.ts'
import type { ProfileDocument, RawProfile } from '../provider-client/profile.ts'

/** Fetches another document of the provider's API with the user's access token; `undefined` when the token may not read it. */
type ReadMore = (url: string) => Promise<unknown>

/** The value of one of the preset's own settings; empty when it is not set and has no default. */
export type ReadPresetSetting = (setting: string) => string

/** A setting that only this preset has: `<NAME>_` and its key. */
export interface PresetSetting {
  description: string
  default?: string
  /** The endpoints do not need it. */
  optional?: true
  form: 'host' | 'url' | 'word' | 'text' | 'guids'
}

export interface Endpoints {
  /** OpenID Connect: the other endpoints are discovered, unless all of them are given here. */
  issuer?: string
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  jwksUrl?: string
  /** Plain OAuth 2.0: the `iss` that the provider is known to send with every response (RFC 9207). */
  expectedResponseIssuer?: string
}

export interface ProfileSource {
  /** The claims of the verified id_token; empty for plain OAuth 2.0. */
  claims: ProfileDocument
  /** The fetched profile; with OpenID Connect, the claims merged with the userinfo response. */
  document: ProfileDocument
  profileUrl: string
  readMore: ReadMore
  presetSetting: ReadPresetSetting
  /** The name in the authorization response: Apple's only. */
  givenName: string | undefined
}

/** What a preset reads groups with. */
export interface GroupSource {
  profileUrl: string
  /** As `ReadMore`, but the document is needed. @throws ProfileRefused unless the status is 200. */
  readNeeded: (url: string) => Promise<unknown>
}

/** How the request for the profile differs from a plain GET. */
interface ProfileRequest {
  method?: 'POST'
  query?: Readonly<Record<string, string>>
}

/** Deviations of a provider from the standards. They apply only with the preset's own protocol. */
export interface Quirks {
  /** Set for a provider that fails with PKCE; a comment says why. All others get S256. */
  pkce?: false
  /** Set for a provider whose id_token lacks the nonce; a comment says why. */
  nonce?: false
  /** How the client secret is sent. Default: as in the discovery document, or in the body without discovery. */
  tokenAuth?: TokenAuth
  /** Additional parameters of the authorization request. */
  authParams?: (presetSetting: ReadPresetSetting) => Record<string, string>
  /** Requested only with `keepTokens`: what the provider requires for a refresh token. */
  storedTokens?: { scope?: string; authParams?: Readonly<Record<string, string>> }
  /**
   * Whether the provider reauthenticates on request and proves it: it supports `prompt=login` and sends `auth_time`. Default:
   * true for OpenID Connect, false for plain OAuth 2.0. A comment gives the reason for another value.
   */
  provesAuthentication?: boolean
  /** Additional parameters of the provider that request a reauthentication or a second factor. */
  demandParams?: (demands: {
    reauthenticate: boolean
    secondFactor: boolean
    acrValues: readonly string[]
  }) => Record<string, string>
  /** Sent with every request to the provider. */
  headers?: (presetSetting: ReadPresetSetting) => Record<string, string>
  /** The id_token has the whole profile: the userinfo endpoint is used only if its address is configured. */
  userinfo?: false
  profileRequest?: (token: string, clientSecret: string | undefined) => ProfileRequest
  /** Creates a client secret for each request, if none is configured. */
  signedSecret?: SignedSecret
  /** Whether the discovery document of `requested` may have the other issuer `found`. */
  acceptsDiscoveredIssuer?: (found: string, requested: string) => boolean
  /** The issuer that an id_token with these unverified claims must have. Default: the discovered one. */
  expectedTokenIssuer?: (claims: ProfileDocument, issuer: string) => string
  /** The canonical name of an issuer with several names, which identities are bound to. */
  identityNamespace?: (named: string) => string
  /** Whether responses may have the `iss` `named` although the discovery document has `issuer` (RFC 9207). */
  acceptsResponseIssuer?: (named: string, issuer: string) => boolean
  /** Whether an account with these verified claims may sign in; `issuer` is that of the discovery document. */
  admits?: (claims: ProfileDocument, presetSetting: ReadPresetSetting, issuer: string) => boolean
  /** Groups that are in no claim but in the provider's API. They are read only if they are configured to have a meaning. */
  groups?: { /** Requested only then. */ scope: string; read: (source: GroupSource) => Promise<string[]> }
  /** Reads a profile of a non-standard form. With OpenID Connect the id must come from the claims. */
  readProfile?: (source: ProfileSource) => RawProfile | Promise<RawProfile>
}

interface SignedSecret {
  /** The required settings. */
  needs: readonly string[]
  /** The error in their values, as a sentence that starts with the key of the setting. */
  fault: (presetSetting: ReadPresetSetting) => string | undefined
  /** Creates the secret. @param now milliseconds. */
  sign: (presetSetting: ReadPresetSetting, clientId: string, now: number) => string
}

/** The built-in knowledge about one provider. The configuration can override every endpoint. */
export interface Preset extends Quirks {
  /** The name that users know. */
  label: string
  /** The colour of the letter icon on /login: #rrggbb. */
  colour: string
  /** The provider's pages that this preset is based on. The first one tells how to register an application. */
  documentation: readonly [string, ...string[]]
  /** `<NAME>_<KEY>` for each key. */
  settings?: Readonly<Record<string, PresetSetting>>
  endpoints: (presetSetting: ReadPresetSetting) => Endpoints
  /** Space-separated: the minimum for a sign-in. */
  scope: string
}
