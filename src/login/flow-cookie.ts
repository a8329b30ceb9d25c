import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../accounts/host-cookie.ts'
import { newToken } from '../crypto/tokens.ts'

/** Seconds that a browser keeps it after its last visit to /login or its last sign-in begun. */
const age = 30 * 86_400

/**
 * The cookie that a browser's sign-ins are bound to: one for all of its tabs, so it never changes while it is there. It
 * is given with /login already, since two tabs that begin at once without it would each be given another, and the
 * browser keeps one of them only.
 */
export class FlowCookie {
  readonly #cookie: HostCookie

  constructor(baseUrl: () => string) {
    this.#cookie = new HostCookie('flow', baseUrl)
  }

  read(request: FastifyRequest): string | undefined {
    return this.#cookie.read(request)
  }

  /** The browser's value, sent (again) with the answer, so that it lasts for what is begun now. */
  renew(request: FastifyRequest, reply: FastifyReply): string {
    const value = this.#cookie.read(request) ?? newToken()
    this.#cookie.set(reply, value, age)
    return value
  }
}
