import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { beforeEach, test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { onEachEngine } from '#test/harness/engines.ts'
import { clientSecret, startOAuthProvider, tokens, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { started } from '#test/harness/started.ts'
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

  test('two concurrent first sign-ins of one identity give one user', async () => {
    provider.profile = { ...ada, id: 'raced' }
    const browsers = Array.from({ length: 8 }, () => new Browser())
    const callbacks = await Promise.all(browsers.map((browser) => upToCallback(service, browser)))
    const before = await counts(service)
    const answers = await Promise.all(browsers.map((browser, index) => browser.go(callbacks[index]!)))
    const targets = answers.map((answer) => answer.headers.get('location'))
    const failures = () => logged.filter((line) => line.includes('sign-in failed')).join('')
    assert.deepEqual(targets, Array(8).fill('/dashboard'), `not each sign-in succeeded; log: ${failures()}`)
    const now = await counts(service)
    assert.equal(now.users, before.users + 1)
    assert.equal(now.identities, before.identities + 1)
    const ids = await Promise.all(browsers.map(async (browser) => (await whoAmI(service, browser))!.id))
    assert.equal(new Set(ids).size, 1)
  })

  test('a state of one provider is refused at the callback of another', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    const crossed = new URL(callback.href.replace('/auth/acme/', '/auth/other/'))
    await assertFails(service, browser, crossed, 'sign-in-expired')
    assert.equal(provider.tokenRequests().length, 0)
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

  test('a response with both a code and an error fails without an exchange', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    callback.searchParams.set('error', '<script>alert(1)</script>')
    callback.searchParams.set('error_description', '<script>alert(2)</script>')
    await assertFails(service, browser, callback, 'provider-refused')
    assert.equal(provider.tokenRequests().length, 0)
  })

  test('plain OAuth: a response with another issuer fails without an exchange', async () => {
    for (const path of ['/auth/acme', '/auth/github']) {
      const browser = new Browser()
      provider.answer = { iss: 'https://evil.example' }
      await assertFails(
        service,
        browser,
        await upToCallback(service, browser, path),
        'provider-answer-invalid',
      )
      assert.equal(provider.tokenRequests().length, 0)
    }
    provider.answer = { iss: 'https://evil.example', error: 'access_denied' }
    const denied = new Browser()
    await assertFails(service, denied, await upToCallback(service, denied), 'provider-answer-invalid')
    provider.answer = { iss: 'https://github.com/login/oauth' }
    provider.profile = { id: 583231, login: 'octocat', name: null, email: null }
    const browser = new Browser()
    assert.equal(await signIn(service, browser, '/auth/github'), '/dashboard')
    assert.equal((await whoAmI(service, browser))!.name, 'octocat')
  })

  const misbehaviour: [string, string, NonNullable<OAuthProvider['token']>][] = [
    [
      'an error with status 200',
      'provider-refused',
      (_r, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"error":"bad_verification_code"}'),
    ],
    [
      'an error with status 400',
      'provider-refused',
      (_r, response) =>
        response
          .writeHead(400, { 'content-type': 'application/json' })
          .end('{"error":"invalid_grant","error_description":"<b>"}'),
    ],
    [
      'a page',
      'provider-answer-invalid',
      (_r, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    [
      'a redirect',
      'provider-answer-invalid',
      (_r, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
    [
      'no access token',
      'provider-refused',
      (_r, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"token_type":"bearer"}'),
    ],
    [
      'an array',
      'provider-answer-invalid',
      (_r, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
    ],
    [
      '10 MB',
      'provider-unavailable',
      (_r, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(10_000_000)),
    ],
    ['a broken connection', 'provider-unavailable', (_r, response) => response.destroy()],
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
    provider.token = (_r, response) =>
      response
        .writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' })
        .end(`access_token=${tokens.access}&scope=a%2Cb`)
    assert.equal(await signIn(service, new Browser()), '/dashboard')
    provider.token = (_r, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: tokens.access, scope: ['a'] }))
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

  test('a blocked user cannot sign in, and their session ends at once', async () => {
    provider.profile = { ...ada, id: 'blocked' }
    const browser = new Browser()
    await signIn(service, browser)
    const { id } = (await whoAmI(service, browser))!
    const blocked = await service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
    assert.equal(blocked.status, 200)
    assert.equal(await whoAmI(service, browser), undefined)
    await assertFails(service, browser, await upToCallback(service, browser), 'account-blocked')
  })

  test('the redirect URI does not follow Host or X-Forwarded-*', async () => {
    const production = { NODE_ENV: 'production', ALLOW_PRIVATE_NETWORK: 'true' }
    const served = await startTestService(engine, {
      env: { ...env(), ...production, BASE_URL: 'https://gate.example.com' },
    })
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    const path = '/auth/acme?redirect_uri=https://evil.example&scope=all&state=x'
    const response = await reach(served, path, { headers })
    await served.close()
    const url = new URL(response.headers.get('location')!)
    assert.equal(url.searchParams.get('redirect_uri'), 'https://gate.example.com/auth/acme/callback')
    assert.equal(url.searchParams.get('scope'), 'email profile')
    assert.equal(url.searchParams.getAll('state').length, 1)
    assert.notEqual(url.searchParams.get('state'), 'x')
  })

  test('PKCE S256 goes to a confidential provider too', async () => {
    const browser = new Browser()
    await signIn(service, browser)
    const authorize = provider.requests.find(({ url }) => url.pathname === '/authorize')!.url
    assert.equal(authorize.searchParams.get('code_challenge_method'), 'S256')
    assert.match(authorize.searchParams.get('code_challenge')!, /^[\w-]{43}$/)
    assert.match(new URLSearchParams(provider.tokenRequests()[0]!.body).get('code_verifier')!, /^[\w-]{43}$/)
  })

  test('a planted session cookie is not adopted: every sign-in gives a new token and revokes the old one', async () => {
    const browser = new Browser()
    const planted = 'A'.repeat(43)
    browser.cookies(service.baseUrl).set('postern_session', planted)
    await signIn(service, browser)
    const first = browser.cookies(service.baseUrl).get('postern_session')!
    assert.notEqual(first, planted)
    await signIn(service, browser)
    assert.notEqual(browser.cookies(service.baseUrl).get('postern_session'), first)
    const old = await service.fetch('/auth/session', { headers: { cookie: `postern_session=${first}` } })
    assert.equal(old.status, 401)
  })

  test('responses of a sign-in have no-store and no-referrer', async () => {
    const browser = new Browser()
    const start = await browser.go(new URL('/auth/acme', service.baseUrl))
    const callback = await browser.go(await upToCallback(service, browser))
    const login = await browser.go(new URL('/login', service.baseUrl))
    for (const answer of [start, callback, login]) {
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
    }
  })

  test('codes, states, tokens, verifiers and secrets are in no log line', async () => {
    const browser = new Browser()
    const callback = await upToCallback(service, browser)
    await browser.go(callback)
    provider.token = (_r, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: tokens.access, error: 'x' }))
    await browser.go(await upToCallback(service, browser))
    const verifier = new URLSearchParams(provider.tokenRequests()[0]!.body).get('code_verifier')!
    const { searchParams } = callback
    const all = logged.join('')
    assert.ok(all.includes('sign-in failed'))
    const session = browser.cookies(service.baseUrl).get('postern_session')!
    for (const secret of [
      tokens.access,
      clientSecret,
      verifier,
      searchParams.get('state')!,
      `"${searchParams.get('code')!}"`,
      session,
    ]) {
      assert.ok(!all.includes(secret), secret)
    }
  })

  test('if discovery fails, the sign-in is refused, and sessions stay valid', async () => {
    const down = await startTestService(engine, {
      env: { ...env(), DOWN_CLIENT_ID: 'x', DOWN_ISSUER: 'http://127.0.0.1:9' },
    })
    try {
      const browser = new Browser()
      await signIn(down, browser)
      for (const accept of ['*/*', 'application/json, text/html;q=0.5'])
        assert.equal((await down.fetch('/auth/down', { headers: { accept } })).status, 503)
      const page = await browser.go(new URL('/auth/down', down.baseUrl), { headers: { accept: 'text/html' } })
      assert.match(page.headers.get('location')!, /^\/login\?error=provider-unavailable&id=/)
      assert.ok(await whoAmI(down, browser))
    } finally {
      await down.close()
    }
  })

  test('over https the cookies are Secure and have the prefix __Host-', async () => {
    const production = {
      NODE_ENV: 'production',
      BASE_URL: 'https://gate.example.com',
      ALLOW_PRIVATE_NETWORK: 'true',
    }
    const secure = await startTestService(engine, { env: { ...env(), ...production } })
    try {
      const start = await reach(secure, '/auth/acme')
      const location = new URL(start.headers.get('location')!)
      assert.equal(location.searchParams.get('redirect_uri'), 'https://gate.example.com/auth/acme/callback')
      const [flow] = start.headers.getSetCookie()
      assert.match(flow!, /^__Host-postern_browser-[\w-]{8}=[\w-]{43};/)
      const back = new URL((await fetch(location, { redirect: 'manual' })).headers.get('location')!)
      const done = await reach(secure, back.pathname + back.search, {
        headers: { cookie: flow!.split(';')[0]! },
      })
      assert.equal(done.headers.get('location'), '/dashboard')
      const [session] = done.headers.getSetCookie()
      assert.match(session!, /^__Host-postern_session=[\w-]{43};/)
      for (const attribute of ['Secure', 'HttpOnly', 'SameSite=Lax', 'Path=/'])
        assert.ok(session!.includes(attribute))
      assert.ok(!/domain=/i.test(session!))
    } finally {
      await secure.close()
    }
  })

  test('in production no request is sent to an issuer with a private address', async () => {
    const env = {
      NODE_ENV: 'production',
      BASE_URL: 'https://gate.example.com',
      IN_CLIENT_ID: 'x',
      IN_ISSUER: provider.url,
    }
    const strict = await startTestService(engine, { env })
    try {
      assert.equal((await reach(strict, '/auth/in')).status, 503)
      assert.equal(provider.requests.length, 0)
      assert.equal((await reach(strict, '/auth/demo')).status, 404)
      assert.equal((await reach(strict, '/demo-idp/.well-known/openid-configuration')).status, 404)
    } finally {
      await strict.close()
    }
  })
})
