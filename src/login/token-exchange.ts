import { AsyncLocalStorage } from 'node:async_hooks'
import { normalizeTokenResponse } from './normalize-token-response.ts'
import { isObject, type ProfileDocument } from './profile.ts'

/** The standard fetch. It is bounded in time and size, and guarded, by whoever passes it in. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>

/** One exchange of a code: what the token endpoint answered, kept because a code can be sent only once. */
export class TokenExchange {
  static readonly #current = new AsyncLocalStorage<TokenExchange>()
  #answer: { text: string; status: number; headers: Headers } | undefined

  /** Runs `work`; the first token request in it goes out, and every further one gets the same answer. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return TokenExchange.#current.run(this, work)
  }

  /** The claims of the id_token that came, which nobody has verified yet; `undefined` when there is none to read. */
  claims(): ProfileDocument | undefined {
    try {
      const { id_token: token } = JSON.parse(this.#answer?.text ?? '') as { id_token?: string }
      const claims: unknown = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString())
      return isObject(claims) ? claims : undefined
    } catch {
      // Whatever came instead was refused already.
      return undefined
    }
  }

  /** Wraps fetch: answers of `tokenUrl` are put into the form of the RFC and kept for the exchange under way. */
  static fetching(fetch: ProviderFetch, tokenUrl: string, options: { idToken: boolean }): ProviderFetch {
    const address = new URL(tokenUrl).href
    return async (url, init) => {
      if (url !== address) return fetch(url, init)
      const exchange = TokenExchange.#current.getStore()
      const kept = exchange && exchange.#answer
      if (kept) return new Response(kept.text, kept)
      const response = await normalizeTokenResponse(await fetch(url, init), options)
      const { status, headers } = response
      const text = await response.text()
      if (exchange) exchange.#answer = { text, status, headers }
      return new Response(text, { status, headers })
    }
  }
}
