import { isObject } from '../../json/exact.ts'
import type { Configuration, ExportedJWKSCache, ServerMetadata, ClientAuth, CustomFetch } from 'openid-client'
import { type Clock, Period } from '../../runtime/clock.ts'
import { clockTolerance } from './profile.ts'
import type { OpenIdProvider, ResolvedProvider } from '../providers/resolved-provider.ts'
import { TokenResponseCache } from './code-exchange.ts'
import { DiscoveryFailed } from './provider-errors.ts'
import { causeInWords } from '../../runtime/cause-in-words.ts'
import { printable } from '../../telemetry/printable.ts'
import { withoutFlowParameters } from '../providers/preset.ts'

/** Milliseconds after a failed discovery without a further attempt. */
const failureCacheTime = 5_000
/** Milliseconds after which a discovery document is read again. */
const cacheTime = 3_600_000
/** The same when this read failed: the old document stays in use. */
const staleCacheTime = 60_000

/** Seconds for one request to the provider. */
const defaultTimeout = 5
/** Milliseconds between two reads of a document that a failed sign-in causes. */
const renewalPause = 10_000

/** The metadata of a provider's authorization server, and openid-client's configuration for it. */
export interface ProviderServer {
  metadata: ServerMetadata
  /** The metadata as they were read: `metadata` may have the issuer of a tenant. */
  source: ServerMetadata
  configuration: Configuration
}

export interface ProviderServerParts {
  provider: ResolvedProvider
  fetch: ProviderFetch
  allowPrivateNetwork: boolean
  clock: Clock
  /** Seconds for one request to the provider. Default 5. */
  timeout?: number
}

/** Discovers the endpoints and keys of a provider at the first sign-in, and caches them. */
export class ProviderServerCache {
  readonly #parts: ProviderServerParts
  readonly #fetch: ProviderFetch
  #current: ProviderServer | undefined
  /** While the metadata need not be read again. */
  readonly #fresh = new Period()
  #reading: Promise<ProviderServer> | undefined
  /** While a failed sign-in reads no document. */
  readonly #renewed = new Period()
  #failure: unknown
  /** While the last failure is not tried again. */
  readonly #failed = new Period()

  constructor(parts: ProviderServerParts) {
    this.#parts = parts
    this.#fetch = withProviderHeaders(parts.provider, parts.fetch)
  }

