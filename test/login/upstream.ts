// A provider that asserts what a test wants, for the tests of groups, admission and profiles.
import { after, before, beforeEach } from 'node:test'
import { Browser, type Engine, rowsOf, startTestService, type TestService } from '#test/harness/index.ts'
import { forgedClient, startOpenIdForger, type OpenIdForger } from '#test/harness/openid-forger.ts'
import type { PosternConfig } from '../../src/define-config.ts'
import { signIn, upToCallback, whoAmI, type Me } from './harness.ts'

export interface UpstreamOptions {
  /** The providers by the names of their variables, with further variables. All are the same server. */
  providers: Record<string, Record<string, string>>
  env?: Record<string, string>
  config?: PosternConfig
}

/** A service with OpenID providers. It starts before the tests of the suite that calls this, and closes after them. */
export class Upstream {
  forger!: OpenIdForger
  service!: TestService
  readonly #engine: Engine
  readonly #options: UpstreamOptions
  /** The service that created the database. */
  #first: TestService | undefined

  constructor(engine: Engine, options: UpstreamOptions) {
    this.#engine = engine
    this.#options = options
    before(async () => {
      this.forger = await startOpenIdForger()
      this.service = await startTestService(engine, { env: this.env(), ...configOf(options) })
      this.#first = this.service
    })
    beforeEach(() => this.become('nobody', {}))
    after(async () => {
      await this.service.stop(5_000)
      await this.#first!.close()
      await this.forger.close()
    })
  }

  /** The environment of the service. @param more replaces variables */
  env(more: Record<string, string> = {}): Record<string, string> {
    const variables = Object.entries(this.#options.providers).flatMap(([name, own]) =>
      Object.entries({
        CLIENT_ID: forgedClient.id,
        CLIENT_SECRET: forgedClient.secret,
        ISSUER: this.forger.issuer,
        ...own,
      }).map(([key, value]) => [`${name}_${key}`, value]),
    )
    return { ...(Object.fromEntries(variables) as Record<string, string>), ...this.#options.env, ...more }
  }

  /** Starts the service again on the same database. @param more replaces variables */
  async restart(more: Record<string, string>): Promise<void> {
    await this.service.stop(5_000)
    const { databaseUrl } = this.service
    const options = { env: this.env(more), databaseUrl, ...configOf(this.#options) }
    this.service = await startTestService(this.#engine, options)
  }

  /** Whom the provider signs in from now on: the claims of the id_token beside `sub`, and those of the userinfo. */
  become(sub: string, claims: Record<string, unknown>, userinfo: Record<string, unknown> = {}): void {
    this.forger.claims = (standard) => ({ ...standard, sub, ...claims })
    this.forger.userinfo = { sub, name: sub, ...userinfo }
  }

  /** Signs in; gives the browser. */
  async browser(path = '/auth/acme', browser = new Browser()): Promise<Browser> {
    await signIn(this.service, browser, path)
    return browser
  }

  /** Signs in; gives the user, or the code of the failure. */
  async signedIn(path = '/auth/acme', browser = new Browser()): Promise<Me | string> {
    const answer = await browser.go(await upToCallback(this.service, browser, path))
    const target = new URL(answer.headers.get('location')!, this.service.baseUrl)
    const failure = target.searchParams.get('error')
    return failure ?? (await whoAmI(this.service, browser))!
  }

  /** The role that a sign-in gives. */
  async role(path = '/auth/acme'): Promise<string> {
    const me = await this.signedIn(path)
    return typeof me === 'string' ? me : me.role
  }

  /** Links the identity that the provider signs in from now on. */
  async link(browser: Browser, name: string): Promise<void> {
    const headers = { origin: this.service.baseUrl, 'sec-fetch-site': 'same-origin' }
    const start = await browser.go(new URL(`/auth/${name}/link`, this.service.baseUrl), {
      method: 'POST',
      headers,
    })
    const back = await browser.go(start.headers.get('location')!)
    await browser.go(back.headers.get('location')!)
  }

  /** The details of the audit entries of a user, oldest first. */
  async audit(userId: string, action: string): Promise<unknown[]> {
    const rows = await rowsOf(this.service, 'audit_log', { user_id: userId, action }, 'id')
    return rows.map(({ detail }) => (detail === null ? null : (JSON.parse(detail) as unknown)))
  }
}

function configOf({ config }: UpstreamOptions): { config?: PosternConfig } {
  return config ? { config } : {}
}
