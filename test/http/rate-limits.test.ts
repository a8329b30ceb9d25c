import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Browser, engines, started, startOAuthProvider, startTestService } from '#test/harness/index.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import { appTokens, exchange, signIn, spa } from '../login/harness.ts'

const minute = 60_000

describe('rate limits', () => {
  // The beginning of a minute, and each test has a minute of its own: nothing is left of the one before.
  let now = Math.ceil(Date.now() / minute) * minute
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = {
      ...provider.env('ACME'),
      ...provider.env('OTHER'),
      RATE_LIMIT: 'on',
      TRUSTED_PROXIES: '127.0.0.1',
    }
    return startTestService(engines[0]!, {
      env,
      config: { login: { clients: [spa] } },
      parts: { clock: { now: () => now, after: () => () => undefined } },
    })
  })
  const later = (): void => void (now += 3 * minute)

  /** A call as a proxy that TRUSTED_PROXIES names passes it on, with the path as it is written. */
  const from = (address: string, path: string, method = 'GET', headers: Record<string, string> = {}) =>
    plainRequest(service.baseUrl, path, { method, headers: { 'x-forwarded-for': address, ...headers } })
  async function exhaust(address: string, path: string, most = 3_100): Promise<number> {
    for (let count = 0; count < most; count += 1) {
      if ((await from(address, path)).status === 429) return count
    }
    throw new Error(`${path} was never refused`)
  }

  test('an address above the limit gets 429 with Retry-After', async () => {
    later()
    const first = await from('198.51.100.1', '/healthz')
    assert.equal(first.headers['ratelimit-limit'], '3000', 'the limit is told from the first answer on')
    assert.equal(first.headers['ratelimit-remaining'], '2999')
    assert.equal(await exhaust('198.51.100.1', '/healthz'), 2_999)
    assert.equal((await from('198.51.100.1', '/nothing')).status, 429, 'unknown paths, too')
    const refused = await from('198.51.100.1', '/healthz')
    assert.equal(refused.status, 429)
    assert.match(String(refused.headers['content-type']), /problem\+json/)
    assert.equal(refused.headers['cache-control'], 'no-store')
    assert.match(String(refused.headers['content-security-policy']), /default-src 'none'/)
    assert.equal(refused.headers['x-content-type-options'], 'nosniff')
    assert.equal(refused.headers['referrer-policy'], 'no-referrer')
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait > 0 && wait <= 61)
    assert.equal((await from('198.51.100.2', '/healthz')).status, 200, 'nobody else is refused')
    now += wait * 1000
    assert.equal((await from('198.51.100.1', '/healthz')).status, 200)
  })

  test('other spellings, methods and providers do not bypass the limit of sign-ins', async () => {
    later()
    const address = '198.51.100.4'
    assert.equal(await exhaust(address, '/auth/acme'), 300)
    const ways = [
      ['GET', '/auth/acme?x=1'],
      ['GET', '/auth/other'],
      ['GET', '/auth/%61cme'],
      ['GET', '/%61uth/acme'],
      ['GET', '//auth/acme'],
      ['GET', '/auth//acme'],
      ['GET', '/auth/acme/'],
      ['GET', '/AUTH/acme'],
      ['GET', '/./auth/acme'],
      ['GET', '/x/../auth/acme'],
      ['GET', '/auth;x/acme'],
      ['GET', 'http://other.example/auth/acme'],
      ['HEAD', '/auth/acme'],
      ['HEAD', '/auth/other'],
      ['OPTIONS', '/auth/acme'],
      ['POST', '/auth/acme'],
    ] as const
    for (const [method, path] of ways) {
      const { status, headers } = await from(address, path, method)
      assert.ok([400, 404, 405, 429].includes(status), `${method} ${path} was answered with ${status}`)
      assert.equal(headers['location'], undefined)
      assert.equal(headers['set-cookie'], undefined)
    }
    const asGet = { 'x-http-method-override': 'GET' }
    assert.notEqual((await from(address, '/auth/acme', 'POST', asGet)).status, 303)
  })

  test('the addresses of one IPv6 network count together', async () => {
    later()
    let count = 0
    while ((await from(`2001:db8:5:6:${count.toString(16)}::1`, '/auth/acme')).status !== 429) count += 1
    assert.equal(count, 300)
    assert.equal((await from('2001:DB8:0005:6::ffff', '/auth/acme')).status, 429)
    assert.equal((await from('2001:db8:5:7::1', '/auth/acme')).status, 303)
  })

  test('entries of X-Forwarded-For that the client sent are ignored', async () => {
    later()
    let count = 0
    while ((await from(`10.0.0.${count % 250}, 203.0.113.9`, '/auth/acme')).status !== 429) count += 1
    assert.equal(count, 300)
  })

  test('a user is limited over all addresses', async () => {
    later()
    const browser = new Browser()
    await signIn(service, browser)
    const cookie = `postern_session=${browser.cookies(service.baseUrl).get('postern_session')!}`
    let count = 0
    let address = 0
    // Each address makes fewer calls than it may.
    while (count < 3_100) {
      if (count % 500 === 0) address += 1
      if ((await from(`203.0.113.${address}`, '/auth/session', 'GET', { cookie })).status === 429) break
      count += 1
    }
    assert.equal(count, 3_000)
    assert.equal((await from('203.0.113.99', '/auth/session')).status, 401, 'others are not')
  })

  test('linking is limited by account, callbacks by state, refreshes by token', async () => {
    later()
    const browser = new Browser()
    await signIn(service, browser)
    const cookie = `postern_session=${browser.cookies(service.baseUrl).get('postern_session')!}`
    const links = async (n: number): Promise<number> =>
      (await from(`203.0.113.${n}`, '/auth/other/link', 'POST', { cookie, origin: service.baseUrl })).status
    for (let n = 0; n < 30; n += 1) assert.equal(await links(n), 303)
    assert.equal(await links(31), 429)

    const state = 'x'.repeat(43)
    const callback = async (n: number): Promise<number> =>
      (await from(`203.0.113.${n}`, `/auth/acme/callback?code=x&state=${state}`)).status
    for (let n = 0; n < 30; n += 1) assert.equal(await callback(n), 303)
    assert.equal(await callback(31), 429)
    const hidden = `${'x=1&'.repeat(150)}code=x&state=${state}`
    assert.equal((await from('203.0.113.32', `/auth/acme/callback?${hidden}`)).status, 429, 'wherever it is')

    const body = await appTokens(service)
    const refresh = {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: String(body['refresh_token']),
    }
    for (let n = 0; n < 20; n += 1) assert.equal((await exchange(service, refresh)).status, 200)
    assert.equal((await exchange(service, refresh)).status, 429)
  })
})

