import type { AuthorizationCodeGrantChecks, ServerMetadata, Configuration } from 'openid-client'
import type { Clock } from '../../runtime/clock.ts'
import {
  mergeProfiles,
  parseAuthentication,
  parseProfile,
  pictureIn,
  type ProfileDocument,
  readStandardProfile,
  toIdentity,
  type VerifiedIdentity,
} from './profile.ts'
import { authorizationParameters, type AuthorizationRequest } from '../flow/flows.ts'
import { exchangeCode, type IssuedTokens, issuedTokens, mayHaveMoved } from './code-exchange.ts'
import {
  endSessionAddress,
  type EndSessionRequest,
  type ProviderServer,
  type ProviderServerParts,
  ProviderServerCache,
} from './provider-server.ts'
import {
  AccountNotAdmitted,
  DiscoveryFailed,
  ProfileRefused,
  refusedTokens,
  ProviderUnavailable,
} from './provider-errors.ts'
import { type NativeIdToken, verifyIdToken } from './id-token.ts'
import type { Row } from '../../storage/tables.ts'
import type { OAuthProvider, OpenIdProvider, ResolvedProvider } from '../providers/resolved-provider.ts'
import type { ProviderIdentity } from '../../accounts/users/identities.ts'
import { refusalOf, mapGroups, readGroups } from './groups.ts'
import type { ProfileSource } from '../providers/preset.ts'

interface CodeToExchange {
  /** The redirect URI of the request, with the code and state of the response. */
  url: URL
  state: string
  verifier: string | undefined
  nonce: string | undefined
  /** When the provider was asked to reauthenticate the person, in milliseconds. */
  reauthenticationAskedAt?: number | undefined
  /** The name in the response itself: Apple's only. */
  givenName?: string | undefined
}

/** The client of one identity provider. It loads openid-client at the first sign-in. */
export class ProviderClient {
  readonly provider: ResolvedProvider
  readonly #servers: ProviderServerCache
  readonly #clock: Clock

  constructor(parts: ProviderServerParts) {
    this.provider = parts.provider
    this.#clock = parts.clock
    this.#servers = new ProviderServerCache(parts)
  }

  /** The URL that the browser is redirected to. @throws DiscoveryFailed */
  async authorizationUrl(request: AuthorizationRequest): Promise<URL> {
    const { buildAuthorizationUrl } = await import('openid-client')
    const { configuration, metadata } = await this.#servers.current()
    const supportedPrompts = metadata['prompt_values_supported']
    const parameters = authorizationParameters(this.provider, { ...request, supportedPrompts })
    try {
      return buildAuthorizationUrl(configuration, parameters)
    } catch (error) {
      throw new DiscoveryFailed('the discovery document has no usable authorization_endpoint', error)
    }
  }

