import type { JWK } from 'jose'
import type { AppRights } from '../../accounts/access-tokens.ts'
import { hashToken } from '../../crypto/tokens.ts'
import { identityScopes, signingAlgorithms, type Client, type SigningAlgorithm } from './client.ts'

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
  /** Seconds from a sign-in to the end of its refresh tokens at most. Default: SESSION_LIFETIME. */
  refreshTokenLifetime?: number | undefined
  /** The algorithm of its id_tokens. Default `ES256`. */
  idTokenAlgorithm?: SigningAlgorithm | undefined
}

/** The client of a declaration that `validateClients` accepts. */
export function clientOf(config: ClientConfig): Client {
  const { id, secret = [] } = config
  const secrets = typeof secret === 'string' ? secret.split(',') : secret
  return {
    ...config,
    name: config.name ?? id,
    redirectUris: config.redirectUris ?? [],
    postLogoutRedirectUris: config.postLogoutRedirectUris ?? [],
    backchannelLogoutUri: config.backchannelLogoutUri,
    secretHashes: secrets.map((one) => hashToken(one.trim())),
    jwks: config.jwks,
    scopes: config.scopes ?? identityScopes,
    audiences: config.audiences ?? [],
    firstParty: config.firstParty ?? true,
    refreshTokenLifetime: config.refreshTokenLifetime,
    clientCredentials: config.clientCredentials ?? false,
    idTokenAlgorithm: config.idTokenAlgorithm ?? 'ES256',
    declared: true,
  }
}

/** The errors in `login.clients`, as messages for the operator. */
export function validateClients(clients: readonly ClientConfig[]): string[] {
  const seen = new Set<string>()
  return clients.flatMap((client) => {
    const { id } = client
    const faults = id === '' || seen.has(id) ? [`the id ${JSON.stringify(id)} is empty or used twice`] : []
    seen.add(id)
    return [...faults, ...faultsOf(client)].map((fault) => `login.clients: ${fault}`)
  })
}

const flags = ['admin', 'managesSessions', 'firstParty', 'clientCredentials'] as const
const uriLists = ['redirectUris', 'postLogoutRedirectUris'] as const
/** Characters of a secret at least: 128 bits in base64url are 22. */
const shortestSecret = 20

function faultsOf(client: ClientConfig): string[] {
  const { id, audience, audiences, scopes, secret, jwks, clientCredentials, idTokenAlgorithm } = client
  const faults = flags.flatMap((flag) =>
    client[flag] === undefined || typeof client[flag] === 'boolean'
      ? []
      : [`${flag} of ${id} must be true or false`],
  )
  const isNames = (value: unknown): boolean => Array.isArray(value) && value.every(isName)
  if (audience !== undefined && !isName(audience) && (!isNames(audience) || audience.length === 0))
    faults.push(`audience of ${id} must be a string or a list of strings`)
  if (audiences !== undefined && !isNames(audiences))
    faults.push(`audiences of ${id} must be a list of strings`)
  if (
    scopes !== undefined &&
    (!isNames(scopes) || !scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
  )
    faults.push(`scopes of ${id} must be a list of scopes (RFC 6749, section 3.3)`)
  if (idTokenAlgorithm !== undefined && !signingAlgorithms.includes(idTokenAlgorithm))
    faults.push(`idTokenAlgorithm of ${id} must be one of ${signingAlgorithms.join(', ')}`)
  if (!isSeconds(client.accessTokenLifetime, 60, 3600))
    faults.push(`accessTokenLifetime of ${id} must be 60 to 3600 seconds`)
  if (!isSeconds(client.refreshTokenLifetime, 60, Infinity))
    faults.push(`refreshTokenLifetime of ${id} must be at least 60 seconds`)
  const isPublic = secret === undefined && jwks === undefined
  if (isPublic && clientCredentials === true) faults.push(`clientCredentials of ${id} needs a secret or jwks`)
  const secrets = typeof secret === 'string' ? secret.split(',') : (secret ?? [])
  if (!secrets.every((one) => typeof one === 'string' && one.trim().length >= shortestSecret))
    faults.push(`secret of ${id} must have at least ${shortestSecret} characters`)
  if ((client.redirectUris ?? []).length === 0 && clientCredentials !== true)
    faults.push(`${id} has no redirectUris`)
  for (const list of uriLists)
    for (const uri of client[list] ?? [])
      faults.push(...uriFaults(uri, `the redirect URI ${JSON.stringify(uri)} of ${id}`))
  if (client.backchannelLogoutUri !== undefined) {
    const named = `backchannelLogoutUri of ${id}`
    if (!/^https?:/.test(client.backchannelLogoutUri)) faults.push(`${named} must be an http or https URL`)
    else faults.push(...uriFaults(client.backchannelLogoutUri, named))
  }
  return faults
}

/** @param named the URI in the message. */
export function uriFaults(uri: string, named: string): string[] {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  if (!url || url.hash !== '' || uri.endsWith('#'))
    return [`${named} must be an absolute URL without a fragment`]
  if (/^(javascript|data|vbscript|file|blob|about):$/.test(url.protocol))
    return [`${named} must not have the scheme ${url.protocol}`]
  return []
}

function isSeconds(value: number | undefined, least: number, most: number): boolean {
  return value === undefined || (Number.isInteger(value) && value >= least && value <= most)
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
