import { parseCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import { HostCookie } from '../../http/responses/host-cookie.ts'

/** Seconds: longer than any step waits, so that a step that was too slow still belongs to its browser. */
const maxAge = 3600
/** Cookies of one browser that count; those beyond are removed, the oldest first. */
const most = 40
/** Over https with `__Host-` before it. */
const form = /^(?:__Host-)?(postern_browser-[\w-]{8})$/

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
    const counted = cookies.slice(-most)
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
    for (const { cookie } of cookies.slice(0, -most)) cookie.clear(reply)
    const value = cookies.at(-1)?.value ?? newToken()
    const hash = hashToken(value)
    const name = `postern_browser-${hash.toString('base64url').slice(0, 8)}`
    new HostCookie(name, this.#baseUrl).set(reply, value, maxAge)
    return hash
  }

  /** In the order of the header: browsers send the oldest first. */
  #cookiesOf(request: FastifyRequest): Found[] {
    const { cookie: header } = request.headers
    if (header?.includes('postern_browser-') !== true) return []
    return Object.keys(parseCookie(header)).flatMap((given) => {
      const name = form.exec(given)?.[1]
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