  /**
   * Checks the issuer of an authorization response (RFC 9207), before its other parameters are used.
   * @throws when the response is from another provider, or discovery fails.
   */
  async checkIssuer({ issuer: named, isError }: ResponseOrigin): Promise<void> {
    const { provider } = this
    const { isNeeded, accepts } =
      provider.kind === 'oauth'
        ? knownIssuer(provider, isError)
        : discoveredIssuer(provider, (await this.#servers.current()).metadata)
    if (named === undefined && isNeeded)
      throw new Error('the response does not name its issuer (iss), although this provider always does')
    if (named !== undefined && !accepts(named))
      throw new Error('the response names another issuer (iss) than that of this provider')
  }

  /**
   * Exchanges the code of a response whose issuer was checked, verifies the tokens and reads the profile.
   * @throws when a check fails; `providerErrorCode` gives the failure code of the error.
   */
  async identity(response: CodeToExchange): Promise<VerifiedIdentity> {
    const server = await this.#servers.current()
    const { provider } = this
    return provider.kind === 'openid'
      ? this.#openIdIdentity(provider, server, response)
      : this.#oauthIdentity(provider, server, response)
  }

  /**
   * The identity in an id_token that an app got from the provider's SDK. There is no access token, so the profile is only what the
   * claims contain.
   * @throws when a check fails; `providerErrorCode` gives the failure code of the error.
   */
  async nativeIdentity(
    provider: OpenIdProvider,
    token: NativeIdToken,
  ): Promise<{ verified: VerifiedIdentity; used: Row<'used_assertions'> }> {
    const now = this.#clock.now()
    const { claims, server, used } = await verifyIdToken(this.#servers, provider, token, now)
    requireAdmitted(provider, claims, server)
    const answer = { claims, document: claims, profileUrl: '', givenName: token.givenName }
    // No preset of OpenID Connect reads the API.
    const verified = await this.#verified(answer, providerApi(server.configuration, ''))
    return { verified, used }
  }

  /**
   * Where a browser ends its session at the provider; `undefined` if this is not configured (`<NAME>_END_SESSION`), the provider
   * has no such address, or discovery fails: a sign-out here does not depend on the provider.
   */
  async endSessionUrl(request: EndSessionRequest): Promise<URL | undefined> {
    const { provider } = this
    if (!provider.endSession || provider.kind === 'oauth') return undefined
    const server = await this.#servers.current().catch(() => undefined)
    return server && endSessionAddress(provider, server.metadata, request)
  }

  /** Exchanges a refresh token (RFC 6749, section 6). @throws errors of openid-client and fetch. */
  async refresh(refreshToken: string): Promise<IssuedTokens> {
    const { refreshTokenGrant } = await import('openid-client')
    const server = await this.#servers.current()
    const grant = ({ configuration }: ProviderServer) =>
      refreshTokenGrant(configuration, refreshToken).catch(refusedTokens)
    const tokens = await grant(server).catch(async (error: unknown) => {
      if (!mayHaveMoved(error)) throw error
      const renewed = await this.#servers.renew(server)
      if (renewed.metadata.token_endpoint === server.metadata.token_endpoint) throw error
      return grant(renewed)
    })
    return issuedTokens(tokens)
  }

  async #openIdIdentity(
    provider: OpenIdProvider,
    current: ProviderServer,
    response: CodeToExchange,
  ): Promise<VerifiedIdentity> {
    const { fetchUserInfo } = await import('openid-client')
    const { quirks } = provider
    const { tokens, server } = await exchangeCode(this.#servers, {
      server: current,
      url: response.url,
      checks: { ...checksOf(response), idTokenExpected: true },
      expectedTokenIssuer: quirks.expectedTokenIssuer,
    })
    const { configuration } = server
    const claims = tokens.claims()
    if (!claims) throw new Error('the token response has no id_token')
    requireAdmitted(provider, claims, server)
    const discovered = quirks.userinfo === false ? undefined : server.metadata.userinfo_endpoint
    const profileUrl = provider.profileUrl ?? discovered
    const userinfo =
      profileUrl === undefined
        ? {}
        : await fetchUserInfo(configuration, tokens.access_token, claims.sub).catch(refusedUserInfo)
    const document = mergeProfiles(claims, userinfo)
    const answer = { claims, document, profileUrl: profileUrl ?? '', givenName: response.givenName }
    return this.#verified(answer, providerApi(configuration, tokens.access_token), response, tokens)
  }

  async #oauthIdentity(
    provider: OAuthProvider,
    { configuration }: ProviderServer,
    response: CodeToExchange,
  ): Promise<VerifiedIdentity> {
    const { authorizationCodeGrant } = await import('openid-client')
    const tokens = await authorizationCodeGrant(
      configuration,
      new URL(response.url),
      checksOf(response),
    ).catch(refusedTokens)
    const token = tokens.access_token
    const { method = 'GET', query = {} } =
      provider.quirks.profileRequest?.(token, provider.clientSecret) ?? {}
    const address = new URL(provider.profileUrl)
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
    const api = providerApi(configuration, token)
    const profile = await api.fetch(address, method)
    if (profile.status !== 200) throw new ProfileRefused(profile.status)
    const document = parseProfile(await profile.text())
    const { profileUrl } = provider
    const answer = { claims: {}, document, profileUrl, givenName: response.givenName }
    return this.#verified(answer, api, response, tokens)
  }

