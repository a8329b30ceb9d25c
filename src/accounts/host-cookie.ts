import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * A cookie that scripts cannot read and foreign sites' writes do not carry. Over https its name begins with `__Host-`:
 * browsers then take it only from this very host, over TLS, for all paths
 * (https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis, section 4.1.3.2).
 */
export class HostCookie {
  readonly #name: string
  readonly #baseUrl: () => string

  constructor(name: string, baseUrl: () => string) {
    this.#name = name
    this.#baseUrl = baseUrl
  }

  get name(): string {
    return this.#secure ? `__Host-${this.#name}` : this.#name
  }

  /** The value, when the request has one of the form of a token made here. */
  read(request: FastifyRequest): string | undefined {
    const value = request.cookies[this.name]
    return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined
  }

  /** @param maxAge seconds. */
  set(reply: FastifyReply, value: string, maxAge: number): void {
    void reply.setCookie(this.name, value, { ...this.#options, maxAge })
  }

  clear(reply: FastifyReply): void {
    void reply.clearCookie(this.name, this.#options)
  }

  get #secure(): boolean {
    return this.#baseUrl().startsWith('https:')
  }

  get #options(): CookieSerializeOptions {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.#secure }
  }
}
