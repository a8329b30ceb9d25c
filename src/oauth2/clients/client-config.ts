import type { JWK } from 'jose'
import { hashToken } from '../../crypto/secrets.ts'
import type { ClaimsHook } from '../token/own-claims.ts'
import {
  identityScopes,
  type Client,
  type IdTokenClaims,
  type SigningAlgorithm,
  type ReauthenticationProof,
} from './client.ts'
import type { AppRights } from '../../accounts/sessions/authentication.ts'

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

/** The part of `login` in the configuration module that is about the product's applications. */
export interface OAuth2Config<DB = Record<string, Record<string, unknown>>> {
  /** The applications of the product, which sign in with this service. */
  clients?: readonly ClientConfig[]
  /** Adds custom claims to tokens and the userinfo response. */
  claims?: ClaimsHook<DB>
}