  async #verified(
    answer: ProviderAnswer,
    api: ProviderApi,
    { reauthenticationAskedAt: askedAt }: Pick<CodeToExchange, 'reauthenticationAskedAt'> = {},
    tokens?: Parameters<typeof issuedTokens>[0],
  ): Promise<VerifiedIdentity> {
    const { groups, updateProfile, provesAuthentication: provable } = this.provider
    return {
      identity: await readIdentity(this.provider, answer, api),
      exclusiveRoles: groups.exclusive,
      updateProfile,
      authentication: parseAuthentication(answer.claims, { now: this.#clock.now(), provable, askedAt }),
      profile: answer.document,
      tokens: tokens && issuedTokens(tokens),
    }
  }
}

/** @throws AccountNotAdmitted for an account of another organization, tenant or workspace than the configured ones */
function requireAdmitted(
  { quirks, presetSetting }: OpenIdProvider,
  claims: ProfileDocument,
  { source }: ProviderServer,
): void {
  if (quirks.admits?.(claims, presetSetting, source.issuer) === false)
    throw new AccountNotAdmitted('the account is not of the configured organization, tenant or workspace')
}

function checksOf({ state, nonce, verifier }: CodeToExchange): AuthorizationCodeGrantChecks {
  return {
    expectedState: state,
    ...(nonce !== undefined && { expectedNonce: nonce }),
    ...(verifier !== undefined && { pkceCodeVerifier: verifier }),
  }
}

/** openid-client reports the status of the userinfo endpoint only as the cause of an error. */
function refusedUserInfo(error: unknown): never {
  const { cause } = error as { cause?: unknown }
  if (cause instanceof Response && cause.status !== 200) throw new ProfileRefused(cause.status, error)
  throw error
}

/** The verified answer of a provider. */
type ProviderAnswer = Pick<ProfileSource, 'claims' | 'document' | 'profileUrl' | 'givenName'>

/**
 * The identity in a provider's verified answer, with its groups.
 * @throws AccountNotAdmitted; UnusableProfile; ProfileRefused when the provider's API does not return the groups.
 */
async function readIdentity(
  provider: ResolvedProvider,
  answer: ProviderAnswer,
  api: ProviderApi,
): Promise<ProviderIdentity> {
  const { name, quirks, presetSetting, groups, admission } = provider
  const { claims, document, profileUrl } = answer
  const { readMore, readNeeded } = api
  const raw = await quirks.readProfile?.({ ...answer, presetSetting, readMore })
  const shared = { picture: pictureIn(document), claims: document }
  // With an id_token, its verified subject is the id. The profile may contain another id.
  const { sub } = claims
  const own = raw ?? { ...readStandardProfile(document), ...(sub !== undefined && { id: sub }) }
  const identity = toIdentity(name, { ...shared, ...own })
  const named = await readGroups(document, groups, quirks.groups, { profileUrl, readNeeded })
  const refusal = refusalOf(identity, named, admission)
  if (refusal !== undefined) throw new AccountNotAdmitted(refusal, identity.providerId)
  return { ...identity, ...mapGroups(named, groups), issuer: identityNamespaceOf(provider, claims) }
}

/** The issuer that the identity is bound to: `iss` of the verified id_token, unless the provider has a fixed one. */
function identityNamespaceOf(provider: ResolvedProvider, { iss }: ProfileDocument): string {
  if (provider.kind === 'oauth') return provider.identityNamespace
  const { identityNamespace, quirks } = provider
  const named = String(iss)
  return identityNamespace ?? quirks.identityNamespace?.(named) ?? named
}

/** The parts of an authorization response that its issuer is checked by. */
interface ResponseOrigin {
  /** The parameter `iss`. */
  issuer: string | undefined
  /** Whether the response is an error. */
  isError: boolean
}

/** The `iss` of a provider's responses. */
interface ExpectedIssuer {
  /** Whether it must be present. */
  isNeeded: boolean
  accepts: (named: string) => boolean
}

/**
 * RFC 9207, section 2.4, for a discovered provider. If the response (also an error) has `iss`, it must be the issuer of the
 * configuration or of the discovery document, or one of the issuers that a multi-tenant document stands for. If the document
 * advertises `iss`, it must be present.
 */
function discoveredIssuer(
  { issuer: configured, quirks }: OpenIdProvider,
  { issuer, authorization_response_iss_parameter_supported: advertised }: ServerMetadata,
): ExpectedIssuer {
  return {
    isNeeded: advertised === true,
    accepts: (named) =>
      named === issuer || named === configured || quirks.acceptsResponseIssuer?.(named, issuer) === true,
  }
}

/**
 * The same for plain OAuth 2.0, where the preset knows the issuer. An error response may omit `iss`: it cannot lead to a
 * sign-in. With a configured address (a proxy, a self-hosted server) `iss` may be missing or be the origin of that address.
 */
function knownIssuer(provider: OAuthProvider, isError: boolean): ExpectedIssuer {
  const { expectedResponseIssuer, hasConfiguredAuthUrl, authUrl } = provider
  return {
    isNeeded: expectedResponseIssuer !== undefined && !hasConfiguredAuthUrl && !isError,
    accepts: (named) =>
      named === expectedResponseIssuer ||
      (hasConfiguredAuthUrl && URL.parse(named)?.origin === new URL(authUrl).origin),
  }
}

/** Statuses by which an API says that this token may not read a document. */
const untold = new Set([401, 403, 404])

type ProviderApi = ReturnType<typeof providerApi>

/** The API of a provider, with the access token of one sign-in. */
function providerApi(configuration: Configuration, token: string) {
  const fetch = async (url: URL, method = 'GET'): Promise<Response> => {
    const { fetchProtectedResource } = await import('openid-client')
    const headers = new Headers({ accept: 'application/json' })
    return fetchProtectedResource(configuration, token, url, method, null, headers)
  }
  return {
    fetch,
    /** A document that the sign-in needs. @throws ProfileRefused unless the status is 200; errors of fetch and JSON. */
    readNeeded: async (url: string): Promise<unknown> => {
      const response = await fetch(new URL(url))
      if (response.status !== 200) throw new ProfileRefused(response.status)
      return response.json()
    },
    /**
     * An optional document; `undefined` when the token may not read it (401, 403, 404): many users do not grant access to it.
     * Any other failure may pass, and what the document says would be missing until the next sign-in, or for ever.
     * @throws ProviderUnavailable
     */
    readMore: async (url: string): Promise<unknown> => {
      try {
        const response = await fetch(new URL(url))
        if (response.status === 200) return await response.json()
        if (untold.has(response.status) && !isRateLimit(response.headers)) return undefined
        throw new ProfileRefused(response.status)
      } catch (error) {
        // openid-client throws an error of its own for a 401 with a challenge.
        const status = error instanceof ProfileRefused ? undefined : (error as { status?: number }).status
        if (status !== undefined && untold.has(status)) return undefined
        throw new ProviderUnavailable(error)
      }
    },
  }
}

/** GitHub's rate limits answer 403, too. */
function isRateLimit(headers: Headers): boolean {
  return headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
}
