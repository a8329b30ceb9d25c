import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../../accounts/sessions/host-cookie.ts'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import { lifetime } from './flows.ts'

/** Seconds that the cookie lasts after the last visit to /login or the last start of a sign-in. */
const maxAge = 30 * 86_400

/**
 * The cookie that binds sign-ins to a browser. All tabs share it, so its value never changes while it exists, and GET /login sets
 * it. If several tabs of a browser without it start at the same time, each gets another value, and the browser stores the last. So
 * each of these flows gets a cookie of its own too, named after its state.
 */
export class FlowCookie {
  readonly #cookie: HostCookie
  readonly #baseUrl: () => string

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl
    this.#cookie = new HostCookie('flow', baseUrl)
  }

  /** The value for the callback of a flow. */
  read(request: FastifyRequest, state: string): string | undefined {
    return this.#ofFlow(state).read(request) ?? this.#cookie.read(request)
  }

  /** The browser's value, or a new one. It is sent with the response, which extends its lifetime. */
  ensure(request: FastifyRequest, reply: FastifyReply): string {
    const value = this.#cookie.read(request) ?? newToken()
    this.#cookie.set(reply, value, maxAge)
    return value
  }

  /** Sets the flow's own cookie, if the browser may be starting other flows with other values. */
  bind(request: FastifyRequest, reply: FastifyReply, state: string, value: string): void {
    if (this.#cookie.read(request) === undefined) this.#ofFlow(state).set(reply, value, lifetime / 1000)
  }

  /** Removes the flow's own cookie. */
  unbind(request: FastifyRequest, reply: FastifyReply, state: string): void {
    const cookie = this.#ofFlow(state)
    if (cookie.read(request) !== undefined) cookie.clear(reply)
  }

  #ofFlow(state: string): HostCookie {
    return new HostCookie(`flow-${hashToken(state).toString('base64url').slice(0, 16)}`, this.#baseUrl)
  }
}
