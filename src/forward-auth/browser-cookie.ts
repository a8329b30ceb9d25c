import { parseCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HostCookie } from '../accounts/sessions/host-cookie.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'

/** Seconds that a sign-in may take, with that at the provider. */
const maxAge = 15 * 60
/** Flow cookies of one browser that are looked at. */
const most = 20

/**
 * Binds a sign-in at another host to the browser that began it. A browser that already has such a cookie keeps using it. Tabs that begin
 * at the same time, without a cookie, get one each, since the names differ.
 */
export class BrowserCookie {
  readonly #baseUrl: () => string

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl
  }

  /** The values that the browser has. */
  readAll(request: FastifyRequest): string[] {
    return this.#cookiesOf(request).flatMap((cookie) => cookie.read(request) ?? [])
  }

  /** Gives the browser a value, or prolongs the one that it has. Returns its SHA-256 in base64url. */
  ensure(request: FastifyRequest, reply: FastifyReply): string {
    const known = this.#cookiesOf(request).find((cookie) => cookie.read(request) !== undefined)
    const value = known?.read(request) ?? newToken()
    const hash = hashToken(value).toString('base64url')
    const cookie = known ?? new HostCookie(`postern_flow-${hash.slice(0, 8)}`, this.#baseUrl)
    cookie.set(reply, value, maxAge)
    return hash
  }

  #cookiesOf({ headers }: FastifyRequest): HostCookie[] {
    const names = Object.keys(headers.cookie === undefined ? {} : parseCookie(headers.cookie))
    return names
      .flatMap((name) => /^(?:__Host-)?(postern_flow-[\w-]{8})$/.exec(name)?.[1] ?? [])
      .slice(0, most)
      .map((name) => new HostCookie(name, this.#baseUrl))
  }
}
