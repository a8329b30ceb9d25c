// Groups 21 and 22: what must not be told, and requests that no browser makes. The limits of group 20
// are in test/http/rate-limits.test.ts.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, beforeEach, describe, test } from 'node:test'
import { Browser, engines, onEachEngine, started } from '#test/harness/index.ts'
import { startedService, startTestService } from '#test/harness/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { accountsOf, appStart, codeGrant, newPkce, spa, whoAmI } from '../login/harness.ts'
import { begin, beginLink, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

describe('secrets in outputs', () => {
  const logged: string[] = []
  const log = createLog('trace', { write: (line: string) => void logged.push(line) })
  const provider = started(() => startHonestProvider({ openid: true }))
  const service = started(() => {
    const env = { ...provider.env('ACME'), ...provider.env('OTHER') }
    return startTestService(engines[0]!, { env, login: { clients: [spa] }, parts: { log } })
  })

  test('codes, states, nonces, verifiers, tokens and secrets are in no log line, metric, problem, list, audit entry or address', async () => {
    const secrets = new Map<string, string>()
    const told: string[] = []
    const browser = new Browser()
    const note = async (response: Response): Promise<Response> => {
      told.push(response.headers.get('location') ?? '', await response.clone().text())
      return response
    }
    const keep = (asked: URL, callback: URL): void => {
      for (const name of ['state', 'nonce'])
        secrets.set(`${name} ${secrets.size}`, asked.searchParams.get(name)!)
      secrets.set(`code ${secrets.size}`, callback.searchParams.get('code')!)
    }
    // One that succeeds, one that is refused by the provider, one whose state is spent, and a link.
    for (const spoil of [false, true]) {
      const asked = await begin(service, browser)
      if (spoil) asked.searchParams.delete('code_challenge')
      const callback = provider.approve(asked, 'secretive')
      keep(asked, callback)
      for (let time = 0; time < 2; time += 1) await note(await browser.go(callback))
    }
    const linking = await beginLink(service, browser)
    const linked = provider.approve(linking, 'secretive-2')
    keep(linking, linked)
    await note(await browser.go(linked))
    for (const [name, value] of browser.cookies(service.baseUrl)) secrets.set(`cookie ${name}`, value)
    // An app's code and tokens; one exchange that fails, one that does not.
    const pkce = newPkce()
    const target = new URL(await signInAs(service, new Browser(), provider, 'secretive', appStart(pkce)))
    const code = target.searchParams.get('code')!
    secrets.set('our code', code).set("the app's verifier", pkce.verifier)
    const fields = {
      grant_type: 'authorization_code',
      client_id: 'spa',
      redirect_uri: spa.redirectUris[0]!,
      code,
    }
    const exchange = (body: Record<string, string>): Promise<Response> =>
      service.fetch('/auth/token', { method: 'POST', body: new URLSearchParams(body) })
    const granted = (await (await exchange({ ...fields, code_verifier: pkce.verifier })).json()) as Record<
      string,
      string
    >
    secrets
      .set('our access token', granted['access_token']!)
      .set('our refresh token', granted['refresh_token']!)
    await note(await exchange({ ...fields, code_verifier: pkce.verifier }))
    await note(
      await exchange({
        grant_type: 'refresh_token',
        client_id: 'spa',
        refresh_token: granted['refresh_token']!,
      }),
    )
    const headers = { authorization: `Bearer ${granted['access_token']}` }
    await note(await service.fetch('/auth/session', { headers }))
    for (const form of provider.tokenRequests)
      secrets.set(`verifier ${secrets.size}`, form.get('code_verifier')!)
    secrets.set('the client secret', provider.tokenRequests[0]!.get('client_secret')!)
    for (const token of provider.issued) secrets.set(`a token of the provider ${secrets.size}`, token)

    for (const path of [
      '/auth/session',
      '/auth/sessions',
      '/auth/identities',
      '/auth/audit',
      '/login',
      '/dashboard',
    ])
      await note(await browser.go(new URL(path, service.baseUrl)))
    for (const path of ['/metrics', '/audit?limit=100', '/users', '/events', '/openapi.json'])
      await note(await service.admin(path))
    const all = { 'the log': logged.join('\n'), 'an answer': told.join('\n') }
    assert.ok(all['the log'].includes('sign-in failed') && secrets.size > 20)
    // The name of a provider is no secret.
    secrets.delete('cookie postern_last_provider')
    for (const [where, text] of Object.entries(all))
      for (const [name, secret] of secrets) assert.ok(!text.includes(secret), `${name} is in ${where}`)
  })

  test('responses of a sign-in are not cached and send no referrer', async () => {
    const browser = new Browser()
    const callback = provider.approve(await begin(service, browser), 'cached')
    const answers = [
      await browser.go(callback),
      await browser.go(callback),
      await browser.go(new URL('/auth/acme', service.baseUrl)),
      await browser.go(new URL('/auth/nobody', service.baseUrl)),
      await browser.go(new URL('/auth/acme?client_id=x', service.baseUrl)),
      await browser.go(new URL('/login?error=access-denied', service.baseUrl)),
      await service.fetch('/auth/token', { method: 'POST', body: new URLSearchParams({ code: 'x' }) }),
      await service.fetch('/auth/session'),
    ]
    for (const answer of answers) {
      assert.equal(answer.headers.get('cache-control'), 'no-store', answer.url)
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', answer.url)
    }
  })
})

onEachEngine('malformed requests', (engine) => {
  let browser: Browser
  let before_: Record<string, unknown[]>
  const faults: string[] = []
  const log = createLog('error', { write: (line: string) => void faults.push(line) })
  const provider = started(() => startHonestProvider())
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    login: { clients: [spa] },
    parts: { log },
  }))
  before(async () => {
    browser = new Browser()
    await signInAs(service, browser, provider, 'victim')
  })
  beforeEach(async () => {
    before_ = await accountsOf(service)
  })

  /** Nothing changed, nothing broke, and who was signed in still is. */
  async function isUnharmed(): Promise<void> {
    assert.deepEqual(await accountsOf(service), before_)
    assert.ok(await whoAmI(service, browser))
    assert.deepEqual(faults, [])
  }
  /** Sends a request as it is written; the status. */
  function raw(lines: string[], body = ''): Promise<number> {
    const { hostname, port, host } = new URL(service.baseUrl)
    const text = [lines[0], `host: ${host}`, 'connection: close', ...lines.slice(1), '', body].join('\r\n')
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(Buffer.from(text, 'latin1')))
      let answer = ''
      socket.setEncoding('latin1')
      socket.on('data', (chunk: string) => (answer += chunk))
      socket.on('close', () => resolve(Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1])))
      socket.on('error', reject)
    })
  }

  const cookies = [
    'postern_session',
    'postern_session=',
    'postern_session==',
    '=postern_session',
    ';;;;=;=;',
    'postern_session=%',
    'postern_session=%00',
    'postern_session=%E0%A4%A',
    'postern_session="x"',
    'postern_session=\xff\xfe',
    'postern_session=a\tb',
    `postern_session=${'A'.repeat(43)}; postern_session=${'B'.repeat(43)}`,
    '__proto__=x; constructor=y; postern_session=__proto__',
    `flow=${'A'.repeat(42)}; flow=%`,
    Array.from({ length: 1_000 }, (_, index) => `c${index}=x`).join('; '),
    `postern_session=${'x'.repeat(12_000)}`,
  ]
  test('malformed cookies are neither sessions nor errors', async () => {
    for (const cookie of cookies) {
      for (const [path, expected] of [
        ['/auth/session', 401],
        ['/auth/acme/callback?code=c&state=s', 303],
        ['/auth/acme', 303],
        ['/login', 200],
      ] as const)
        assert.equal(
          await raw([`GET ${path} HTTP/1.1`, `cookie: ${cookie}`]),
          expected,
          `${path}: ${cookie.slice(0, 60)}`,
        )
    }
    await isUnharmed()
  })

  test('a cookie of a megabyte, and two headers of cookies', async () => {
    const huge = await raw([
      'GET /auth/session HTTP/1.1',
      `cookie: postern_session=${'x'.repeat(1_000_000)}`,
    ]).catch(
      // The connection may be cut while the rest is still being sent.
      () => 431,
    )
    assert.ok(huge === 431 || Number.isNaN(huge), String(huge))
    const twice = ['GET /auth/session HTTP/1.1', 'cookie: a=b', `cookie: postern_session=${'A'.repeat(43)}`]
    assert.equal(await raw(twice), 401)
    await isUnharmed()
  })

  test('malformed Authorization headers are neither credentials nor errors', async () => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = part({ sub: 'x', sid: 'y', exp: 9e9, iss: service.baseUrl, aud: service.baseUrl })
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'bearer x',
      'Bearer  ',
      'Bearer\tx',
      'Bearer x, Bearer y',
      'Basic Og==',
      'Basic %%%',
      'Digest x',
      `Bearer ${'x'.repeat(12_000)}`,
      'Bearer \xff\xfe',
      'Bearer pk_',
      'Bearer pk_%00',
      'Bearer rt_x',
      'Bearer ..',
      'Bearer e30.e30.',
      `Bearer ${part({ alg: 'none' })}.${claims}.`,
      `Bearer ${part({ alg: 'none' })}.${claims}.AA`,
      `Bearer ${part({ alg: 'HS256', kid: '\0' })}.${claims}.AA`,
      `Bearer ${part({ alg: 'ES256', kid: '\0', typ: 'at+jwt' })}.${claims}.AA`,
      `Bearer ${part({ alg: 'ES256', kid: { x: 1 }, typ: 'at+jwt' })}.${claims}.AA`,
      `Bearer ${part({ alg: 'ES256', typ: 'at+jwt', crit: ['x'], x: 1 })}.${claims}.AA`,
      `Bearer ${part(null)}.${claims}.AA`,
      `Bearer ${part('x')}.${part('y')}.AA`,
    ]) {
      const status = await raw(['GET /auth/session HTTP/1.1', `authorization: ${authorization}`])
      assert.equal(status, 401, authorization.slice(0, 80))
    }
    // Who is signed in by cookie is not let in by it when a broken header says something else.
    const cookie = `cookie: postern_session=${browser.cookies(service.baseUrl).get('postern_session')!}`
    assert.equal(await raw(['GET /auth/session HTTP/1.1', cookie, 'authorization: Basic x']), 401)
    await isUnharmed()
  })

  test('malformed paths cause no 5xx', async () => {
    for (const path of [
      '/auth/%',
      '/auth/%00',
      '/auth/acme%00',
      '/auth/%ff',
      '/auth/__proto__',
      '/auth/constructor/callback?code=c&state=s',
      '/auth/..%2f..%2fetc',
      '/auth/acme/callback?%',
      '/auth/acme/callback?code=%00&state=%00',
      '/auth/acme/callback?code=%ff&state=%ff&iss=%ff&error=%ff',
      '/auth/acme/callback?code=c&state=s&__proto__[x]=y&name=%00',
      `/auth/acme/callback?code=${'c'.repeat(8_000)}&state=${'s'.repeat(43)}`,
      '/auth/acme?return_to=%&client_id=%00&code_challenge=%ff',
      '/auth/acme?client_id=__proto__&code_challenge=x',
      '/auth/acme?client_id=constructor&redirect_uri=x&code_challenge_method=S256',
      `/auth/acme?return_to=/%ed%a0%80`,
      '/login?error=__proto__&id=%00&provider=__proto__&message=%ff&proof=%ff',
      '/login?error=constructor&return_to=%ff',
      '/auth/sessions/%00',
      '/auth/audit?cursor=%00&userId=%00',
    ]) {
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT']) {
        const status = await raw([`${method} ${path} HTTP/1.1`, 'content-length: 0'])
        assert.ok(status >= 200 && status < 500, `${method} ${path}: ${status}`)
      }
    }
    await isUnharmed()
  })

  test('malformed bodies of the token endpoint cause no 5xx and consume nothing', async () => {
    const pkce = newPkce()
    const target = new URL(await signInAs(service, new Browser(), provider, 'app-user', appStart(pkce)))
    const code = target.searchParams.get('code')!
    before_ = await accountsOf(service)
    const post = async (type: string, body: string): Promise<number> => {
      const init = { method: 'POST', headers: { 'content-type': type }, body }
      const answer = await fetch(new URL('/auth/token', service.baseUrl), init)
      const { error } = (await answer.json()) as { error?: string }
      if (answer.status === 400) assert.match(String(error), /^(?:invalid|unsupported)_/, body.slice(0, 80))
      return answer.status
    }
    for (const body of [
      '{"grant_type":"refresh_token","client_id":"spa","refresh_token":"\\u0000"}',
      '{"grant_type":"authorization_code","client_id":"__proto__","code":"x"}',
      '{"__proto__":{"grant_type":"refresh_token"}}',
      '{"grant_type":"authorization_code","client_id":"spa","code":"\\ud800","code_verifier":"\\ud800","redirect_uri":"\\ud800"}',
      `{"grant_type":"authorization_code","client_id":"spa","code":"${'x'.repeat(30_000)}"}`,
      `{"grant_type":"authorization_code","client_id":"spa","code":${JSON.stringify(code)}}`,
      `{"grant_type":"authorization_code","client_id":"spa","code":[${JSON.stringify(code)}]}`,
      '['.repeat(30_000),
      'null',
      '"x"',
      '{',
      '{"grant_type":{}}',
    ])
      assert.ok([400, 401].includes(await post('application/json', body)), body.slice(0, 80))
    for (const type of ['application/json', 'application/x-www-form-urlencoded'])
      assert.equal(await post(type, `{"code":"${'x'.repeat(200_000)}"}`), 413, type)
    for (const body of [
      '%',
      'a&b&c',
      'grant_type=refresh_token&client_id=spa&refresh_token=%00%ff',
      '&'.repeat(10_000),
    ])
      assert.ok([400, 401].includes(await post('application/x-www-form-urlencoded', body)), body.slice(0, 80))
    for (const type of [
      'application/json; charset=utf-16',
      'multipart/form-data; boundary=x',
      'application/xml',
    ])
      assert.ok([400, 415].includes(await post(type, `code=${code}`)), type)
    await isUnharmed()
    assert.equal(await post('application/json', JSON.stringify(codeGrant(code, pkce))), 200, 'as a form')
  })
})
