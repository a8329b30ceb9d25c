import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { beforeEach, test } from 'node:test'
import { Browser, onEachEngine, started, startTestService, type TestService } from '#test/harness/index.ts'
import { type OAuthProvider, startOAuthProvider, tokens } from '#test/harness/oauth-provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { assertFails, counts, signIn, upToCallback, whoAmI } from './harness.ts'

const ada = { id: 'u-1', displayName: 'Ada Lovelace', emails: [{ value: 'ada@example.com' }] }

/** Calls a service at the address that it listens on, since its BASE_URL leads elsewhere. */
async function reach({ app }: TestService, path: string, init: RequestInit = {}): Promise<Response> {
  const { port } = app.server.address() as AddressInfo
  return fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
}

onEachEngine('the sign-in flow', (engine) => {
  let shift = 0
  const logged: string[] = []
  const env = (): Record<string, string> => ({
    ...provider.env('ACME'),
    ...provider.env('OTHER'),
    ...provider.env('GITHUB'),
  })
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const log = createLog('debug', { write: (line: string) => void logged.push(line) })
    const clock = { ...systemClock, now: () => Date.now() + shift }
    return startTestService(engine, { env: env(), parts: { log, clock } })
  })
  beforeEach(() => {
    provider.profile = ada
    provider.token = undefined
    provider.answer = {}
    provider.requests.length = 0
    shift = 0
  })

  test('several tabs of one browser sign in concurrently, in any order', async () => {
    const browser = new Browser()
    const tabs = [
      await upToCallback(service, browser),
      await upToCallback(service, browser, '/auth/other'),
      await upToCallback(service, browser, '/auth/acme?return_to=/third'),
    ]
    const targets = []
    for (const tab of [tabs[2]!, tabs[0]!, tabs[1]!])
      targets.push((await browser.go(tab)).headers.get('location'))
    assert.deepEqual(targets, ['/third', '/dashboard', '/dashboard'])
  })

  test('a browser that has a binding cookie goes on using it', async () => {
    const browser = new Browser()
    await upToCallback(service, browser)
    const [[name, value]] = [...browser.cookies(service.baseUrl)] as [[string, string]]
    assert.match(name, /^postern_browser-[\w-]{8}$/)
    const starts = await Promise.all(
      ['/auth/acme', '/auth/other'].map((path) => browser.go(new URL(path, service.baseUrl))),
    )
    for (const start of starts) {
      const [cookie = '', ...others] = start.headers.getSetCookie()
      assert.ok(cookie.startsWith(`${name}=${value}; Max-Age=3600;`), 'the same value')
      assert.deepEqual(others, [])
      const back = await browser.go(start.headers.get('location')!)
      const end = await browser.go(back.headers.get('location')!)
      assert.equal(end.headers.get('location'), '/dashboard')
    }
    assert.equal((await browser.go(new URL('/login', service.baseUrl))).headers.get('set-cookie'), null)
  })

  test('tabs that start at once on a first visit all sign in, and no stranger finishes one', async () => {
    const browser = new Browser()
    const address = (path: string) => new URL(path, service.baseUrl)
    const starts = await Promise.all(
      ['/auth/acme', '/auth/other', '/auth/acme'].map((path) => browser.go(address(path))),
    )
    const names = starts.map((start) => start.headers.getSetCookie()[0]!.split('=')[0])
    assert.equal(new Set(names).size, 3, 'the browser stores all of these')
    const stranger = new Browser()
    for (const start of starts) {
      const callback = (await browser.go(start.headers.get('location')!)).headers.get('location')!
      const stolen = await stranger.go(callback)
      assert.match(stolen.headers.get('location')!, /error=sign-in-expired/)
      assert.equal((await browser.go(callback)).headers.get('location'), '/dashboard')
    }
  })

  test('a sign-in survives a restart between start and callback', async () => {
    const database = await engine.createMigratedDatabase()
    const options = { env: { ...env(), PORT: '0' }, databaseUrl: database.url }
    const first = await startTestService(engine, options)
    const port = new URL(first.baseUrl).port
    const browser = new Browser()
    const callback = await upToCallback(first, browser)
    await first.close()
    const second = await startTestService(engine, { ...options, env: { ...env(), PORT: port } })
    // The first try may go over a connection that the first service has closed.
    const retried = async (): Promise<Response> => browser.go(callback)
    const answer = await browser.go(callback).catch(retried)
    assert.equal(answer.headers.get('location'), '/dashboard')
    await second.close()
    await database.drop()
  })

  test('twenty callbacks with one state share the outcome of one', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    const before = await counts(service)
    const answers = await Promise.all(Array.from({ length: 20 }, () => browser.go(callback)))
    const targets = answers.map((answer) => answer.headers.get('location')!)
    assert.deepEqual(targets, Array(20).fill('/dashboard'))
    assert.equal(provider.tokenRequests().length, 1)
    assert.equal((await counts(service)).sessions, before.sessions + 1)
  })

  test('a state expires after ten minutes', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    shift = 10 * 60_000 + 1
    await assertFails(service, browser, callback, 'sign-in-expired')
    assert.equal(provider.tokenRequests().length, 0)
  })

  for (const name of ['state', 'code', 'iss', 'error']) {
    test(`a callback with two ${name} parameters fails without an exchange`, async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      callback.searchParams.append(name, 'x')
      callback.searchParams.append(name, 'y')
      const code = name === 'state' ? 'sign-in-expired' : 'provider-answer-invalid'
      await assertFails(service, browser, callback, code)
      assert.equal(provider.tokenRequests().length, 0)
    })
  }

  test("plain OAuth: an error of another issuer is not the provider's, and GitHub's own issuer is accepted", async () => {
    provider.answer = { iss: 'https://evil.example', error: 'access_denied' }
    const denied = new Browser()
    await assertFails(service, denied, await upToCallback(service, denied), 'provider-answer-invalid')
    provider.answer = { iss: 'https://github.com/login/oauth' }
    assert.equal(await signIn(service, new Browser(), '/auth/github'), '/dashboard')
  })

  type Token = NonNullable<OAuthProvider['token']>
  const answers =
    (status: number, body: string, headers: Record<string, string> = {}): Token =>
    (_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  const misbehaviour: [string, string, Token][] = [
    ['an error with status 200', 'provider-refused', answers(200, '{"error":"bad_verification_code"}')],
    [
      'an error with status 400',
      'provider-refused',
      answers(400, '{"error":"invalid_grant","error_description":"<b>"}'),
    ],
    ['a page', 'provider-answer-invalid', answers(200, '<html>', { 'content-type': 'text/html' })],
    ['a redirect', 'provider-answer-invalid', answers(302, '', { location: 'http://169.254.169.254/' })],
    ['no access token', 'provider-refused', answers(200, '{"token_type":"bearer"}')],
    ['an array', 'provider-answer-invalid', answers(200, '[]')],
    ['10 MB', 'provider-unavailable', answers(200, 'x'.repeat(10_000_000))],
    ['a broken connection', 'provider-unavailable', (_request, response) => response.destroy()],
  ]
  for (const [name, code, token] of misbehaviour) {
    test(`a token endpoint that responds with ${name} redirects to /login`, async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      provider.token = token
      await assertFails(service, browser, callback, code)
    })
  }

  test('a token response as a form, and one without a token_type, are accepted', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    provider.token = answers(200, `access_token=${tokens.access}&scope=a%2Cb`, form)
    assert.equal(await signIn(service, new Browser()), '/dashboard')
    provider.token = answers(200, JSON.stringify({ access_token: tokens.access, scope: ['a'] }))
    assert.equal(await signIn(service, new Browser()), '/dashboard')
  })

  test('a profile without a usable id signs nobody in', async () => {
    for (const profile of [
      {},
      { id: null },
      { id: '' },
      { id: { $ne: 1 } },
      { id: true },
      { id: 'a\0b' },
      { id: 'x'.repeat(300) },
      [],
      null,
    ]) {
      const browser = new Browser()
      provider.profile = profile
      await assertFails(service, browser, await upToCallback(service, browser), 'provider-answer-invalid')
    }
  })

  test('unstorable names and addresses do not reach the database', async () => {
    provider.profile = { id: 'odd', displayName: 'A\0da \ud800', emails: 'none', email: 7 }
    const browser = new Browser()
    assert.equal(await signIn(service, browser), '/dashboard')
    const me = (await whoAmI(service, browser))!
    assert.equal(me.name, 'Ada \ufffd')
    assert.equal(me.email, null)
  })

  test('in production no request is sent to an issuer with a private address', async () => {
    const env = {
      NODE_ENV: 'production',
      BASE_URL: 'https://gate.example.com',
      IN_CLIENT_ID: 'x',
      IN_ISSUER: provider.url,
    }
    await using strict = await startTestService(engine, { env })
    assert.equal((await reach(strict, '/auth/in')).status, 503)
    assert.equal(provider.requests.length, 0)
    assert.equal((await reach(strict, '/auth/demo')).status, 404)
    assert.equal((await reach(strict, '/demo-idp/.well-known/openid-configuration')).status, 404)
  })
})
