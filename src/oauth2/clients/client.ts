import type { AppLink } from '../../http/pages/error-page.ts'
import type { JWK } from 'jose'
import { hashToken } from '../../crypto/secrets.ts'
import type { ClaimsHook } from '../token/own-claims.ts'
import type { AppRights } from '../../accounts/sessions/authentication.ts'

export const signingAlgorithms = ['ES256', 'RS256', 'EdDSA'] as const
type SigningAlgorithm = (typeof signingAlgorithms)[number]

export const reauthenticationProofs = ['required', 'when-supported'] as const
export type ReauthenticationProof = (typeof reauthenticationProofs)[number]

export const idTokenClaims = ['scopes', 'minimal'] as const
type IdTokenClaims = (typeof idTokenClaims)[number]

/** The scopes about the user (OpenID Connect Core, section 5.4; `offline_access`: section 11). */
export const identityScopes = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const

/** The methods of the token endpoint, by their registered names (RFC 8414, section 2). */
export const authenticationMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

export function isIdentityScope(scope: string): scope is (typeof identityScopes)[number] {
  return (identityScopes as readonly string[]).includes(scope)
}

/** An application of the product, as the configuration module declares it (`login.clients`). */
export interface ClientConfig extends AppRights {
  /** The name on the consent page and in the list of allowed apps. Default: the id. */
  name?: string | undefined
  /**
   * Compared as exact strings (RFC 9700, section 2.1). The port of a loopback address such as `http://127.0.0.1/callback`
   * may differ (RFC 8252, section 7.3).
   */
  redirectUris?: readonly string[] | undefined
  /** Where the browser may go after a sign-out. Compared as exact strings. */
  postLogoutRedirectUris?: readonly string[] | undefined
  /** Gets a logout token when a session of the app ends (OpenID Connect Back-Channel Logout). */
  backchannelLogoutUri?: string | undefined
  /**
   * The secret of a confidential client. To rotate it, give several: a list, or one text with commas. Without a secret
   * and without `jwks` the client is public and must use PKCE.
   */
  secret?: string | readonly string[] | undefined
  /** The public keys of a client that authenticates with `private_key_jwt` (RFC 7523). */
  jwks?: { readonly keys: readonly JWK[] } | undefined
  /** The scopes that the client may ask for. Default: `openid profile email groups offline_access`. */
  scopes?: readonly string[] | undefined
  /** The APIs that the client may ask for with `resource` (RFC 8707), besides `audience`. */
  audiences?: readonly string[] | undefined
  /** Whether the app belongs to the product. Default true. Other apps need the consent of each user. */
  firstParty?: boolean | undefined
  /** Whether the client may get tokens without a user (`client_credentials`). Default false. */
  clientCredentials?: boolean | undefined
  /** Whether the client signs in devices without a browser: command lines, televisions (RFC 8628). Default false. */
  deviceGrant?: boolean | undefined
  /** Seconds from a sign-in to the end of its refresh tokens at most. Default: SESSION_LIFETIME. */
  refreshTokenLifetime?: number | undefined
  /** The algorithm of its id_tokens. Default `ES256`. */
  idTokenAlgorithm?: SigningAlgorithm | undefined
  /**
   * The claims about the user in its id_tokens. `scopes`: those of the granted scopes. `minimal`: only those that the app requests with
   * the parameter `claims`; the others are at the userinfo endpoint (OpenID Connect Core, section 5.4). Default `scopes`, and `minimal` for
   * self-registered apps.
   */
  idTokenClaims?: IdTokenClaims | undefined
  /**
   * What `prompt=login` and `max_age` need. `required`: the provider's `auth_time`; a sign-in through a provider that reports none, such
   * as GitHub, is answered with `login_required`. `when-supported`: with such a provider any new sign-in counts, although the person may
   * have had a session there. Default `required`.
   */
  reauthenticationProof?: ReauthenticationProof | undefined
}

