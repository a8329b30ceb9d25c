import type { AuthorizationCodeGrantChecks, Configuration } from 'openid-client'
import type { Authentication } from '../accounts/authentication.ts'
import type { Clock } from '../runtime/clock.ts'
import { readAuthentication } from './authentication.ts'
import { checkDiscoveredIssuer, checkKnownIssuer, type AnswerOrigin } from './answer-issuer.ts'
import { issuedTokens, type IssuedTokens } from './issued-tokens.ts'
import type { VerifiedIdentity } from './verified-identity.ts'
import {
  mergeProfiles,
  parseProfile,
  readStandardProfile,
  toIdentity,
  type ProfileDocument,
} from './profile.ts'
import { AccountNotAdmitted, ProfileRefused } from './provider-errors.ts'
import { ProviderServers, type ProviderServer } from './provider-server.ts'
import type { ProfileSource } from './providers/preset.ts'
import type { OAuthProvider, OpenIdProvider, ResolvedProvider } from './providers/resolved-provider.ts'
import { redeemIdToken } from './redeem.ts'
import type { ProviderFetch } from './token-exchange.ts'

/**
 * Seconds. With `max_age` an id_token must hold `auth_time` (OpenID Connect Core, section 3.1.2.1); one that nobody
 * exceeds asks nobody to authenticate anew.
 */
const longestAge = '31536000'

export interface AuthorizationRequest {
  redirectUri: string
  state: string
  /** The PKCE challenge, S256. */
  challenge: string | undefined
  nonce: string | undefined
  /** What the provider is asked for beyond a plain sign-in. */
  demands?: AuthenticationDemands | undefined
}

export interface AuthenticationDemands {
  /** To authenticate the person anew, however fresh their session there is. */
  anew: boolean
  /** To authenticate them by a second factor too. */
  secondFactor: boolean
  /** By one of these (`acr_values`); empty leaves it to the provider. */
  acrValues: readonly string[]
}

export interface AuthorizationAnswer {
  /** The redirect URI as it was in the request, with the answer's code and state. */
  url: URL
  state: string
  verifier: string | undefined
  nonce: string | undefined
  /** When the provider was asked to authenticate the person anew, in milliseconds. */
  reauthenticationAskedAt?: number | undefined
  /** The name that came with the answer itself, from providers that send it so. */
  givenName?: string | undefined
}

export interface ProviderClientParts {
  provider: ResolvedProvider
  fetch: ProviderFetch
  allowPrivateNetwork: boolean
  clock: Clock
  /** Seconds for one request to the provider. Default 5. */
  timeout?: number
}

/** Speaks with one identity provider, by openid-client, which is loaded and set up when somebody first signs in. */
export class ProviderClient {
  readonly provider: ResolvedProvider
  readonly #servers: ProviderServers
  readonly #clock: Clock

  constructor({ timeout = 5, ...parts }: ProviderClientParts) {
    this.provider = parts.provider
    this.#clock = parts.clock
    this.#servers = new ProviderServers({ ...parts, timeout })
  }

  /** Where the browser is sent. @throws when the provider cannot be discovered. */
  async authorizationUrl(request: AuthorizationRequest): Promise<URL> {
    const { redirectUri, state, challenge, nonce, demands } = request
    const { buildAuthorizationUrl } = await import('openid-client')
    const { configuration } = await this.#servers.current()
    const { scope, authParams, provesAuthentication } = this.provider
    return buildAuthorizationUrl(configuration, {
      ...(provesAuthentication && { max_age: longestAge }),
      ...authParams,
      ...(demands && demandParameters(this.provider, demands)),
      redirect_uri: redirectUri,
      ...(scope !== '' && { scope }),
      state,
      ...(challenge !== undefined && { code_challenge: challenge, code_challenge_method: 'S256' }),
      ...(nonce !== undefined && { nonce }),
    })
  }

  /**
   * Comes before anything else that an answer says is believed (RFC 9207).
   * @throws when the answer is another provider's, or the provider cannot be discovered.
   */
  async checkIssuer(answer: AnswerOrigin): Promise<void> {
    if (this.provider.kind === 'oauth') return checkKnownIssuer(this.provider, answer)
    const { metadata } = await this.#servers.current()
    checkDiscoveredIssuer(this.provider, metadata, answer)
  }

  /**
   * Exchanges the code of an answer whose issuer was checked for tokens and reads whom the provider vouches for. Nothing shows the tokens, and they are kept
   * only when the configuration asks for it. @throws whatever speaks against the answer.
   */
  async identity(answer: AuthorizationAnswer): Promise<VerifiedIdentity> {
    const server = await this.#servers.current()
    return this.provider.kind === 'openid'
      ? this.#openIdIdentity(this.provider, server, answer)
      : this.#oauthIdentity(this.provider, server, answer)
  }

  /** Exchanges a refresh token (RFC 6749, section 6). @throws whatever the provider or the network has against it. */
  async refresh(refreshToken: string): Promise<IssuedTokens> {
    const { refreshTokenGrant } = await import('openid-client')
    const { configuration } = await this.#servers.current()
    return issuedTokens(await refreshTokenGrant(configuration, refreshToken))
  }

