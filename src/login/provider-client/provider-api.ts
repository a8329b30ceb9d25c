import type { Configuration } from 'openid-client'
import { ProfileRefused } from './provider-errors.ts'

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

  /** An optional document: many users do not grant access to it, and the sign-in continues without it. */
  async readMore(url: string): Promise<unknown> {
    try {
      return await this.readNeeded(url)
    } catch {
      return undefined
    }
  }
}
