import { AsyncLocalStorage } from 'node:async_hooks'
import { normalizeTokenResponse } from './normalize-token-response.ts'
import { isObject, type ProfileDocument } from './profile.ts'
import type { ProviderFetch } from './provider-fetch.ts'

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
      const claims: unknown = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString())
      return isObject(claims) ? claims : undefined
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
