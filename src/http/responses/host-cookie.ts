import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken, newToken } from '../../crypto/secrets.ts'

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

/** The `maxAge` of a cookie that ends at a time (milliseconds), in seconds; at least 1, because 0 would remove the cookie. */
export function maxAgeUntil(end: number, now: number): number {
  return Math.max(1, Math.floor((end - now) / 1000))
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

/** Seconds: longer than any step waits, so that a step that was too slow still belongs to its browser. */
const bindingAge = 3600
/** Cookies of one browser that count; those beyond are removed, the oldest first. */
const mostBindings = 40
/** Over https with `__Host-` before it. */
const bindingForm = /^(?:__Host-)?(postern_browser-[\w-]{8})$/

/** A browser as far as the steps are concerned that it began: the start of a sign-in, a parked request, a sign-in at another host. */
export interface BoundBrowser {
  /** SHA-256 hashes of the values that the browser has. */
  readonly hashes: readonly Buffer[]
  /** The value of a hash. */
  valueOf: (hash: Uint8Array) => string | undefined
  /** Whether the step of this hash began in the browser. */
  isBoundTo: (hash: Uint8Array) => boolean
  /** The hash for a step that begins now. The response sets the cookie, or extends it. */
  bind: () => Buffer
}

/**
 * Binds steps to the browser in which they began, by cookies that scripts cannot read: a link to a later step is of no use in
 * another browser. A browser that has a cookie goes on using it. Tabs that begin at the same time in a browser without one get one
 * each: the names follow from the values, so none replaces another.
 */
export class BrowserBinding {
  readonly #baseUrl: () => string

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl
  }

  of(request: FastifyRequest, reply: FastifyReply): BoundBrowser {
    const cookies = this.#cookiesOf(request)
    const counted = cookies.slice(-mostBindings)
    const hashes = counted.map(({ value }) => hashToken(value))
    let bound: Buffer | undefined
    return {
      hashes,
      valueOf: (hash) => counted[hashes.findIndex((known) => known.equals(hash))]?.value,
      isBoundTo: (hash) => hashes.some((known) => known.equals(hash)) || bound?.equals(hash) === true,
      bind: () => (bound ??= this.#bind(reply, cookies)),
    }
  }

  #bind(reply: FastifyReply, cookies: readonly Found[]): Buffer {
    for (const { cookie } of cookies.slice(0, -mostBindings)) cookie.clear(reply)
    const value = cookies.at(-1)?.value ?? newToken()
    const hash = hashToken(value)
    const name = `postern_browser-${hash.toString('base64url').slice(0, 8)}`
    new HostCookie(name, this.#baseUrl).set(reply, value, bindingAge)
    return hash
  }

  /** In the order of the header: browsers send the oldest first. */
  #cookiesOf(request: FastifyRequest): Found[] {
    const { cookie: header } = request.headers
    if (header?.includes('postern_browser-') !== true) return []
    return Object.keys(parseCookie(header)).flatMap((given) => {
      const name = bindingForm.exec(given)?.[1]
      const cookie = name === undefined ? undefined : new HostCookie(name, this.#baseUrl)
      const value = cookie?.read(request)
      return cookie && value !== undefined ? [{ cookie, value }] : []
    })
  }
}

interface Found {
  cookie: HostCookie
  value: string
}
