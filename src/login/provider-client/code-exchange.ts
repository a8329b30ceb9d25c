import { isObject } from '../../json/exact.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  AuthorizationCodeGrantChecks,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from 'openid-client'
import { unverifiedClaims } from '../../crypto/signed-jwt.ts'
import { readFields } from '../../http/requests/parameters.ts'
import { storableText } from '../../storage/sql-text.ts'
import { type ProfileDocument } from './profile.ts'
import { refusedTokens } from './provider-errors.ts'
import type { ProviderFetch, ProviderServer, ProviderServerCache } from './provider-server.ts'

interface ExchangedCode {
  tokens: TokenEndpointResponse & TokenEndpointResponseHelpers
  /** The server that verified the id_token. */
  server: ProviderServer
}

interface ProviderCodeExchange {
  server: ProviderServer
  /** The redirect URI with the code and state of the response. */
  url: URL
  checks: AuthorizationCodeGrantChecks
  /** The issuer that an id_token with these claims must have, if it depends on the claims. */
  expectedTokenIssuer?: ((claims: ProfileDocument, issuer: string) => string) | undefined
}

/**
 * Exchanges a code and verifies the id_token. A code can be sent only once, so the response is cached and verified again in
 * two cases: the token's tenant has its own issuer, or the provider may have new keys, algorithms or addresses (openid-client fetches
 * keys once a minute at most). With Microsoft's `common` the first verification always fails, because each tenant has its own issuer.
 * @throws when the exchange or the verification fails.
 */
export async function exchangeCode(
  servers: ProviderServerCache,
  { server: current, url, checks, expectedTokenIssuer }: ProviderCodeExchange,
): Promise<ExchangedCode> {
  const { authorizationCodeGrant } = await import('openid-client')
  const cache = new TokenResponseCache()
  const verify = async (server: ProviderServer): Promise<ExchangedCode> => {
    const { configuration } = server
    const tokens = await cache
      .run(() => authorizationCodeGrant(configuration, new URL(url), { ...checks }))
      .catch(refusedTokens)
    return { tokens, server }
  }
  const verifyAsTenant = async (server: ProviderServer): Promise<ExchangedCode> => {
    const { issuer } = server.metadata
    try {
      return await verify(server)
    } catch (error) {
      const claims = cache.unverifiedClaims()
      const expected = claims && expectedTokenIssuer ? expectedTokenIssuer(claims, issuer) : issuer
      if (expected === issuer) throw error
      const exchanged = await verify(await servers.withIssuer(server, expected))
      await servers.shareKeysOf(exchanged.server)
      return exchanged
    }
  }
  try {
    return await verifyAsTenant(current)
  } catch (error) {
    const isTaken = cache.status === 200
    if (!(isTaken ? needsMetadata(error) : mayHaveMoved(error))) throw error
    const renewed = await servers.renew(current)
    const hasMoved = renewed.metadata.token_endpoint !== current.metadata.token_endpoint
    if (!isTaken && !hasMoved) throw error
    const exchanged = await verifyAsTenant(renewed)
    await servers.shareKeysOf(exchanged.server)
    return exchanged
  }
}

/** Whether the verification of an id_token failed in a way that a new document or new keys may solve. */
function needsMetadata(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, message, cause }) =>
      code === 'OAUTH_KEY_SELECTION_FAILED' ||
      message === 'JWT signature verification failed' ||
      message === 'unexpected JWT "alg" header parameter' ||
      // The keys could not be fetched.
      cause instanceof Response ||
      isUnreachable(code),
  )
}

/** Whether an endpoint did not accept a request, such as one that has moved. */
export function mayHaveMoved(error: unknown): boolean {
  return chainOf(error).some(
    ({ code, message, cause }) =>
      (cause instanceof Response && movedStatuses.has(cause.status)) ||
      isUnreachable(code) ||
      /^(?:request failed|fetch failed)/.test(message),
  )
}

const movedStatuses = new Set([301, 302, 303, 307, 308, 404, 405, 410])

function isUnreachable(code: unknown): boolean {
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'OAUTH_TIMEOUT'
}

function chainOf(error: unknown): { code?: unknown; message: string; cause?: unknown }[] {
  const chain = []
  for (let current = error; current instanceof Error; current = current.cause) chain.push(current)
  return chain
}

/** Caches the token response of one code exchange, because a code can be sent only once. */
export class TokenResponseCache {
  static readonly #current = new AsyncLocalStorage<TokenResponseCache>()
  #response: { url: string; text: string; status: number; headers: Headers } | undefined

  /** Runs `work`. Its first token request is sent; every further one gets the cached response. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return TokenResponseCache.#current.run(this, work)
  }

  /** The status of the response; `undefined` without one. */
  get status(): number | undefined {
    return this.#response?.status
  }