  /** The current metadata. @throws DiscoveryFailed, which is cached for a few seconds. */
  async current(): Promise<ProviderServer> {
    const { clock } = this.#parts
    const cached = this.#current
    const now = clock.now()
    if (cached && this.#fresh.has(now)) return cached
    if (this.#failed.has(now)) throw this.#failure
    try {
      return await this.#readOnce()
    } catch (error) {
      if (cached) {
        this.#fresh.start(clock.now(), staleCacheTime)
        return cached
      }
      this.#failure = error
      this.#failed.start(clock.now(), failureCacheTime)
      throw error
    }
  }

  /**
   * The same server with another issuer and the cached keys.
   * @param clientId whom id_tokens are for
   */
  async withIssuer(
    { metadata, source, configuration }: ProviderServer,
    issuer: string,
    clientId?: string,
  ): Promise<ProviderServer> {
    const { getJwksCache } = await import('openid-client')
    const other = await this.#server({ ...metadata, issuer }, source, clientId)
    await shareKeys(getJwksCache(configuration), other)
    return other
  }

  /**
   * The server after a failure that other addresses, algorithms or keys of the provider explain: with the document as it is now, and
   * without cached keys, so that they are fetched again. Of several sign-ins that fail with one document, the first one reads it again.
   */
  async renew({ source }: ProviderServer): Promise<ProviderServer> {
    const now = this.#parts.clock.now()
    if (source === this.#current?.source && this.#isDiscovered && !this.#renewed.has(now)) {
      this.#renewed.start(now, renewalPause)
      // If a document cannot be read, the previous one stays in use.
      await this.#readOnce().catch(() => undefined)
    }
    const metadata = this.#current?.source ?? source
    this.#current = await this.#server(metadata)
    return this.#server(metadata)
  }

  /** Shares the keys that this server fetched with later sign-ins, unless these have newer ones. */
  async shareKeysOf({ configuration }: ProviderServer): Promise<void> {
    const { getJwksCache } = await import('openid-client')
    const keys = getJwksCache(configuration)
    if (!this.#current || !keys) return
    const known = getJwksCache(this.#current.configuration)
    if (known === undefined || known.uat < keys.uat) await shareKeys(keys, this.#current)
  }

  #readOnce(): Promise<ProviderServer> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #read(): Promise<ProviderServer> {
    const { provider, clock, timeout = defaultTimeout } = this.#parts
    const options = { fetch: this.#fetch, timeout, insecure: this.#insecure }
    const server = await this.#server(
      configuredMetadata(provider) ?? (await discover(provider as OpenIdProvider, options)),
    )
    this.#current = server
    this.#fresh.start(clock.now(), this.#isDiscovered ? cacheTime : Number.POSITIVE_INFINITY)
    this.#failed.end()
    return server
  }

  async #server(
    metadata: ServerMetadata,
    source = metadata,
    clientId = this.#parts.provider.clientId,
  ): Promise<ProviderServer> {
    const client = await import('openid-client')
    const { provider, clock, timeout = defaultTimeout } = this.#parts
    const configuration = new client.Configuration(
      // provider-client.ts checks the `iss` of the response, once. The library would check it again with each issuer that the
      // id_token is verified with.
      { ...metadata, authorization_response_iss_parameter_supported: false },
      clientId,
      { [client.clockTolerance]: clockTolerance },
      await clientAuthentication(provider, metadata, clock, this.#isDiscovered),
    )
    const { token_endpoint: tokenUrl } = metadata
    const openid = provider.kind === 'openid'
    const fetch =
      tokenUrl === undefined
        ? this.#fetch
        : TokenResponseCache.wrapFetch(this.#fetch, tokenUrl, { idToken: openid })
    configuration[client.customFetch] = asCustomFetch(fetch)
    configuration.timeout = timeout
    if (this.#insecure) client.allowInsecureRequests(configuration)
    if (openid) client.enableNonRepudiationChecks(configuration)
    return { metadata, source, configuration }
  }

  get #isDiscovered(): boolean {
    return configuredMetadata(this.#parts.provider) === undefined
  }

  get #insecure(): boolean {
    const { provider, allowPrivateNetwork } = this.#parts
    const addresses = [provider.authUrl, provider.tokenUrl, provider.profileUrl]
    if (provider.kind === 'openid') addresses.push(provider.issuer, provider.jwksUrl)
    return allowPrivateNetwork && addresses.some((address) => address?.startsWith('http:'))
  }
}

async function shareKeys(
  keys: ExportedJWKSCache | undefined,
  { configuration }: ProviderServer,
): Promise<void> {
  const { setJwksCache } = await import('openid-client')
  if (keys) setJwksCache(configuration, keys)
}

/**
 * The client authentication at the token endpoint (RFC 6749, section 2.3): as configured, as in the preset, or as in the
 * discovery document. A document without `token_endpoint_auth_methods_supported` means the header (RFC 8414, section 2).
 * Without a document it is the body, as providers without discovery document it.
 * @param discovered whether `server` was read from a discovery document.
 */
export async function clientAuthentication(
  provider: ResolvedProvider,
  server: ServerMetadata,
  clock: Clock,
  discovered: boolean,
): Promise<ClientAuth> {
  const { ClientSecretPost, None } = await import('openid-client')
  const { clientSecret, clientId, presetSetting, tokenAuth, quirks } = provider
  const { signedSecret } = quirks
  if (clientSecret === undefined && signedSecret !== undefined) {
    return (_server, _client, body) => {
      body.set('client_id', clientId)
      body.set('client_secret', signedSecret.sign(presetSetting, clientId, clock.now()))
    }
  }
  if (clientSecret === undefined) return None()
  const { token_endpoint_auth_methods_supported: supported = [] } = server
  const method = tokenAuth ?? (discovered && !supported.includes('client_secret_post') ? 'basic' : 'post')
  return method === 'post' ? ClientSecretPost(clientSecret) : basic(clientId, clientSecret)
}

/**
 * HTTP Basic. RFC 6749 requires form-encoding of id and secret, but many providers do not decode them. So only characters
 * that need it are encoded; openid-client also encodes `-` and `_`, which fails at these providers.
 */
function basic(clientId: string, clientSecret: string): ClientAuth {
  const credentials = [clientId, clientSecret].map(formEncoded).join(':')
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return (_server, _client, _body, headers) => headers.set('authorization', authorization)
}

function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+')
}

interface DiscoveryOptions extends Required<Pick<ProviderServerParts, 'fetch' | 'timeout'>> {
  /** Whether http addresses are allowed. */
  insecure: boolean
}

/** The algorithms of an id_token if the provider names none: all asymmetric ones, of which its keys allow some. */
const asymmetric = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

/**
 * Reads the discovery document (OpenID Connect Discovery 1.0, section 4). Configured addresses replace those of the document.
 * @throws DiscoveryFailed when it cannot be read or names another issuer.
 */
async function discover(
  provider: OpenIdProvider,
  { fetch, timeout, insecure }: DiscoveryOptions,
): Promise<ServerMetadata> {
  const client = await import('openid-client')
  const { authUrl, tokenUrl, profileUrl, jwksUrl } = provider
  let issuer = ''
  try {
    await provider.loaded?.()
    // Read once: the getter of the built-in provider works only while the service listens.
    issuer = provider.issuer
    const document = acceptingOtherIssuers(fetch, provider, issuer)
    const discovered = await client.discovery(new URL(issuer), provider.clientId, {}, client.None(), {
      [client.customFetch]: asCustomFetch(document.fetch),
      timeout,
      ...(insecure && { execute: [client.allowInsecureRequests] }),
    })
    const found = discovered.serverMetadata()
    const { authorization_endpoint: foundUrl } = found
    const metadata = {
      id_token_signing_alg_values_supported: asymmetric,
      ...found,
      issuer: document.issuer() ?? found.issuer,
      authorization_endpoint:
        authUrl ?? (foundUrl === undefined ? undefined : withoutFlowParameters(foundUrl)),
      token_endpoint: tokenUrl ?? found.token_endpoint,
      userinfo_endpoint: profileUrl ?? found.userinfo_endpoint,
      jwks_uri: jwksUrl ?? found.jwks_uri,
    }
    // A copy without undefined fields and without the library's methods: structured cloning fails on them.
    return JSON.parse(JSON.stringify(metadata)) as ServerMetadata
  } catch (error) {
    throw new DiscoveryFailed(reasonOf(error, issuer), error)
  }
}

/** The metadata of a provider that needs no discovery: plain OAuth 2.0, or OpenID Connect with all addresses configured. */
function configuredMetadata(provider: ResolvedProvider): ServerMetadata | undefined {
  const { authUrl, tokenUrl } = provider
  if (provider.kind === 'oauth') {
    const issuer = provider.expectedResponseIssuer ?? new URL(provider.authUrl).origin
    return { issuer, authorization_endpoint: provider.authUrl, token_endpoint: provider.tokenUrl }
  }
  const { issuer, jwksUrl, profileUrl } = provider
  if (authUrl === undefined || tokenUrl === undefined || jwksUrl === undefined) return undefined
  return {
    issuer,
    authorization_endpoint: authUrl,
    token_endpoint: tokenUrl,
    jwks_uri: jwksUrl,
    id_token_signing_alg_values_supported: asymmetric,
    ...(profileUrl !== undefined && { userinfo_endpoint: profileUrl }),
  }
}

/** Characters of an error of the network or of a library. */
const longestReason = 300

function reasonOf(error: unknown, issuer: string): string {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { cause } = error as Error
  if (cause instanceof Response)
    return cause.status === 200
      ? `${url} is not JSON: check its issuer`
      : `${url} answered ${cause.status}: check its issuer`
  // openid-client compares the issuers and gives the document as the cause.
  if (isObject(cause) && isObject(cause['body']))
    return `${url} names the issuer ${quoted(cause['body']['issuer'])}, but ${quoted(issuer)} is configured: they must match exactly, including the trailing slash`
  return `${url} cannot be read: ${causeInWords(cause ?? error).slice(0, longestReason)}`
}

function quoted(value: unknown): string {
  return printable((JSON.stringify(value) ?? 'undefined').slice(0, 200))
}

/**
 * openid-client refuses a document with another issuer than the requested one. Where the preset accepts the other issuer,
 * this replaces it in the document and reports it by `issuer()`.
 */
function acceptingOtherIssuers(
  fetch: ProviderFetch,
  { quirks }: OpenIdProvider,
  requested: string,
): { fetch: ProviderFetch; issuer: () => string | undefined } {
  const { acceptsDiscoveredIssuer } = quirks
  let named: string | undefined
  if (!acceptsDiscoveredIssuer) return { fetch, issuer: () => named }
  return {
    issuer: () => named,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (response.status !== 200) return response
      const text = await response.text()
      const { headers } = response
      const document: unknown = JSON.parse(text)
      const found = isObject(document) ? document['issuer'] : undefined
      if (typeof found !== 'string' || found === requested || !acceptsDiscoveredIssuer(found, requested))
        return new Response(text, { headers })
      named = found
      return Response.json({ ...(document as object), issuer: requested })
    },
  }
}

/** The standard fetch. The caller provides one with limits of time and size and with address checks. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>

/** Adds a User-Agent, which some providers require, and the headers of the preset to every request. */
export function withProviderHeaders(
  { quirks, presetSetting }: ResolvedProvider,
  fetch: ProviderFetch,
): ProviderFetch {
  const added = Object.entries({ 'user-agent': 'postern', ...quirks.headers?.(presetSetting) })
  return (url, init) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of added) headers.set(name, value)
    return fetch(url, { ...init, headers })
  }
}

/** openid-client's type of the options differs only in allowing `undefined`. */
function asCustomFetch(fetch: ProviderFetch): CustomFetch {
  return (url, options) => fetch(url, options as RequestInit)
}

/** A sign-out that goes on at the provider. */
export interface EndSessionRequest {
  /** Where the provider sends the browser afterwards. It has to be registered at the provider. */
  postLogoutRedirectUri: string
  /** Comes back with the browser. */
  state: string
}

/**
 * The provider's address for ending its own session (OpenID Connect RP-Initiated Logout 1.0, section 2); `undefined` if the
 * discovery document has none that a browser may be sent to. The id_token is not stored, so `client_id` takes the place of
 * `id_token_hint`; the provider may then ask the person before it signs out.
 */
export function endSessionAddress(
  { issuer, clientId }: Pick<OpenIdProvider, 'issuer' | 'clientId'>,
  { end_session_endpoint: endpoint }: ServerMetadata,
  { postLogoutRedirectUri, state }: EndSessionRequest,
): URL | undefined {
  const url = typeof endpoint === 'string' ? URL.parse(endpoint) : null
  if (!url) return undefined
  // As secure as the issuer at least; never `javascript:`.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && issuer.startsWith('http:'))) return undefined
  url.searchParams.set('client_id', clientId)
  url.searchParams.set('post_logout_redirect_uri', postLogoutRedirectUri)
  url.searchParams.set('state', state)
  return url
}
