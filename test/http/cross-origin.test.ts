// CORS_ORIGINS: which pages of other origins can read answers, and that none of them can write with somebody's cookie.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { adminKey, Browser, engines, started, startedService, startTestService } from '../harness/index.ts'
import { startOAuthProvider } from '../harness/oauth-provider.ts'
import { stillMinute } from '../harness/minute.ts'
import { signIn, spa } from '../login/harness.ts'
import { authorizeUrl } from '../oauth2/harness.ts'

const listed = 'https://app.example.net'
const local = 'http://localhost:5173'

/** Origins that look like a listed one, and are not. */
const others = [
  'null',
  '*',
  '',
  'https://app.example.net.evil.example',
  'https://evil-app.example.net',
  'https://evilapp.example.net',
  'https://app.example.co',
  'https://example.com',
  'https://sub.app.example.net',
  'https://appxexample.com',
  'http://app.example.net',
  'https://app.example.net:8443',
  'https://app.example.net:443',
  'https://app.example.net/',
  'https://app.example.net.',
  'https://APP.example.com',
  'HTTPS://app.example.net',
  'https://app.example.net, https://evil.example',
  'https://evil.example, https://app.example.net',
  'https://app.example.net@evil.example',
  'https://user@app.example.net',
  'https://app.example.net%2eevil.example',
  'http://localhost:5174',
  'http://localhost',
  'http://127.0.0.1:5173',
  'file://',
]

const ofCors = (response: Response): string[] =>
  [...response.headers.keys()].filter((name) => name.startsWith('access-control-')).toSorted()

describe('without CORS_ORIGINS', () => {
  const service = startedService(engines[0]!)

  test('no CORS headers are sent, and responses do not vary by origin', async () => {
    const response = await service.fetch('/products', { headers: { origin: listed } })
    assert.deepEqual(ofCors(response), [])
    assert.equal(response.headers.get('vary'), 'accept-encoding')
    const preflight = await service.fetch('/products', {
      method: 'OPTIONS',
      headers: { origin: listed, 'access-control-request-method': 'POST' },
    })
    assert.equal(preflight.status, 405)
  })

  test('pages of any origin can read the public documents with any header, such as those of MCP clients', async () => {
    for (const path of [
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server',
      '/.well-known/jwks.json',
    ]) {
      const preflight = await service.fetch(path, {
        method: 'OPTIONS',
        headers: {
          origin: listed,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'mcp-protocol-version',
        },
      })
      assert.equal(preflight.status, 204, path)
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
      assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET')
      assert.equal(preflight.headers.get('access-control-allow-headers'), '*, authorization')
    }
  })
})