  async #openIdIdentity(
    provider: OpenIdProvider,
    server: ProviderServer,
    answer: AuthorizationAnswer,
  ): Promise<VerifiedIdentity> {
    const { fetchUserInfo } = await import('openid-client')
    const { quirks, own } = provider
    const { tokens, configuration } = await redeemIdToken(this.#servers, {
      server,
      url: answer.url,
      checks: { ...checksOf(answer), idTokenExpected: true },
      issuerOf: quirks.tokenIssuer,
    })
    const claims = tokens.claims()
    if (!claims) throw new Error('no id_token came')
    if (quirks.admits?.(claims, own, server.metadata.issuer) === false) throw new AccountNotAdmitted()
    const discovered = quirks.userinfo === false ? undefined : server.metadata.userinfo_endpoint
    const profileUrl = provider.profileUrl ?? discovered
    const more =
      profileUrl === undefined ? {} : await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    const document = mergeProfiles(claims, more)
    const identity = await this.#read({ claims, document, profileUrl: profileUrl ?? '' }, configuration, {
      token: tokens.access_token,
      answer,
    })
    const authentication = this.#authentication(claims, answer)
    return { identity, authentication, profile: document, tokens: issuedTokens(tokens) }
  }

  async #oauthIdentity(
    provider: OAuthProvider,
    { configuration }: ProviderServer,
    answer: AuthorizationAnswer,
  ): Promise<VerifiedIdentity> {
    const { authorizationCodeGrant } = await import('openid-client')
    const tokens = await authorizationCodeGrant(configuration, new URL(answer.url), checksOf(answer))
    const token = tokens.access_token
    const { method = 'GET', query = {} } =
      provider.quirks.profileRequest?.(token, provider.clientSecret) ?? {}
    const address = new URL(provider.profileUrl)
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
    const response = await this.#fetchWith(configuration, token, address, method)
    if (response.status !== 200) throw new ProfileRefused(response.status)
    const document = parseProfile(await response.text())
    const source = { claims: {}, document, profileUrl: provider.profileUrl }
    const identity = await this.#read(source, configuration, { token, answer })
    const authentication = this.#authentication({}, answer)
    return { identity, authentication, profile: document, tokens: issuedTokens(tokens) }
  }

  #authentication(claims: ProfileDocument, { reauthenticationAskedAt }: AuthorizationAnswer): Authentication {
    const { provesAuthentication: provable } = this.provider
    const now = this.#clock.now()
    return readAuthentication(claims, { now, provable, askedAt: reauthenticationAskedAt })
  }

  async #read(
    source: Pick<ProfileSource, 'claims' | 'document' | 'profileUrl'>,
    configuration: Configuration,
    { token, answer }: { token: string; answer: AuthorizationAnswer },
  ) {
    const { name, quirks, own } = this.provider
    const raw = await quirks.readProfile?.({
      ...source,
      own,
      givenName: answer.givenName,
      readMore: (url) => this.#readMore(configuration, token, url),
    })
    const issuer = this.#issuerOf(source.claims)
    if (raw) return { ...toIdentity(name, raw), issuer }
    const standard = readStandardProfile(source.document)
    // The subject of the verified id_token is who signed in, whatever else the profile calls an id.
    const { sub } = source.claims
    return { ...toIdentity(name, sub === undefined ? standard : { ...standard, id: sub }), issuer }
  }

  /** Who vouches for the identity: the issuer of the verified id_token, unless the provider says how it is known. */
  #issuerOf({ iss }: ProfileDocument): string {
    const { provider } = this
    if (provider.kind === 'oauth') return provider.identityIssuer
    const { issuerName, quirks } = provider
    const named = String(iss)
    return issuerName ?? quirks.identityIssuer?.(named) ?? named
  }

  async #readMore(configuration: Configuration, token: string, url: string): Promise<unknown> {
    try {
      const response = await this.#fetchWith(configuration, token, new URL(url), 'GET')
      if (response.status !== 200) return undefined
      return await response.json()
    } catch {
      // What is asked for here is an addition that many users have not allowed: the sign-in goes on without it.
      return undefined
    }
  }

  async #fetchWith(configuration: Configuration, token: string, url: URL, method: string): Promise<Response> {
    const { fetchProtectedResource } = await import('openid-client')
    const headers = new Headers({ accept: 'application/json' })
    return fetchProtectedResource(configuration, token, url, method, null, headers)
  }
}

/**
 * How a provider is asked to authenticate a person anew (OpenID Connect Core, section 3.1.2.1), in the standard's words
 * and in those of its own. `prompt` of the configuration would keep it from that.
 */
function demandParameters(
  { provesAuthentication, quirks }: ResolvedProvider,
  demands: AuthenticationDemands,
): Record<string, string> {
  const { anew, acrValues } = demands
  return {
    ...(anew && provesAuthentication && { prompt: 'login', max_age: '0' }),
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    ...quirks.demandParams?.(demands),
  }
}

function checksOf({ state, nonce, verifier }: AuthorizationAnswer): AuthorizationCodeGrantChecks {
  return {
    expectedState: state,
    ...(nonce !== undefined && { expectedNonce: nonce }),
    ...(verifier !== undefined && { pkceCodeVerifier: verifier }),
  }
}
