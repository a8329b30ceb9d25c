import { stringifySetCookie } from 'cookie'
import type { FastifyReply } from 'fastify'

/**
 * A cookie that scripts cannot read (HttpOnly) and that browsers do not send with writes of other sites (SameSite=Lax). Over
 * https its name begins with `__Host-`: browsers then accept it only from this host, over TLS and for all paths
 * (https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis, section 4.1.3.2).
 */
export class HostCookie {
  readonly #name: string
  readonly #baseUrl: () => string
  readonly #form: RegExp

  /** @param form of its values; others are not read. Default: that of our tokens */
  constructor(name: string, baseUrl: () => string, form = /^[A-Za-z0-9_-]{43}$/) {
    this.#name = name
    this.#baseUrl = baseUrl
    this.#form = form
  }

  get name(): string {
    return this.#secure ? `__Host-${this.#name}` : this.#name
  }

  /** The value, if it has the expected form. */
  read(request: { readonly headers: { readonly cookie?: string | undefined } }): string | undefined {
    const { cookie } = request.headers
    const value = cookie === undefined ? undefined : cookieValue(cookie, this.name)
    return value !== undefined && this.#form.test(value) ? value : undefined
  }

  /** @param maxAge seconds. */
  set(reply: FastifyReply, value: string, maxAge: number): void {
    // Fastify appends `set-cookie` headers, so one response can set several cookies.
    void reply.header(
      'set-cookie',
      stringifySetCookie({
        name: this.name,
        value,
        maxAge,
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: this.#secure,
      }),
    )
  }

  clear(reply: FastifyReply): void {
    this.set(reply, '', 0)
  }

  get #secure(): boolean {
    return this.#baseUrl().startsWith('https:')
  }
}

/** The value of the first cookie of a name, without reading the others: proxies ask about each request of an application. */
function cookieValue(header: string, name: string): string | undefined {
  for (let at = 0; at < header.length;) {
    while (header[at] === ' ') at += 1
    const semicolon = header.indexOf(';', at)
    const end = semicolon < 0 ? header.length : semicolon
    if (header.startsWith(name, at) && header[at + name.length] === '=')
      return header.slice(at + name.length + 1, end).trim()
    at = end + 1
  }
  return undefined
}
