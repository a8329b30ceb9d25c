import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../../accounts/sessions/host-cookie.ts'
import { parkedLifetime } from './authorization-requests.ts'

/**
 * The cookie that binds parked authorization requests to a browser. All tabs share its value. It lasts as long as a request that
 * is parked now, so a browser without waiting requests soon has none.
 */
export class BrowserCookie {
  readonly #cookie: HostCookie

  constructor(baseUrl: () => string) {
    this.#cookie = new HostCookie('postern_authorize', baseUrl)
  }

  /** The browser's value; `undefined` for one without waiting requests. */
  read(request: FastifyRequest): string | undefined {
    return this.#cookie.read(request)
  }

  /** Keeps the value in the browser while a request is parked there. */
  keep(reply: FastifyReply, value: string): void {
    this.#cookie.set(reply, value, parkedLifetime / 1000)
  }
}
