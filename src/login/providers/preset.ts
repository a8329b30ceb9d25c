import type { TokenAuth } from '../../config/providers.ts'
import type { ProfileDocument, RawProfile } from '../profile.ts'

/** Reads another document of the provider's API with the user's access token; `undefined` unless it answers 200. */
export type ReadMore = (url: string) => Promise<unknown>

/** The value of one of the preset's own settings; an empty text when it is not set and has no default. */
export type Own = (setting: string) => string

/** A setting that only this preset has: `<NAME>_` and its key. */
export interface OwnSetting {
  description: string
  default?: string
  /** The addresses do without it. */
  optional?: true
  form: 'host' | 'url' | 'word' | 'text'
}

export interface Addresses {
  /** OpenID Connect: everything else is discovered below this address, unless all of it is given here. */
  issuer?: string
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  jwksUrl?: string
  /** Plain OAuth 2.0: the `iss` that the provider sends with every answer (RFC 9207), when it is known to. */
  responseIssuer?: string
}

export interface ProfileSource {
  /** The claims of the verified id_token; empty for plain OAuth 2.0. */
  claims: ProfileDocument
  /** The profile that was fetched; with OpenID Connect, the claims and what the userinfo endpoint added. */
  document: ProfileDocument
  profileUrl: string
  readMore: ReadMore
  own: Own
  /** The name that the browser brought with the answer: Apple's only. */
  givenName: string | undefined
}

/** How the request for the profile differs from a plain GET. */
export interface ProfileRequest {
  method?: 'POST'
  query?: Readonly<Record<string, string>>
}

/** What a provider does in its own way. All of it holds only for the preset's own protocol. */
export interface Quirks {
  /** Set for a provider that breaks on PKCE, with the reason in a comment. Everybody else gets S256. */
  pkce?: false
  /** Set for a provider whose id_token does not bring the nonce back, with the reason in a comment. */
  nonce?: false
  /** How the client secret is sent. Default: as discovery tells, and in the body where nothing is discovered. */
  tokenAuth?: TokenAuth
  /** More parameters of the authorization request. */
  authParams?: (own: Own) => Record<string, string>
  /** Requested only with `keepTokens`: what the provider requires for a refresh token. */
  storedTokens?: { scope?: string; authParams?: Readonly<Record<string, string>> }
  /**
   * Whether an id_token proves when the person was authenticated once the provider is asked to do it anew: it heeds
   * `prompt=login` and sends `auth_time`. Default: OpenID Connect does, plain OAuth 2.0 does not. The reason for another
   * value is in a comment.
   */
  provesAuthentication?: boolean
  /** More parameters that ask for a new authentication, or for a second factor, in the provider's own words. */
  demandParams?: (demands: {
    anew: boolean
    secondFactor: boolean
    acrValues: readonly string[]
  }) => Record<string, string>
  /** The answer comes as a POST from the provider's page (`response_mode=form_post`). */
  formPost?: true
  /** Sent with every request to the provider. */
  headers?: (own: Own) => Record<string, string>
  /** The id_token says all there is: the userinfo endpoint is not asked unless its address is configured. */
  userinfo?: false
  profileRequest?: (token: string, clientSecret: string | undefined) => ProfileRequest
  /** A client secret that is made for each request, for when none is configured. */
  signedSecret?: SignedSecret
  /** Whether a discovery document below `asked` may name the issuer `found`, when they differ. */
  discoveredIssuer?: (found: string, asked: string) => boolean
  /** The issuer that an id_token of these claims, not verified yet, must name. Default: the discovered one. */
  tokenIssuer?: (claims: ProfileDocument, issuer: string) => string
  /** The one name of an issuer that names itself in several ways, for what identities are bound to. */
  identityIssuer?: (named: string) => string
  /** Whether answers of a provider whose document names `issuer` may also name `named` (RFC 9207). */
  answerIssuer?: (named: string, issuer: string) => boolean
  /** Whether this account may be used at all, by its verified claims; `issuer` as the provider's document names it. */
  admits?: (claims: ProfileDocument, own: Own, issuer: string) => boolean
  /** Maps the profile where it is not of the standard form. With OpenID Connect the id is to be taken of the claims. */
  readProfile?: (source: ProfileSource) => RawProfile | Promise<RawProfile>
}

export interface SignedSecret {
  /** The settings that it needs; none may be missing. */
  needs: readonly string[]
  /** What speaks against their values, as a sentence that begins with the setting's key. */
  fault: (own: Own) => string | undefined
  /** @param now milliseconds. */
  sign: (own: Own, clientId: string, now: number) => string
}

/** What is known about one provider beforehand. Every address can be overridden by configuration. */
export interface Preset extends Quirks {
  /** As users know it. */
  label: string
  /** Of the letter that /login shows beside the label: #rrggbb. */
  colour: string
  /** The provider's own pages that all of this was taken from, the first the one to register an application by. */
  documentation: readonly [string, ...string[]]
  /** `<NAME>_<KEY>` for each key. */
  settings?: Readonly<Record<string, OwnSetting>>
  addresses: (own: Own) => Addresses
  /** Space-separated: no more than a sign-in needs. */
  scope: string
}
