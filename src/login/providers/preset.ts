import type { TokenAuth, ProviderSettings } from '../../config/providers.ts'
import type { ProfileDocument, RawProfile } from '../provider-client/profile.ts'
import { readFileSync } from 'node:fs'

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
  /** Fetches another document of the provider's API; `undefined` when the user's access token may not read it. */
  readMore: (url: string) => Promise<unknown>
  presetSetting: ReadPresetSetting
  /** The name in the authorization response: Apple's only. */
  givenName: string | undefined
}

/** What a preset reads groups with. */
export interface GroupSource {
  profileUrl: string
  /** As `readMore`, but the document is needed. @throws ProfileRefused unless the status is 200. */
  readNeeded: (url: string) => Promise<unknown>
}

/** How a person must sign in at the provider. It is not with the flow, whose types the package would then include. */
export interface AuthenticationDemands {
  /** Reauthenticate the person, even with a session at the provider. */
  reauthenticate: boolean
  /** Authenticate with a second factor, too. */
  secondFactor: boolean
  /** The accepted `acr_values`; with an empty list the provider decides. */
  acrValues: readonly string[]
  /** Let the person choose an account, even with a session at the provider. */
  selectAccount: boolean
  /** Who wants to sign in, such as an e-mail address. */
  loginHint: string | undefined
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
  demandParams?: (demands: AuthenticationDemands) => Record<string, string>
  /** Sent with every request to the provider. */
  headers?: (presetSetting: ReadPresetSetting) => Record<string, string>
  /** The id_token has the whole profile: the userinfo endpoint is used only if its address is configured. */
  userinfo?: false
  /** How the request for the profile differs from a plain GET. */
  profileRequest?: (
    token: string,
    clientSecret: string | undefined,
  ) => { method?: 'POST'; query?: Readonly<Record<string, string>> }
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

/** Every /login page contains all icons. */
const maxBytes = 64 * 1024
const types: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  webp: 'image/webp',
  jpg: 'image/jpeg',
  gif: 'image/gif',
}

/** The default icon on /login: the first letter of the label on the provider's colour, as a data: URI. */
export function letterIcon(label: string, colour: string): string {
  const letter = /[\p{L}\p{N}]/u.exec(label)?.[0]?.toUpperCase() ?? ''
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="6" fill="${colour}"/><text x="12" y="17" font-family="sans-serif" font-size="14" font-weight="700" text-anchor="middle" fill="#fff">${letter}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/**
 * A configured icon as a data: URI, since the pages' policy allows no other images. A file is read once, at the start.
 * @throws Error with the expected form.
 */
export function readIcon(configured: string): string {
  if (configured.startsWith('data:')) {
    if (!/^data:image\/[\w.+-]+[;,]/.test(configured)) throw new Error('expected data:image/…')
    if (configured.length > maxBytes * 1.4) throw new Error(`expected at most ${maxBytes} bytes`)
    return configured
  }
  const type = types[/\.(\w+)$/.exec(configured)?.[1]?.toLowerCase() ?? '']
  if (type === undefined || /^[a-z]+:\/\//i.test(configured))
    throw new Error(`expected a file (${Object.keys(types).join(', ')}) or a data: URI`)
  let bytes: Buffer
  try {
    bytes = readFileSync(configured)
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as { code?: string }).code})`, { cause: error })
  }
  if (bytes.length > maxBytes) throw new Error(`expected at most ${maxBytes} bytes`)
  return `data:${type};base64,${bytes.toString('base64')}`
}

/** The parameters of an authorization request that only the flow itself may set. */
const flowParameters = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]

/** What the additional parameters may not set. @param prefix of the variables: `<NAME>_` */
export function faultsOfParameters(
  { authParams = {}, authUrl = '' }: ProviderSettings,
  prefix: string,
): string[] {
  const given = [...Object.entries(authParams), ...(URL.parse(authUrl)?.searchParams ?? [])]
  const names = new Set(given.map(([name]) => name))
  const faults = flowParameters
    .filter((name) => names.has(name))
    .map((name) => `${name} belongs to the sign-in itself`)
  // A browser does not send a fragment, so that the response would not reach the service.
  const mode = given.find(
    ([name, value]) => name === 'response_mode' && value !== 'query' && value !== 'form_post',
  )
  if (mode) faults.push(`response_mode=${mode[1]} cannot be used; it may be query or form_post`)
  return faults.map((fault) => `${prefix}AUTH_PARAMS or ${prefix}AUTH_URL: ${fault}`)
}

/** Removes the flow's parameters from a discovered address. */
export function withoutFlowParameters(address: string): string {
  const url = new URL(address)
  for (const name of flowParameters) url.searchParams.delete(name)
  return url.href
}
