import type { Configuration, CustomFetch, ExportedJWKSCache, ServerMetadata } from 'openid-client'
import type { Clock } from '../runtime/clock.ts'
import { clientAuthentication } from './client-authentication.ts'
import { isObject } from './profile.ts'
import { withoutFlowParameters } from './providers/authorization-parameters.ts'
import type { OpenIdProvider, ResolvedProvider } from './providers/resolved-provider.ts'
import { TokenExchange, type ProviderFetch } from './token-exchange.ts'

/** Milliseconds in which a discovery that failed is not tried again. */
const failureKept = 5_000
/** Milliseconds after which a discovery document is read again. */
const fresh = 3_600_000
/** The same when that fails: the old one is good enough for a while. */
const staleKept = 60_000

/** What is known of a provider's server, and openid-client's view of it. */
export interface ProviderServer {
  metadata: ServerMetadata
  configuration: Configuration
}

export interface ProviderServerParts {
  provider: ResolvedProvider
  fetch: ProviderFetch
  allowPrivateNetwork: boolean
  clock: Clock
  /** Seconds for one request to the provider. */
  timeout: number
}

/** Finds out where a provider's endpoints and keys are, when somebody first signs in with it. */
export class ProviderServers {
  readonly #parts: ProviderServerParts
  readonly #fetch: ProviderFetch
  #current: ProviderServer | undefined
  #freshUntil = 0
  #reading: Promise<ProviderServer> | undefined
  #failed: { error: unknown; until: number } | undefined

  constructor(parts: ProviderServerParts) {
    this.#parts = parts
    this.#fetch = withHeaders(parts)
  }