/** The fields of a declaration that a client of the database has too. */
export type ClientSettings = Omit<ClientConfig, 'id' | 'name' | 'secret'>

/** The client of a declaration that `validateClients` accepts. */
export function clientOf({ id, name = id, secret, ...settings }: ClientConfig): Client {
  const secrets = secretsOf(secret)
  return {
    ...withDefaults(settings),
    id,
    name,
    confidential: secrets.length > 0 || settings.jwks !== undefined,
    secretHashes: secrets.map((one) => hashToken(one)),
    firstParty: settings.firstParty ?? true,
    declared: true,
    selfRegistered: false,
  }
}

/** The secrets of a declaration. */
export function secretsOf(secret: ClientConfig['secret'] = []): string[] {
  return (typeof secret === 'string' ? secret.split(',') : secret).map((one) => one.trim())
}

/** The settings of a client, completed. */
export function withDefaults(settings: ClientSettings) {
  return {
    ...settings,
    redirectUris: settings.redirectUris ?? [],
    postLogoutRedirectUris: settings.postLogoutRedirectUris ?? [],
    scopes: settings.scopes ?? identityScopes,
    audiences: settings.audiences ?? [],
    clientCredentials: settings.clientCredentials ?? false,
    deviceGrant: settings.deviceGrant ?? false,
    idTokenAlgorithm: settings.idTokenAlgorithm ?? ('ES256' as const),
    idTokenClaims: settings.idTokenClaims ?? ('scopes' as const),
    reauthenticationProof: settings.reauthenticationProof ?? ('required' as const),
  }
}

/** An application of the product: a client (RFC 6749, section 2), with its completed settings (see ClientConfig). */
export interface Client extends ReturnType<typeof withDefaults> {
  id: string
  name: string
  /** Whether it must authenticate (RFC 6749, section 2.1). Otherwise it must use PKCE, and a secret from it is refused. */
  confidential: boolean
  /** SHA-256 hashes of its valid secrets. A confidential client may have none, and cannot authenticate then. */
  secretHashes: readonly Uint8Array[]
  /** The APIs that it may ask for, by the settings, if it registered itself. It learns nothing about the tokens of these APIs. */
  sharedApis?: readonly string[]
  firstParty: boolean
  /** Whether the configuration module declares it; otherwise it is in the database. */
  declared: boolean
  /** Whether it registered itself (RFC 7591). */
  selfRegistered: boolean
}

/** Milliseconds from a sign-in to the end of its refresh tokens at most; `undefined` for the default. */
export function refreshLifetime({ refreshTokenLifetime: seconds }: Client): number | undefined {
  return seconds && seconds * 1000
}

/** The APIs of a client's tokens when it asks for none; empty for this service. */
export function defaultApisOf({ audience }: Pick<Client, 'audience'>): string[] {
  return [audience ?? []].flat()
}

/** The APIs of a client's own registration. */
export function apisOf(client: Pick<Client, 'audience' | 'audiences'>): string[] {
  return [...client.audiences, ...defaultApisOf(client)]
}

/** The APIs that a client may ask for with `resource` (RFC 8707). */
export function requestableApis(client: Pick<Client, 'audience' | 'audiences' | 'sharedApis'>): string[] {
  return [...apisOf(client), ...(client.sharedApis ?? [])]
}

/**
 * Finds the registered spelling of an API that a request names. Clients may write an address as URL parsers print it, with a
 * slash after the host (RFC 3986, section 6.2.3).
 */
export function apiFinder(registered: readonly string[]): (wanted: string) => string | undefined {
  const spellings = new Map(registered.map((api) => [canonical(api), api]))
  return (wanted) => (registered.includes(wanted) ? wanted : spellings.get(canonical(wanted)))
}

function canonical(api: string): string {
  return URL.parse(api)?.href ?? api
}

