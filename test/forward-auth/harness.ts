import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import type { Engine } from '#test/harness/engines.ts'
import { freePort } from '#test/harness/free-port.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { rowsOf } from '#test/harness/rows.ts'
import type { ForwardAuthConfig } from '../../src/forward-auth/config.ts'
import type { ClientConfig } from '../../src/oauth2/clients/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { signIn } from '../login/harness.ts'

/** The request that reached the application, as the proxy passed it on. */
export interface Passed {
  method: string
  uri: string
  headers: Record<string, string>
}

export const asPage = { accept: 'text/html,application/xhtml+xml', 'sec-fetch-dest': 'document' }

/** What a proxy sends about a request. */
export function forwarded(host: string, uri: string, method = 'GET'): Record<string, string> {
  return {
    'x-forwarded-host': host,
    'x-forwarded-uri': uri,
    'x-forwarded-method': method,
    'x-forwarded-for': '203.0.113.7',
  }
}

/** A browser whose hosts are behind a proxy, except the service's own. An application answers with what reached it. */
export class ProxiedBrowser extends Browser {
  readonly #service: TestService

  constructor(service: TestService) {
    super()
    this.#service = service
  }

  /** Opens a page and follows all redirects. */
  async open(address: string): Promise<{ response: Response; url: URL }> {
    let url = new URL(address)
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await this.go(url, { headers: asPage })
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null) return { response, url }
      url = new URL(location, url)
    }
    throw new Error(`too many redirects, the last to ${url.href}`)
  }

  protected override async send(url: URL, init: RequestInit): Promise<Response> {
    const { host, origin, pathname, search } = url
    if (origin === this.#service.baseUrl || pathname.startsWith('/authorize')) return fetch(url, init)
    const headers = new Headers(init.headers)
    const uri = pathname + search
    if (pathname.startsWith('/.postern/')) {
      headers.set('x-forwarded-host', host)
      return this.#service.fetch(uri, { ...init, headers })
    }
    for (const [name, value] of Object.entries(forwarded(host, uri, init.method))) headers.set(name, value)
    const answer = await this.#service.fetch('/auth/forward', { redirect: 'manual', headers })
    if (answer.status !== 204) return answer
    const passed = { method: init.method ?? 'GET', uri, headers: Object.fromEntries(answer.headers) }
    return Response.json(passed satisfies Passed)
  }
}

/** A service that guards hosts, with one provider. It runs during the tests of the suite that calls this. */
export class GuardedSite {
  provider!: OAuthProvider
  service!: TestService
  ownHost!: string
  /** Milliseconds that the clock of the service is ahead. Each test starts with 0. */
  shift = 0
  /** While it is set, the clock stands still there. */
  stoppedAt: number | undefined

  constructor(
    engine: Engine,
    config: (ownHost: string) => ForwardAuthConfig,
    env: Record<string, string> = {},
    clients: readonly ClientConfig[] = [],
  ) {
    before(async () => {
      this.provider = await startOAuthProvider()
      const port = await freePort()
      this.ownHost = `127.0.0.1:${port}`
      this.service = await startTestService(engine, {
        env: {
          ...this.provider.env('ACME'),
          ...this.provider.env('OTHER'),
          PORT: String(port),
          TRUSTED_PROXIES: '127.0.0.1',
          ...env,
        },
        config: { forwardAuth: config(this.ownHost), login: { clients } },
        parts: { clock: { ...systemClock, now: () => (this.stoppedAt ?? Date.now()) + this.shift } },
      })
    })
    beforeEach(() => {
      this.shift = 0
      this.stoppedAt = undefined
    })
    after(async () => {
      await this.service.close()
      await this.provider.close()
    })
  }

  /** A browser in which this person is signed in at the service's own host. */
  async signedIn(id: string, profile: object = { displayName: id }): Promise<ProxiedBrowser> {
    const browser = new ProxiedBrowser(this.service)
    this.provider.profile = { id, ...profile }
    assert.equal(await signIn(this.service, browser), '/dashboard')
    return browser
  }

  /** Asks as a proxy does. */
  ask(
    browser: Browser | undefined,
    host: string,
    uri: string,
    { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const cookies = [...(browser?.cookies(`http://${host}`) ?? [])].map(([name, value]) => `${name}=${value}`)
    return this.service.fetch('/auth/forward', {
      headers: {
        ...forwarded(host, uri, method),
        ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
        ...headers,
      },
    })
  }

  /** The entries of the audit log about forward authentication, oldest first. */
  async audited(
    action: string,
  ): Promise<{ code: string | null; target: string | null; user_id: string | null }[]> {
    return rowsOf(this.service, 'audit_log', { action }, 'id')
  }
}

export async function passedOf(response: Response): Promise<Passed> {
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Passed
}