describe('with CORS_ORIGINS', () => {
  let cookie: string
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = {
      ...provider.env('ACME'),
      ADMIN_IDENTITIES: 'acme:boss',
      CORS_ORIGINS: `${listed}, ${local}`,
      RATE_LIMIT: 'on',
    }
    return startTestService(engines[0]!, {
      env,
      config: { login: { clients: [spa] } },
      parts: { clock: stillMinute() },
    })
  })
  before(async () => {
    const browser = new Browser()
    provider.profile = { id: 'boss', displayName: 'boss' }
    await signIn(service, browser)
    cookie = [...browser.cookies(service.baseUrl)].map(([name, value]) => `${name}=${value}`).join('; ')
  })
  const preflight = (path: string, origin: string, method = 'GET'): Promise<Response> =>
    service.fetch(path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
      },
    })

  test('pages of a listed origin can read responses, errors and the necessary headers', async () => {
    for (const origin of [listed, local]) {
      for (const path of ['/products', '/subscribers', '/nowhere', '/auth/session']) {
        const response = await service.fetch(path, { headers: { origin } })
        assert.equal(response.headers.get('access-control-allow-origin'), origin, path)
        for (const name of ['Link', 'ETag', 'Retry-After'])
          assert.ok(response.headers.get('access-control-expose-headers')!.split(', ').includes(name))
        assert.equal(response.headers.get('access-control-allow-credentials'), null, 'no cookie')
      }
    }
    const { headers } = await service.fetch('/products', { headers: { origin: listed } })
    assert.equal(headers.get('vary'), 'Origin, accept-encoding')
    const known = await service.fetch('/products', {
      headers: { origin: local, 'if-none-match': headers.get('etag')! },
    })
    assert.deepEqual([known.status, known.headers.get('access-control-allow-origin')], [304, local])
  })

  test('they can write with their own credential', async () => {
    const asked = await preflight('/products', listed, 'POST')
    assert.equal(asked.status, 204)
    assert.equal(asked.headers.get('access-control-allow-origin'), listed)
    assert.equal(asked.headers.get('access-control-allow-methods'), 'GET, HEAD, POST')
    assert.equal(
      asked.headers.get('access-control-allow-headers'),
      'Authorization, Content-Type, If-None-Match',
    )
    assert.equal(asked.headers.get('access-control-max-age'), '600')
    assert.match(asked.headers.get('vary')!, /^Origin, Access-Control-Request-Method/)
    const made = await service.admin('/products', {
      method: 'POST',
      json: { id: 'x', category: 'x', name: 'x', price: 1, stock: 1 },
      headers: { origin: listed, 'sec-fetch-site': 'cross-site' },
    })
    assert.equal(made.status, 201)
    assert.equal(made.headers.get('access-control-allow-origin'), listed)
  })

  test('similar origins get no CORS headers, and responses vary by origin', async () => {
    for (const origin of [...others, undefined]) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin }
      const response = await service.fetch('/products', { headers })
      assert.deepEqual(ofCors(response), [], `${origin}`)
      assert.equal(response.headers.get('vary'), 'Origin, accept-encoding', `${origin}`)
      if (origin === undefined) continue
      const asked = await preflight('/products', origin, 'POST')
      assert.equal(asked.status, 405, origin)
      assert.deepEqual(ofCors(asked), [], origin)
    }
  })

  test('a listed origin cannot write with a cookie', async () => {
    for (const site of ['cross-site', 'same-site', undefined]) {
      const response = await service.fetch('/products', {
        method: 'POST',
        headers: {
          cookie,
          origin: listed,
          'content-type': 'application/json',
          ...(site !== undefined && { 'sec-fetch-site': site }),
        },
        body: JSON.stringify({ id: 'y', category: 'y', name: 'y', price: 1, stock: 1 }),
      })
      assert.equal(response.status, 403)
      assert.equal(((await response.json()) as { code: string }).code, 'foreign-origin')
    }
    for (const path of ['/auth/logout', '/auth/acme/link', '/portal/session']) {
      const headers = { cookie, origin: listed, 'content-type': 'application/json' }
      const response = await service.fetch(path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ token: 'x'.repeat(43) }),
      })
      assert.equal(response.status, 403, path)
    }
    const still = await service.fetch('/auth/session', { headers: { cookie } })
    assert.equal(still.status, 200)
  })

  test('preflights of unknown paths and methods are refused', async () => {
    assert.equal((await preflight('/nowhere', listed)).status, 404)
    const plain = await service.fetch('/products', { method: 'OPTIONS', headers: { origin: listed } })
    assert.equal(plain.status, 405, 'no preflight')
    assert.equal(
      (await preflight('/subscribers/1', listed, 'DELETE')).headers.get('access-control-allow-methods'),
      'DELETE, GET, HEAD, PATCH',
    )
  })

  test('the token endpoint and the published keys have their own rules', async () => {
    const app = new URL(spa.redirectUris[0]!).origin
    for (const [origin, allowed] of [
      [app, true],
      [listed, false],
    ] as const) {
      const asked = await preflight('/auth/token', origin, 'POST')
      assert.equal(asked.headers.get('access-control-allow-origin'), allowed ? origin : null)
    }
    const keys = await service.fetch('/.well-known/jwks.json', { headers: { origin: listed } })
    assert.equal(keys.headers.get('access-control-allow-origin'), '*')
    assert.equal(keys.headers.get('access-control-allow-credentials'), null)
  })

  test('webhook routes have no CORS headers', async () => {
    const response = await service.fetch('/webhooks/provider', {
      method: 'POST',
      headers: { origin: listed, 'content-type': 'application/json', 'x-signature': '00' },
      body: '{}',
    })
    assert.equal(response.status, 401)
    assert.deepEqual(ofCors(response), [])
    assert.equal((await preflight('/webhooks/provider', listed, 'POST')).status, 405)
  })

  test('preflights count toward rate limits, and pages can read a 429', async () => {
    assert.ok((await preflight('/products', listed)).headers.get('ratelimit-remaining'))
    // A link to the portal may be tried sixty times in a minute.
    let response: Response | undefined
    for (let call = 0; call < 70 && response?.status !== 429; call += 1)
      response = await service.fetch('/portal/session', {
        method: 'POST',
        headers: { origin: listed, 'content-type': 'application/json' },
        body: '{}',
      })
    assert.equal(response!.status, 429)
    assert.equal(response!.headers.get('access-control-allow-origin'), listed)
    assert.ok(response!.headers.get('retry-after'))
  })

  test('a page of an app can read that it called the token endpoint too often', async () => {
    const { origin } = new URL(spa.redirectUris[0]!)
    const call = (): Promise<Response> =>
      service.fetch('/auth/token', { method: 'POST', headers: { origin }, body: new URLSearchParams() })
    let response = await call()
    for (let calls = 1; calls < 400 && response.status !== 429; calls += 1) response = await call()
    assert.equal(response.status, 429)
    assert.ok(response.headers.get('retry-after'))
    assert.ok(['*', origin].includes(response.headers.get('access-control-allow-origin')!))
    assert.equal(response.headers.get('access-control-expose-headers'), 'Retry-After')
    assert.equal(response.headers.get('access-control-allow-credentials'), null)
  })
})