  /** @throws when the provider cannot be discovered; for the next moments without asking it again. */
  async current(): Promise<ProviderServer> {
    const { clock } = this.#parts
    const known = this.#current
    const now = clock.now()
    if (known && now < this.#freshUntil) return known
    if (this.#failed && now < this.#failed.until) throw this.#failed.error
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    try {
      return await this.#reading
    } catch (error) {
      if (known) {
        this.#freshUntil = clock.now() + staleKept
        return known
      }
      this.#failed = { error, until: clock.now() + failureKept }
      throw error
    }
  }

  /** The same server under another issuer, with the keys that are known. */
  async underIssuer({ metadata, configuration }: ProviderServer, issuer: string): Promise<ProviderServer> {
    const { getJwksCache } = await import('openid-client')
    const other = await this.#server({ ...metadata, issuer })
    await shareKeys(getJwksCache(configuration), other)
    return other
  }

  /** The same server without the keys that are known: they will be fetched again. From now on for everybody. */
  async withoutKeys({ metadata }: ProviderServer): Promise<ProviderServer> {
    const renewed = await this.#server(metadata)
    const own = this.#current
    if (own) this.#current = await this.#server(own.metadata)
    return renewed
  }

  /** Lets everybody use the keys that were fetched for one. */
  async keepKeys({ configuration }: ProviderServer): Promise<void> {
    const { getJwksCache } = await import('openid-client')
    if (this.#current) await shareKeys(getJwksCache(configuration), this.#current)
  }

  async #read(): Promise<ProviderServer> {
    const { provider, clock } = this.#parts
    const given = givenMetadata(provider)
    const server = await this.#server(given ?? (await this.#discover(provider as OpenIdProvider)))
    this.#current = server
    this.#freshUntil = given ? Number.POSITIVE_INFINITY : clock.now() + fresh
    this.#failed = undefined
    return server
  }

  async #discover(provider: OpenIdProvider): Promise<ServerMetadata> {
    const client = await import('openid-client')
    await provider.loaded?.()
    const { timeout } = this.#parts
    // Read once: the built-in provider's is known only while the service listens.
    const { issuer, authUrl, tokenUrl, profileUrl, jwksUrl } = provider
    const document = conformingDiscovery(this.#fetch, provider, issuer)
    const discovered = await client.discovery(new URL(issuer), provider.clientId, {}, client.None(), {
      [client.customFetch]: asCustomFetch(document.fetch),
      timeout,
      ...(this.#insecure && { execute: [client.allowInsecureRequests] }),
    })
    // Plain data: the helper that it comes with cannot be cloned.
    const metadata = JSON.parse(JSON.stringify(discovered.serverMetadata())) as ServerMetadata
    return {
      ...metadata,
      issuer: document.issuer() ?? metadata.issuer,
      ...(metadata.authorization_endpoint !== undefined && {
        authorization_endpoint: withoutFlowParameters(metadata.authorization_endpoint),
      }),
      ...definedOf({
        authorization_endpoint: authUrl,
        token_endpoint: tokenUrl,
        userinfo_endpoint: profileUrl,
        jwks_uri: jwksUrl,
      }),
    }
  }

  async #server(metadata: ServerMetadata): Promise<ProviderServer> {
    const client = await import('openid-client')
    const { provider, clock, timeout } = this.#parts
    const configuration = new client.Configuration(
      // The issuer that the answer names is checked before (answer-issuer.ts), once, and not under each issuer that the
      // id_token is then tried with.
      { ...metadata, authorization_response_iss_parameter_supported: false },
      provider.clientId,
      {},
      await clientAuthentication(provider, metadata, clock, givenMetadata(provider) === undefined),
    )
    const { token_endpoint: tokenUrl } = metadata
    const openid = provider.kind === 'openid'
    const fetch =
      tokenUrl === undefined
        ? this.#fetch
        : TokenExchange.fetching(this.#fetch, tokenUrl, { idToken: openid })
    configuration[client.customFetch] = asCustomFetch(fetch)
    configuration.timeout = timeout
    if (this.#insecure) client.allowInsecureRequests(configuration)
    if (openid) client.enableNonRepudiationChecks(configuration)
    return { metadata, configuration }
  }

  get #insecure(): boolean {
    const { provider, allowPrivateNetwork } = this.#parts
    const addresses = [provider.authUrl, provider.tokenUrl, provider.profileUrl]
    if (provider.kind === 'openid') addresses.push(provider.issuer, provider.jwksUrl)
    return allowPrivateNetwork && addresses.some((address) => address?.startsWith('http:'))
  }
}

/** What needs no discovery: plain OAuth 2.0, and OpenID Connect with all of its addresses given. */
function givenMetadata(provider: ResolvedProvider): ServerMetadata | undefined {
  const { authUrl, tokenUrl } = provider
  if (provider.kind === 'oauth') {
    const issuer = provider.responseIssuer ?? new URL(provider.authUrl).origin
    return { issuer, authorization_endpoint: provider.authUrl, token_endpoint: provider.tokenUrl }
  }
  const { issuer, jwksUrl, profileUrl } = provider
  if (authUrl === undefined || tokenUrl === undefined || jwksUrl === undefined) return undefined
  return {
    issuer,
    authorization_endpoint: authUrl,
    token_endpoint: tokenUrl,
    jwks_uri: jwksUrl,
    ...definedOf({ userinfo_endpoint: profileUrl }),
  }
}

/** Lets a discovery document pass that names its issuer otherwise, where the preset says that it may; tells the name. */
function conformingDiscovery(
  fetch: ProviderFetch,
  { quirks }: OpenIdProvider,
  asked: string,
): { fetch: ProviderFetch; issuer: () => string | undefined } {
  const { discoveredIssuer } = quirks
  let named: string | undefined
  if (!discoveredIssuer) return { fetch, issuer: () => named }
  return {
    issuer: () => named,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (response.status !== 200) return response
      const text = await response.text()
      const { headers } = response
      const document: unknown = JSON.parse(text)
      const found = isObject(document) ? document['issuer'] : undefined
      if (typeof found !== 'string' || found === asked || !discoveredIssuer(found, asked))
        return new Response(text, { headers })
      named = found
      return Response.json({ ...(document as object), issuer: asked })
    },
  }
}

/** Every request names who asks; some providers want more. */
function withHeaders({ provider, fetch }: ProviderServerParts): ProviderFetch {
  const more = Object.entries({ 'user-agent': 'postern', ...provider.quirks.headers?.(provider.own) })
  return (url, init) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of more) headers.set(name, value)
    return fetch(url, { ...init, headers })
  }
}

async function shareKeys(
  keys: ExportedJWKSCache | undefined,
  { configuration }: ProviderServer,
): Promise<void> {
  const { setJwksCache } = await import('openid-client')
  if (keys) setJwksCache(configuration, keys)
}

/** openid-client's own type of the options has the same fields, undefined ones included. */
function asCustomFetch(fetch: ProviderFetch): CustomFetch {
  return (url, options) => fetch(url, options as RequestInit)
}

function definedOf(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
