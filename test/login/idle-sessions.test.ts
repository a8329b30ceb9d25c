// What keeps a session from ending after its idle time, and what does not.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Browser, type Engine, freePort, onEachEngine } from '#test/harness/index.ts'
import { type OAuthProvider, startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { hurried, listen } from '../events/live-listener.ts'
import { eventually } from '../receiving/harness.ts'
import { signIn, whoAmI } from './harness.ts'

const minute = 60_000
const background = { 'postern-background': 'true' }

/** A service in production, where the live stream asks for a credential. */
class IdleSite {
  service!: TestService
  #provider!: OAuthProvider
  #shift = 0

  constructor(engine: Engine, idle: string) {
    before(async () => {
      this.#provider = await startOAuthProvider()
      const port = String(await freePort())
      this.service = await startTestService(engine, {
        env: {
          ...this.#provider.env('ACME'),
          NODE_ENV: 'production',
          PORT: port,
          BASE_URL: `http://127.0.0.1:${port}`,
          ALLOW_PRIVATE_NETWORK: 'true',
          ADMIN_IDENTITIES: 'acme:root',
          SESSION_IDLE: idle,
        },
        parts: { clock: { ...hurried, now: () => this.now() } },
      })
    })
    beforeEach(() => {
      this.#shift = 0
    })
    after(async () => {
      await this.service.close()
      await this.#provider.close()
    })
  }

  async signedIn(): Promise<Browser> {
    const browser = new Browser()
    this.#provider.profile = { id: 'root', displayName: 'root' }
    assert.equal(await signIn(this.service, browser), '/dashboard')
    return browser
  }

  pass(ms: number): void {
    this.#shift += ms
  }

  now(): number {
    return Date.now() + this.#shift
  }

  /** When any session was last used, as the database has it. */
  async lastUse(): Promise<number> {
    const sessions = this.service.database.reader.selectFrom('sessions')
    const row = await sessions.select((eb) => eb.fn.max<number>('last_seen_at').as('at')).executeTakeFirst()
    return Number(row?.at)
  }

  call(browser: Browser, path: string, init: RequestInit): Promise<Response> {
    return browser.go(new URL(path, this.service.baseUrl), init)
  }
}

onEachEngine('a session without use', (engine) => {
  const site = new IdleSite(engine, '3600')

  test('ends although a live stream is open, and the stream with it', async () => {
    const browser = await site.signedIn()
    const cookie = [...browser.cookies(site.service.baseUrl)].map((pair) => pair.join('=')).join('; ')
    const live = await listen(site.service, { cookie })
    site.pass(50 * minute)
    const seen = live.heartbeats()
    await eventually(() => live.heartbeats() > seen + 1, 'the stream goes on')
    site.pass(11 * minute)
    await eventually(live.isEnded, 'the stream ends')
    assert.equal(await whoAmI(site.service, browser), undefined)
  })

  test('is not prolonged by a new connection to the live stream', async () => {
    const browser = await site.signedIn()
    const cookie = [...browser.cookies(site.service.baseUrl)].map((pair) => pair.join('=')).join('; ')
    site.pass(50 * minute)
    await (await listen(site.service, { cookie })).close()
    site.pass(11 * minute)
    assert.equal(await whoAmI(site.service, browser), undefined)
  })

  test('ends although a page reads in the background', async () => {
    const browser = await site.signedIn()
    for (let count = 0; count < 5; count += 1) {
      site.pass(11 * minute)
      assert.equal((await site.call(browser, '/auth/session', { headers: background })).status, 200)
    }
    site.pass(11 * minute)
    assert.equal((await site.call(browser, '/auth/session', { headers: background })).status, 401)
    assert.equal(await whoAmI(site.service, browser), undefined)
  })

  test('goes on with each change, whatever the page says', async () => {
    const browser = await site.signedIn()
    site.pass(50 * minute)
    const change = { method: 'DELETE', headers: { ...background, origin: site.service.baseUrl } }
    assert.equal((await site.call(browser, '/auth/sessions', change)).status, 204)
    site.pass(50 * minute)
    assert.ok(await whoAmI(site.service, browser))
  })
})

onEachEngine('a session with the shortest idle time', (engine) => {
  const site = new IdleSite(engine, '60')

  test('is stored as used, also if its user was seen in another session just before', async () => {
    const browsers = [await site.signedIn(), await site.signedIn()]
    site.pass(40_000)
    for (const browser of browsers) {
      const usedAt = site.now()
      assert.ok(await whoAmI(site.service, browser))
      await eventually(async () => (await site.lastUse()) >= usedAt, 'the use is stored')
    }
  })

  test('goes on while it is used', async () => {
    const browser = await site.signedIn()
    for (let count = 0; count < 5; count += 1) {
      site.pass(40_000)
      const usedAt = site.now()
      assert.ok(await whoAmI(site.service, browser), `use ${count}`)
      await eventually(async () => (await site.lastUse()) >= usedAt, 'the use is stored')
    }
    site.pass(61_000)
    assert.equal(await whoAmI(site.service, browser), undefined)
  })
})
