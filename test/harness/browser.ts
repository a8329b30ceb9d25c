/** A browser as far as sign-ins need one: cookies per host and port, no script, redirects one at a time. */
export class Browser {
  readonly #jar = new Map<string, Map<string, string>>()

  /** One request; a redirect is an answer like any other. Relative addresses belong to `base`. */
  async go(address: string | URL, init: RequestInit & { base?: string } = {}): Promise<Response> {
    const url = new URL(address, init.base)
    const headers = new Headers(init.headers)
    const cookies = [...this.cookies(url)].map(([name, value]) => `${name}=${value}`).join('; ')
    if (cookies !== '') headers.set('cookie', cookies)
    const response = await this.send(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#keep(url, line)
    return response
  }

  /** How the host of an address is reached. */
  protected send(url: URL, init: RequestInit): Promise<Response> {
    return fetch(url, init)
  }

  /** Follows redirects from `address` for as long as `while` holds for the next one; gives the last answer and where it was. */
  async follow(
    address: string | URL,
    goesOn: (next: URL) => boolean = () => true,
  ): Promise<{ response: Response; url: URL; next: URL | undefined }> {
    let url = new URL(address)
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await this.go(url)
      const location = response.headers.get('location')
      const next = location === null ? undefined : new URL(location, url)
      if (response.status < 300 || response.status > 399 || !next || !goesOn(next))
        return { response, url, next }
      await response.arrayBuffer()
      url = next
    }
    throw new Error(`too many redirects, the last to ${url.href}`)
  }

  cookies(address: string | URL): Map<string, string> {
    const { host } = new URL(address)
    let kept = this.#jar.get(host)
    if (!kept) this.#jar.set(host, (kept = new Map()))
    return kept
  }

  #keep(url: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(';')
    const equals = pair.indexOf('=')
    const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)]
    const over = attributes.some((attribute) => /^\s*(max-age=0|expires=.*1970)/i.test(attribute))
    if (over || value === '') this.cookies(url).delete(name)
    else this.cookies(url).set(name, value)
  }
}
