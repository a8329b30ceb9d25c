import type { ProfileDocument, RawProfile } from '../profile.ts'

/** Reads another document of the provider's API with the user's access token; `undefined` unless it answers 200. */
export type ReadMore = (url: string) => Promise<unknown>

/** What is known about one provider beforehand. Every address can be overridden by configuration. */
export interface Preset {
  /** As users know it. */
  label: string
  /** OpenID Connect: everything else is discovered below this address. */
  issuer?: string
  /** Plain OAuth 2.0: the addresses. */
  authUrl?: string
  tokenUrl?: string
  profileUrl?: string
  /** Plain OAuth 2.0: what the provider sends as `iss` (RFC 9207), if it does. */
  responseIssuer?: string
  /** Space-separated: no more than a sign-in needs. */
  scope: string
  /** Set for a provider that breaks on PKCE, with the reason in a comment. Everybody else gets S256. */
  pkce?: false
  /** Maps the profile where it is not of the standard form. */
  readProfile?: (
    document: ProfileDocument,
    profileUrl: string,
    readMore: ReadMore,
  ) => RawProfile | Promise<RawProfile>
}
