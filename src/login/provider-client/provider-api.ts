import type { Configuration } from 'openid-client'
import { ProfileRefused, ProviderUnavailable } from './provider-errors.ts'

/** Statuses by which an API says that this token may not read a document. */
const untold = new Set([401, 403, 404])

/** The API of a provider, with the access token of one sign-in. */
export class ProviderApi {
  readonly #configuration: Configuration
  readonly #token: string

  constructor(configuration: Configuration, token: string) {
    this.#configuration = configuration
    this.#token = token
  }

  async fetch(url: URL, method = 'GET'): Promise<Response> {
    const { fetchProtectedResource } = await import('openid-client')
    const headers = new Headers({ accept: 'application/json' })
    return fetchProtectedResource(this.#configuration, this.#token, url, method, null, headers)
  }

  /** A document that the sign-in needs. @throws ProfileRefused unless the status is 200; errors of fetch and JSON. */
  async readNeeded(url: string): Promise<unknown> {
    const response = await this.fetch(new URL(url))
    if (response.status !== 200) throw new ProfileRefused(response.status)
    return response.json()
  }

  /**
   * An optional document; `undefined` when the token may not read it (401, 403, 404): many users do not grant access to it.
   * Any other failure may pass, and what the document says would be missing until the next sign-in, or for ever.
   * @throws ProviderUnavailable
   */
  async readMore(url: string): Promise<unknown> {
    try {
      const response = await this.fetch(new URL(url))
      if (response.status === 200) return await response.json()
      throw new ProfileRefused(response.status, { isRateLimit: isRateLimit(response.headers) })
    } catch (error) {
      // openid-client throws an error of its own for a 401 with a challenge.
      const { status, isRateLimit: limited } = error as { status?: number; isRateLimit?: boolean }
      if (status !== undefined && untold.has(status) && limited !== true) return undefined
      throw new ProviderUnavailable(error)
    }
  }
}

/** GitHub's rate limits answer 403, too. */
function isRateLimit(headers: Headers): boolean {
  return headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
}