/** What self-registered apps can request, in addition to what they registered. */
export interface SharedReach {
  apis: readonly string[]
  scopes: readonly string[]
}

/**
 * An app that registered itself may ask for all that the settings name. Those are not stored with the app: a change of the settings
 * applies to all apps, and an app may ask for more scopes once an API demands them.
 */
export function withReach<T extends Client>(client: T, { apis, scopes }: SharedReach): T {
  if (!client.selfRegistered) return client
  return {
    ...client,
    sharedApis: apis,
    scopes: [...new Set([...client.scopes, ...scopes])],
  }
}

/**
 * Whether a redirect URI is registered: by exact comparison (RFC 9700, section 2.1), or with another port for an http
 * URI of a loopback address (RFC 8252, section 7.3).
 */
export function allowsRedirect({ redirectUris, selfRegistered }: Client, wanted: string): boolean {
  if (redirectUris.includes(wanted)) return true
  // Command lines listen at `localhost` too, and one document serves all their ports.
  const hosts = selfRegistered ? loopbackOrLocalhost : loopback
  const portless = withoutPort(wanted, hosts)
  return portless !== undefined && redirectUris.some((uri) => withoutPort(uri, hosts) === portless)
}

/**
 * Whether only the client can have sent a request for this redirect URI: it authenticates, or its answers go to its own host. Any
 * program of the machine can listen at a loopback address or take a scheme, and use the id of a native app (RFC 8252, section 8.6).
 */
export function provesIdentity(client: Client, redirectUri: string): boolean {
  return client.confidential || redirectUri.startsWith('https:')
}

const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(\/[^\\@\s]*)?$/
const loopbackOrLocalhost = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(\/[^\\@\s]*)?$/

/** `http://127.0.0.1:PORT/path` or `http://[::1]:PORT/path` without the port; `undefined` for any other URI. */
function withoutPort(uri: string, hosts: RegExp): string | undefined {
  const match = hosts.exec(uri)
  // A port above 65535 is no URL.
  return match && URL.canParse(uri) ? `${match[1]!}${match[2] ?? ''}` : undefined
}

/** The host of the document that describes a client; `undefined` for one without a document. */
export function documentHost({
  id,
  selfRegistered,
}: Pick<Client, 'id' | 'selfRegistered'>): string | undefined {
  return selfRegistered && id.startsWith('https://') ? new URL(id).host : undefined
}

/** The start page of a client, as far as its redirect URIs show it; `undefined` for an app of devices. */
export function linkTo(client: Pick<Client, 'name' | 'redirectUris'> | undefined): AppLink | undefined {
  const [origin] = client ? originsOf(client) : []
  return client && origin !== undefined ? { name: client.name, href: `${origin}/` } : undefined
}

/** The origins of a client's pages. */
export function originsOf({ redirectUris }: Pick<Client, 'redirectUris'>): string[] {
  const origins = redirectUris
    .map((uri) => new URL(uri))
    .filter(({ protocol }) => /^https?:$/.test(protocol))
    .map(({ origin }) => origin)
  return [...new Set(origins)]
}

/**
 * Whether a client has rights that only admins may grant: its tokens reach more than its users' own profiles. The product's APIs
 * verify tokens by the published keys alone, so anyone who adds such a client can call them as that client.
 */
export function isPrivileged(client: Client): boolean {
  const { admin, managesSessions, firstParty, clientCredentials, scopes } = client
  const namesApi = apisOf(client).length > 0 || !scopes.every(isIdentityScope)
  return admin === true || managesSessions === true || firstParty || clientCredentials || namesApi
}

/** The part of `login` in the configuration module that is about the product's applications. */
export interface OAuth2Config<DB = Record<string, Record<string, unknown>>> {
  /** The applications of the product, which sign in with this service. */
  clients?: readonly ClientConfig[]
  /** Adds custom claims to tokens and the userinfo response. */
  claims?: ClaimsHook<DB>
}