describe('with CORS_CREDENTIALS', () => {
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), CORS_ORIGINS: listed, CORS_CREDENTIALS: 'true' }
    return startTestService(engines[0]!, { env, config: { login: { clients: [spa] } } })
  })

  test('a listed origin cannot read the code of an app, which would give it the right to write', async () => {
    const browser = new Browser()
    await signIn(service, browser)
    const url = authorizeUrl(service, {
      client_id: spa.id,
      redirect_uri: spa.redirectUris[0],
      response_mode: 'form_post',
    })
    const response = await browser.go(url, { headers: { origin: listed, 'sec-fetch-site': 'same-site' } })
    assert.match(await response.text(), /name="code" value="[\w-]{43}"/)
    assert.deepEqual(ofCors(response), [])
    const post = await service.fetch(url.pathname, {
      method: 'POST',
      headers: { origin: listed },
      body: url.searchParams,
    })
    assert.deepEqual([post.status, ofCors(post)], [303, []])
  })

  test('only listed origins can read with a cookie, and none can write', async () => {
    const own = await service.fetch('/products', { headers: { origin: listed } })
    assert.equal(own.headers.get('access-control-allow-credentials'), 'true')
    assert.equal(own.headers.get('access-control-allow-origin'), listed, 'never *')
    for (const origin of others)
      assert.deepEqual(ofCors(await service.fetch('/products', { headers: { origin } })), [])
    assert.equal(
      (await service.fetch('/.well-known/jwks.json', { headers: { origin: listed } })).headers.get(
        'access-control-allow-credentials',
      ),
      null,
    )
    const browser = new Browser()
    await signIn(service, browser)
    const cookie = [...browser.cookies(service.baseUrl)].map(([name, value]) => `${name}=${value}`).join('; ')
    const write = await service.fetch('/auth/logout', { method: 'POST', headers: { cookie, origin: listed } })
    assert.equal(write.status, 403)
    assert.equal((await service.fetch('/auth/session', { headers: { cookie } })).status, 200)
    const key = await service.fetch('/subscribers', {
      headers: { origin: listed, authorization: `Bearer ${adminKey}` },
    })
    assert.equal(key.status, 200)
  })
})
