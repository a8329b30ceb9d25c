import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../../accounts/host-cookie.ts'
import { newToken } from '../../crypto/tokens.ts'
import { parkedLifetime } from './authorization-requests.ts'

/**
 * The cookie that binds parked authorization requests to a browser. All tabs share its value. It lasts as long as a request that
 * is parked now, so a browser without waiting requests soon has none.
 */
export class BrowserCookie {
  readonly #cookie: HostCookie

  constructor(baseUrl: () => string) {
    this.#cookie = new HostCookie('authorize', baseUrl)
  }

  read(request: FastifyRequest): string | undefined {
    return this.#cookie.read(request)
  }

  /** The browser's value, or a new one. The response sends it, which extends its lifetime. */
  ensure(request: FastifyRequest, reply: FastifyReply): string {
    const value = this.#cookie.read(request) ?? newToken()
    this.#cookie.set(reply, value, parkedLifetime / 1000)
    return value
  }
}
