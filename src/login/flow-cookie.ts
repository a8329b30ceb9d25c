import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../accounts/host-cookie.ts'
import { newToken } from '../crypto/tokens.ts'

/** Seconds that the cookie lasts after the last visit to /login or the last start of a sign-in. */
const maxAge = 30 * 86_400

/**
 * The cookie that binds sign-ins to a browser. All tabs share it, so its value never changes while it exists. GET /login sets
 * it: otherwise two tabs that start at the same time would get two values, and the browser would store only one of them.
 */
export class FlowCookie {
  readonly #cookie: HostCookie

  constructor(baseUrl: () => string) {
    this.#cookie = new HostCookie('flow', baseUrl)
  }

  read(request: FastifyRequest): string | undefined {
    return this.#cookie.read(request)
  }

  /** The browser's value, or a new one. It is sent with the response, which extends its lifetime. */
  ensure(request: FastifyRequest, reply: FastifyReply): string {
    const value = this.#cookie.read(request) ?? newToken()
    this.#cookie.set(reply, value, maxAge)
    return value
  }
}