test('without TRUSTED_PROXIES, X-Forwarded-For is ignored', async (t) => {
  const now = Math.ceil(Date.now() / minute) * minute
  const service = await startTestService(engines[0]!, {
    env: { RATE_LIMIT: 'on' },
    parts: { clock: { now: () => now, after: () => () => undefined } },
  })
  t.after(() => service.close())
  for (let count = 1; count <= 250; count += 1) {
    const headers = {
      'x-forwarded-for': `203.0.113.${count}`,
      'x-real-ip': `203.0.113.${count}`,
      forwarded: `for=203.0.113.${count}`,
    }
    const answer = await fetch(new URL('/healthz', service.baseUrl), { headers })
    // All are of one address. That it is refused in the end is tested above.
    assert.equal(answer.headers.get('ratelimit-remaining'), String(3_000 - count))
  }
})

test('TRUSTED_PROXIES accepts networks, but not all addresses', async () => {
  for (const [text, good] of [
    ['10.0.0.0/8, 2001:db8::/32, 127.0.0.1', true],
    ['0.0.0.0/0', false],
    ['::/0', false],
    ['proxy.example', false],
    ['10.0.0.0/33', false],
    ['*', false],
  ] as const) {
    const starting = startTestService(engines[0]!, { env: { TRUSTED_PROXIES: text } })
    if (good) await (await starting).close()
    else await assert.rejects(starting, /TRUSTED_PROXIES is wrong/)
  }
})
