import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import type { Clock } from '../clock.ts'
import { issuedTokens, type IssuedTokens, type Vouched } from './issued-tokens.ts'
import { conformingTokenResponse } from './plain-token-response.ts'
import { parseProfile, readStandardProfile, toIdentity, type ProfileDocument } from './profile.ts'
import type { OAuthProvider, OpenIdProvider, ResolvedProvider } from './providers/settings.ts'

/** The standard fetch. It is bounded in time and size, and guarded, by whoever passes it in. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>

/** Seconds for one request to a provider. */
const timeout = 5
/** Milliseconds in which a discovery that failed is not tried again. */
const failureKept = 5_000

export interface AuthorizationRequest {
  redirectUri: string
  state: string
  /** The PKCE challenge, S256. */
  challenge: string | undefined
  nonce: string | undefined
}

export interface AuthorizationAnswer {
  /** The redirect URI as it was in the request, with the answer's parameters. */
  url: URL
  state: string
  verifier: string | undefined
  nonce: string | undefined
}

/** Speaks with one identity provider, by openid-client, which is loaded and set up when somebody first signs in. */
export class ProviderClient {
  readonly provider: ResolvedProvider
  readonly #fetch: ProviderFetch
  readonly #allowPrivateNetwork: boolean
  readonly #clock: Clock
  #configured: Promise<Configuration> | undefined
  #failed: { error: unknown; until: number } | undefined

  constructor(parts: {
    provider: ResolvedProvider
    fetch: ProviderFetch
    allowPrivateNetwork: boolean
    clock: Clock
  }) {
    this.provider = parts.provider
    this.#fetch = parts.fetch
    this.#allowPrivateNetwork = parts.allowPrivateNetwork
    this.#clock = parts.clock
  }

