import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Browser, engines, started, startedService, startTestService } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { signIn } from '../login/harness.ts'

describe('pages', () => {
  const browser = new Browser()
  const provider = started(startOAuthProvider)
  const service = startedService(engines[0]!, () => ({ env: provider.env('ACME') }))
  before(async () => {
    await signIn(service, browser)
  })

  async function open(path: string): Promise<{ html: string; headers: Headers }> {
    const headers = { accept: 'text/html', 'sec-fetch-dest': 'document' }
    const response = await browser.go(new URL(path, service.baseUrl), { headers })
    assert.equal(response.status, 200, path)
    assert.match(response.headers.get('content-type')!, /^text\/html/, path)
    return { html: await response.text(), headers: response.headers }
  }

  for (const path of ['/login', '/login?error=access-denied&id=1', '/dashboard', '/docs']) {
    test(`${path}: no inline code, no external resources, no framing`, async () => {
      const { html, headers } = await open(path)
      const policy = headers.get('content-security-policy')!
      const directives = new Map(
        policy.split(';').map((directive) => {
          const [name = '', ...values] = directive.trim().split(' ')
          return [name, values.join(' ')]
        }),
      )
      assert.equal(directives.get('default-src'), "'none'")
      assert.equal(directives.get('script-src'), "'self'")
      assert.equal(directives.get('frame-ancestors'), "'none'")
      assert.equal(directives.get('base-uri'), "'none'")
      assert.doesNotMatch(policy, /unsafe-eval|\*|https?:/)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      for (const [tag] of html.matchAll(/<script\b[^>]*>/g))
        assert.match(tag, / src="\/[^/]| type="application\/json"/, tag)
      assert.doesNotMatch(html, /<[^>]+\son\w+\s*=/i, 'no handlers in attributes')
      assert.doesNotMatch(html, /javascript:/i)
      assert.doesNotMatch(html, /<style\b|<[^>]+\sstyle\s*=/i)
      assert.equal(directives.get('style-src'), "'self'")
    })
  }

  test('parameters are escaped', async () => {
    const attack = '"><script>alert(1)</script>'
    for (const name of ['error', 'id', 'return_to']) {
      const { html } = await open(`/login?${name}=${encodeURIComponent(attack)}`)
      assert.ok(!html.includes('<script>alert'), name)
    }
  })
})

describe('over https', () => {
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    // TLS ends in front of the service, which knows by BASE_URL.
    const env = {
      ...provider.env('ACME'),
      NODE_ENV: 'production',
      ALLOW_PRIVATE_NETWORK: 'true',
      BASE_URL: 'https://gate.example.com',
    }
    return startTestService(engines[0]!, { env })
  })

  const direct = (path: string, init: RequestInit = {}): Promise<Response> => {
    const { port } = service.app.server.address() as { port: number }
    return fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
  }
  const pairs = (response: Response): string[] =>
    response.headers.getSetCookie().map((line) => line.split(';')[0]!)

  test('cookies have the prefix __Host-, Secure and HttpOnly', async () => {
    const start = await direct('/auth/acme')
    const flow = pairs(start)[0]!
    const approval = await fetch(start.headers.get('location')!, { redirect: 'manual' })
    const callback = new URL(approval.headers.get('location')!)
    assert.equal(callback.origin, 'https://gate.example.com')
    const done = await direct(callback.pathname + callback.search, { headers: { cookie: flow } })
    assert.equal(done.headers.get('location'), '/dashboard')
    const lines = [...start.headers.getSetCookie(), ...done.headers.getSetCookie()]
    assert.equal(lines.length, 3)
    for (const line of lines) {
      assert.match(
        line,
        /^__Host-(postern_browser-[\w-]{8}|postern_session)=[\w-]{43};|^__Host-postern_last_provider=acme;/,
      )
      for (const attribute of [/; Path=\/(;|$)/, /; Secure(;|$)/, /; HttpOnly(;|$)/, /; SameSite=Lax(;|$)/])
        assert.match(line, attribute)
      assert.doesNotMatch(line, /domain/i)
    }
    assert.match(done.headers.get('strict-transport-security')!, /max-age=31536000/)

    const session = pairs(done)[0]!
    assert.equal((await direct('/auth/session', { headers: { cookie: session } })).status, 200)
    const without = session.replace('__Host-', '')
    assert.equal(
      (await direct('/auth/session', { headers: { cookie: without } })).status,
      401,
      'a name that a neighbouring host could set is not read',
    )
    const signOut = { cookie: session, origin: 'https://gate.example.com' }
    const out = await direct('/auth/logout', { method: 'POST', headers: signOut })
    assert.equal(out.status, 204)
    assert.match(out.headers.getSetCookie()[0]!, /^__Host-postern_session=; Max-Age=0; Path=\/.*Secure/)
  })
})
