import { AsyncLocalStorage } from 'node:async_hooks'
import { unverifiedClaims } from '../../crypto/signed-jwt.ts'
import { isObject, type ProfileDocument } from './profile.ts'
import type { ProviderFetch } from './provider-server.ts'
import { readFields } from '../../http/requests/parameters.ts'
import type { TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import { storableText } from '../../storage/sql-text.ts'

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
