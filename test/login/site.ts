import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import type { Engine } from '#test/harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { appCode, exchange, codeGrant, newPkce, signIn } from './harness.ts'

export interface SiteOptions {
  /** The names of the providers in the environment. All are the same server. Default `ACME` and `OTHER`. */
  providers?: readonly string[]
  env?: Record<string, string>
  config?: PosternConfig
}

export interface AppTokens {
  access: string
  refresh: string
}

/**
 * A service with providers of plain OAuth 2.0, and browsers that sign in to it. It starts before the tests of the suite that
 * calls this, and closes after them.
 */
export class Site {
  provider!: OAuthProvider
  service!: TestService
  /** Milliseconds that the clock of the service is ahead. Each test starts with 0. */
  shift = 0

  constructor(engine: Engine, { providers = ['ACME', 'OTHER'], env, config }: SiteOptions = {}) {
    before(async () => {
      this.provider = await startOAuthProvider()
      const variables = providers.map((name) => this.provider.env(name))
      this.service = await startTestService(engine, {
        env: Object.assign({}, ...variables, env) as Record<string, string>,
        ...(config && { config }),
        parts: { clock: { ...systemClock, now: () => Date.now() + this.shift } },
      })
    })
    beforeEach(() => {
      this.shift = 0
    })
    after(async () => {
      await this.service.close()
      await this.provider.close()
    })
  }

  /** The person that the provider signs in from now on. */
  become(id: string): void {
    this.provider.profile = { id, displayName: id }
  }

  /** A browser that this person is signed in with. */
  async signedIn(id: string, path = '/auth/acme'): Promise<Browser> {
    const browser = new Browser()
    this.become(id)
    assert.equal(await signIn(this.service, browser, path), '/dashboard')
    return browser
  }

  call(browser: Browser, method: string, path: string, headers = {}): Promise<Response> {
    return browser.go(new URL(path, this.service.baseUrl), { method, headers })
  }

  /** The `data` of a list. */
  async data<T>(browser: Browser, path: string): Promise<T[]> {
    return ((await (await this.call(browser, 'GET', path)).json()) as { data: T[] }).data
  }

  /** Takes a browser from the answer that redirects it to the provider to the callback; gives the callback's answer. */
  async finish(browser: Browser, start: Response): Promise<Response> {
    assert.equal(start.status, 303)
    const back = await browser.go(start.headers.get('location')!)
    return browser.go(back.headers.get('location')!)
  }

  /** Links the identity `id` at a provider; gives the callback's answer. */
  async link(browser: Browser, id: string, name = 'other'): Promise<Response> {
    const start = await this.call(browser, 'POST', `/auth/${name}/link`, this.sameOrigin)
    this.become(id)
    return this.finish(browser, start)
  }

  /** Signs a person in to the app `spa`, which the configuration has to contain; gives its tokens. */
  async appTokens(id: string): Promise<AppTokens> {
    this.become(id)
    const pkce = newPkce()
    const { status, body } = await exchange(this.service, codeGrant(await appCode(this.service, pkce), pkce))
    assert.equal(status, 200)
    return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
  }

  /** The headers of a call that a page of the service makes. */
  get sameOrigin(): Record<string, string> {
    return { origin: this.service.baseUrl, 'sec-fetch-site': 'same-origin' }
  }
}
