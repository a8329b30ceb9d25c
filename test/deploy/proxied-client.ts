import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Guard } from './guards.ts'

export interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string
}

export interface Call {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** The target of the request line as it is sent, instead of the address's path. */
  target?: string
}

const asPage = { accept: 'text/html,*/*;q=0.8', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }

/** A browser that reaches all https hosts through one proxy, with cookies for each host. */
export class ProxiedClient {
  readonly #guard: Guard
  readonly #agent: Agent
  readonly #jar = new Map<string, Map<string, string>>()

  constructor(guard: Guard) {
    this.#guard = guard
    this.#agent = new Agent({ keepAlive: true, maxSockets: 6 })
  }

  close(): void {
    this.#agent.destroy()
  }

  cookies(host: string): Map<string, string> {
    let cookies = this.#jar.get(host)
    if (!cookies) this.#jar.set(host, (cookies = new Map()))
    return cookies
  }

  /** Sends one request; resolves with the answer's head. */
  async send(
    address: string | URL,
    { method = 'GET', headers = {}, body, target }: Call = {},
  ): Promise<IncomingMessage> {
    const { hostname: host, pathname, search } = new URL(address)
    const cookie = [...this.cookies(host)].map((pair) => pair.join('=')).join('; ')
    const call = request({
      host: '127.0.0.1',
      port: this.#guard.port,
      ca: this.#guard.ca,
      servername: host,
      agent: this.#agent,
      method,
      path: target ?? pathname + search,
      headers: { host, ...(cookie !== '' && { cookie }), ...headers },
    })
    call.end(body)
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    for (const line of response.headers['set-cookie'] ?? []) this.#keep(host, line)
    return response
  }

  async ask(address: string | URL, call: Call = {}): Promise<Answer> {
    const response = await this.send(address, call)
    return { status: response.statusCode!, headers: response.headers, body: await text(response) }
  }

  /** Opens a page and follows all redirects, also to a provider without TLS. */
  async open(address: string): Promise<Answer & { url: URL }> {
    let url = new URL(address)
    for (let hop = 0; hop < 20; hop += 1) {
      const answer = url.protocol === 'https:' ? await this.ask(url, { headers: asPage }) : await leave(url)
      const { location } = answer.headers
      if (answer.status < 300 || answer.status > 399 || location === undefined) return { ...answer, url }
      url = new URL(location, url)
    }
    throw new Error(`too many redirects, the last to ${url.href}`)
  }

  #keep(host: string, line: string): void {
    const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
    if (value === '' || /max-age=0/i.test(line)) this.cookies(host).delete(name)
    else this.cookies(host).set(name, value)
  }
}

async function leave(url: URL): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual' })
  const location = response.headers.get('location')
  return {
    status: response.status,
    headers: location === null ? {} : { location },
    body: await response.text(),
  }
}