  /** Where the browser is sent. @throws when the provider cannot be discovered. */
  async authorizationUrl({ redirectUri, state, challenge, nonce }: AuthorizationRequest): Promise<URL> {
    const { buildAuthorizationUrl } = await import('openid-client')
    return buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope: this.provider.scope,
      state,
      ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: 'S256' }),
      ...(nonce !== undefined && { nonce }),
    })
  }

  /**
   * Exchanges the code for tokens and reads whom the provider vouches for. Nothing shows the tokens, and they are kept
   * only when the configuration asks for it. @throws whatever speaks against the answer.
   */
  async identity(answer: AuthorizationAnswer): Promise<Vouched> {
    const configuration = await this.#configuration()
    return this.provider.kind === 'openid'
      ? this.#openIdIdentity(this.provider, configuration, answer)
      : this.#oauthIdentity(this.provider, configuration, answer)
  }

  /** Exchanges a refresh token (RFC 6749, section 6). @throws whatever the provider or the network has against it. */
  async refresh(refreshToken: string): Promise<IssuedTokens> {
    const { refreshTokenGrant } = await import('openid-client')
    return issuedTokens(await refreshTokenGrant(await this.#configuration(), refreshToken))
  }

  async #openIdIdentity(
    provider: OpenIdProvider,
    configuration: Configuration,
    answer: AuthorizationAnswer,
  ): Promise<Vouched> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
    const tokens = await authorizationCodeGrant(configuration, answer.url, {
      expectedState: answer.state,
      idTokenExpected: true,
      ...(answer.nonce !== undefined && { expectedNonce: answer.nonce }),
      ...(answer.verifier !== undefined && { pkceCodeVerifier: answer.verifier }),
    })
    const claims = tokens.claims()
    if (!claims) throw new Error('no id_token came')
    const profileUrl = configuration.serverMetadata().userinfo_endpoint
    const more =
      profileUrl === undefined ? {} : await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    const document: ProfileDocument = { ...claims, ...more }
    const raw = provider.readProfile
      ? await provider.readProfile(document, profileUrl ?? '', (url) =>
          this.#readMore(configuration, tokens.access_token, url),
        )
      : readStandardProfile(document)
    // The subject of the verified id_token is who signed in, whatever else the profile calls an id.
    const identity = toIdentity(provider.name, { ...raw, id: claims.sub })
    return { identity, profile: document, tokens: issuedTokens(tokens) }
  }

  async #oauthIdentity(
    provider: OAuthProvider,
    configuration: Configuration,
    answer: AuthorizationAnswer,
  ): Promise<Vouched> {
    checkIssuer(provider, answer.url)
    const url = new URL(answer.url)
    url.searchParams.delete('iss')
    const { authorizationCodeGrant, fetchProtectedResource } = await import('openid-client')
    const tokens = await authorizationCodeGrant(configuration, url, {
      expectedState: answer.state,
      ...(answer.verifier !== undefined && { pkceCodeVerifier: answer.verifier }),
    })
    const token = tokens.access_token
    const response = await fetchProtectedResource(
      configuration,
      token,
      new URL(provider.profileUrl),
      'GET',
      null,
      new Headers(profileHeaders),
    )
    if (response.status !== 200) throw new Error(`the profile was answered with status ${response.status}`)
    const document = parseProfile(await response.text())
    const raw = provider.readProfile
      ? await provider.readProfile(document, provider.profileUrl, (more) =>
          this.#readMore(configuration, token, more),
        )
      : readStandardProfile(document)
    return { identity: toIdentity(provider.name, raw), profile: document, tokens: issuedTokens(tokens) }
  }

  async #readMore(configuration: Configuration, token: string, url: string): Promise<unknown> {
    const { fetchProtectedResource } = await import('openid-client')
    try {
      const response = await fetchProtectedResource(
        configuration,
        token,
        new URL(url),
        'GET',
        null,
        new Headers(profileHeaders),
      )
      if (response.status !== 200) return undefined
      return await response.json()
    } catch {
      // What is asked for here is an addition that many users have not allowed: the sign-in goes on without it.
      return undefined
    }
  }

  async #configuration(): Promise<Configuration> {
    if (this.#failed && this.#clock.now() < this.#failed.until) throw this.#failed.error
    this.#configured ??= this.#configure()
    try {
      return await this.#configured
    } catch (error) {
      this.#configured = undefined
      this.#failed = { error, until: this.#clock.now() + failureKept }
      throw error
    }
  }

  async #configure(): Promise<Configuration> {
    const { provider } = this
    const client = await import('openid-client')
    const secret = provider.clientSecret
    const metadata = secret === undefined ? {} : { client_secret: secret }
    const insecure = this.#allowPrivateNetwork && usesHttp(provider)
    if (provider.kind === 'oauth') {
      const configuration = new client.Configuration(
        {
          issuer: provider.responseIssuer ?? new URL(provider.authUrl).origin,
          authorization_endpoint: provider.authUrl,
          token_endpoint: provider.tokenUrl,
        },
        provider.clientId,
        metadata,
        secret === undefined ? client.None() : client.ClientSecretPost(secret),
      )
      configuration[client.customFetch] = asCustomFetch(
        conformingTokenResponse(this.#fetch, provider.tokenUrl),
      )
      configuration.timeout = timeout
      if (insecure) client.allowInsecureRequests(configuration)
      return configuration
    }
    const discovered = await client.discovery(
      new URL(provider.issuer),
      provider.clientId,
      metadata,
      undefined,
      {
        [client.customFetch]: asCustomFetch(this.#fetch),
        timeout,
        ...(insecure && { execute: [client.allowInsecureRequests] }),
      },
    )
    // Plain data: the helper that it comes with cannot be cloned.
    const server = JSON.parse(JSON.stringify(discovered.serverMetadata())) as ServerMetadata
    const basicOnly = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') === false
    const configuration = new client.Configuration(
      {
        ...server,
        ...(provider.authUrl !== undefined && { authorization_endpoint: provider.authUrl }),
        ...(provider.tokenUrl !== undefined && { token_endpoint: provider.tokenUrl }),
        ...(provider.profileUrl !== undefined && { userinfo_endpoint: provider.profileUrl }),
      },
      provider.clientId,
      metadata,
      secret === undefined
        ? client.None()
        : basicOnly
          ? client.ClientSecretBasic(secret)
          : client.ClientSecretPost(secret),
    )
    configuration[client.customFetch] = asCustomFetch(this.#fetch)
    configuration.timeout = timeout
    if (insecure) client.allowInsecureRequests(configuration)
    client.enableNonRepudiationChecks(configuration)
    return configuration
  }
}

/** openid-client's own type of the options has the same fields, undefined ones included. */
function asCustomFetch(fetch: ProviderFetch): CustomFetch {
  return (url, options) => fetch(url, options as RequestInit)
}

const profileHeaders = { accept: 'application/json', 'user-agent': 'postern' }

/** RFC 9207: an answer that names its issuer must name the one that was asked. */
function checkIssuer(provider: OAuthProvider, url: URL): void {
  const issuer = url.searchParams.get('iss')
  if (issuer === null || issuer === provider.responseIssuer) return
  const authOrigin = new URL(provider.authUrl).origin
  if (provider.ownAddress && URL.canParse(issuer) && new URL(issuer).origin === authOrigin) return
  throw new Error('the answer names another issuer than the one that was asked')
}

function usesHttp(provider: ResolvedProvider): boolean {
  const addresses = [provider.authUrl, provider.tokenUrl, provider.profileUrl]
  if (provider.kind === 'openid') addresses.push(provider.issuer)
  return addresses.some((address) => address?.startsWith('http:'))
}