  /** The claims of the received id_token, not verified; `undefined` when there is no readable one. */
  unverifiedClaims(): ProfileDocument | undefined {
    try {
      const { id_token: token } = JSON.parse(this.#response?.text ?? '') as { id_token?: string }
      return token === undefined ? undefined : unverifiedClaims(token)
    } catch {
      // openid-client has already refused this response.
      return undefined
    }
  }

  /** Wraps fetch: responses of `tokenUrl` are normalized and cached while `run` is active. */
  static wrapFetch(fetch: ProviderFetch, tokenUrl: string, options: { idToken: boolean }): ProviderFetch {
    const address = new URL(tokenUrl).href
    return async (url, init) => {
      if (url !== address) return fetch(url, init)
      const cache = TokenResponseCache.#current.getStore()
      const cached = cache && cache.#response
      // Another address is that of a token endpoint that has moved: the one before did not take the code.
      if (cached && (cached.url === url || cached.status === 200)) return new Response(cached.text, cached)
      const response = await normalizeTokenResponse(await fetch(url, init), options)
      const { status, headers } = response
      const text = await response.text()
      if (cache) cache.#response = { url, text, status, headers }
      return new Response(text, { status, headers })
    }
  }
}

/**
 * Rewrites a token response to the form of RFC 6749, section 5, before openid-client reads it. Providers deviate in many ways:
 * errors with status 200, as objects or as a `message`; forms instead of JSON; a missing or unknown token_type; scopes as an
 * array; empty refresh tokens; an id_token that was not requested. Unreadable bodies and responses with status 429 or 5xx stay
 * unchanged.
 */
async function normalizeTokenResponse(
  response: Response,
  { idToken }: { /** Whether an id_token was requested. */ idToken: boolean },
): Promise<Response> {
  const text = await response.text()
  const fields = response.status >= 500 || response.status === 429 ? undefined : parseFields(text)
  if (!fields) return new Response(text, { status: response.status, headers: response.headers })
  const { access_token: accessToken, error } = fields
  if (typeof accessToken !== 'string' || accessToken === '' || (error !== undefined && error !== null)) {
    const code = typeof error === 'string' ? error : isObject(error) ? 'provider_error' : 'invalid_response'
    const status = response.status >= 400 ? response.status : 400
    return Response.json({ error: code.slice(0, 100), ...wordsIn(fields) }, { status })
  }
  const { id_token: id, refresh_token: refreshToken, expires_in: expiresIn, scope } = fields
  const scopes: unknown = Array.isArray(scope) ? scope.join(' ') : scope
  const seconds = typeof expiresIn === 'string' && /^\d+$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  return Response.json(
    {
      access_token: accessToken,
      token_type: 'bearer',
      ...(idToken && id !== undefined && { id_token: id }),
      ...(typeof refreshToken === 'string' && refreshToken !== '' && { refresh_token: refreshToken }),
      ...(typeof seconds === 'number' && seconds > 0 && { expires_in: seconds }),
      ...(typeof scopes === 'string' && { scope: scopes }),
    },
    { status: response.status },
  )
}

function parseFields(text: string): Record<string, unknown> | undefined {
  if (text.trimStart().startsWith('{')) {
    try {
      const parsed: unknown = JSON.parse(text)
      return isObject(parsed) ? parsed : undefined
    } catch {
      // openid-client reports the invalid JSON.
      return undefined
    }
  }
  return /^[\w.-]+=/.test(text) ? Object.fromEntries(readFields(text, Infinity)) : undefined
}

const maxCharacters = 500

/** The description of an error: in the fields of RFC 6749, as Facebook's object, or as a `message`. */
function wordsIn({
  error,
  error_description: description,
  error_uri: uri,
  message,
}: Record<string, unknown>) {
  const text = description ?? (isObject(error) ? error['message'] : message)
  return {
    ...(typeof text === 'string' && { error_description: text.slice(0, maxCharacters) }),
    ...(typeof uri === 'string' && { error_uri: uri.slice(0, maxCharacters) }),
  }
}

/** The response of a provider's token endpoint. It stays on the server. */
export interface IssuedTokens {
  accessToken: string
  /** Some providers send one only at the first consent, or only when a refresh replaces it. */
  refreshToken: string | undefined
  /** Whole seconds from now, ten years at most; undefined when the provider does not say. */
  expiresIn: number | undefined
  /** Space-separated, at most 2000 characters; undefined when it equals the requested scope. */
  scope: string | undefined
}

const maxSeconds = 10 * 365 * 86_400
const maxScopeCharacters = 2_000

/**
 * Reads a token response and bounds its values. The provider may have replaced the refresh token already, so a value
 * that the database rejects would lose it.
 */
export function issuedTokens(
  response: TokenEndpointResponse & Partial<TokenEndpointResponseHelpers>,
): IssuedTokens {
  const seconds = response.expiresIn?.() ?? response.expires_in
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token || undefined,
    expiresIn: seconds === undefined ? undefined : Math.floor(Math.min(Math.max(seconds, 0), maxSeconds)),
    scope: response.scope === undefined ? undefined : scopeOf(response.scope),
  }
}

function scopeOf(scope: string): string | undefined {
  return storableText(scope, maxScopeCharacters) || undefined
}
