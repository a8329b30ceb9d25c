// Group 18: providers that answer badly, do not answer, or want to lead the service elsewhere. What the
// token endpoint of a plain provider can do wrong is in test/login/flow.test.ts.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { beforeEach, describe, test } from 'node:test'
import { Browser, engines, listening, rowsOf, scoped, started } from '#test/harness/index.ts'
import { startedService, startTestService } from '#test/harness/service.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { forgedClient, startOpenIdForger } from '#test/harness/openid-forger.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ProviderClient } from '../../src/login/provider-client/provider-client.ts'
import { resolveProvider } from '../../src/login/providers/resolve-provider.ts'
import { createOutboundAgent } from '../../src/network/exchange.ts'
import { createGuardedFetch } from '../../src/network/guarded-fetch.ts'
import { accountsOf, assertFails, assertRefused, signIn, upToCallback, whoAmI } from '../login/harness.ts'
import { assertProblem, begin } from './harness.ts'

type Answer = (response: ServerResponse) => void
const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const text =
  (body: string, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body)
const hang: Answer = () => undefined
const trickle: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), 200)
  response.on('close', () => clearInterval(timer))
}

/** Every address of a provider that can be made to answer otherwise. */
type Place = '/.well-known/openid-configuration' | '/jwks' | '/token' | '/userinfo'

async function startServer(): Promise<{
  url: string
  calls: string[]
  answers: Map<string, Answer>
  close(): Promise<void>
}> {
  const answers = new Map<string, Answer>()
  const calls: string[] = []
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost')
    calls.push(pathname)
    request.resume()
    const answer = answers.get(pathname) ?? json({ error: 'not_found' }, 404)
    answer(response)
  })
  const { url, close } = await listening(server)
  return { url, calls, answers, close }
}

describe('a provider that misbehaves', () => {
  let instance = 0
  const plain = started(startOAuthProvider)
  const trap = started(startServer)
  const bad = started(startServer)
  const service = startedService(engines[0]!, () => ({ env: { ...plain.env('ACME'), ...openid() } }))
  beforeEach(() => {
    trap.calls.length = 0
    bad.calls.length = 0
    bad.answers.clear()
    bad.answers.set('/.well-known/openid-configuration', json(metadata()))
    bad.answers.set('/jwks', json({ keys: [] }))
    bad.answers.set('/token', json({ error: 'invalid_grant' }, 400))
  })

  const openid = (): Record<string, string> => ({
    BAD_CLIENT_ID: 'x',
    BAD_CLIENT_SECRET: 'a-secret-of-the-test',
    BAD_ISSUER: bad.url,
  })
  const metadata = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    issuer: bad.url,
    authorization_endpoint: `${bad.url}/authorize`,
    token_endpoint: `${bad.url}/token`,
    userinfo_endpoint: `${bad.url}/userinfo`,
    jwks_uri: `${bad.url}/jwks`,
    id_token_signing_alg_values_supported: ['ES256'],
    ...more,
  })
  const callbackOf = (asked: URL): URL => {
    const back = new URL(asked.searchParams.get('redirect_uri')!)
    back.search = new URLSearchParams({
      code: `c-${(instance += 1)}`,
      state: asked.searchParams.get('state')!,
    }).toString()
    return back
  }

  const documents: [name: string, document: (own: string) => Answer][] = [
    ['an issuer that is another', () => json(metadata({ issuer: 'https://evil.example' }))],
    ['no issuer', () => json(metadata({ issuer: undefined }))],
    ['no authorization endpoint', (issuer) => json(metadata({ issuer, authorization_endpoint: undefined }))],
    [
      'one of javascript',
      (issuer) => json(metadata({ issuer, authorization_endpoint: 'javascript:alert(1)//' })),
    ],
    ['one of data', (issuer) => json(metadata({ issuer, authorization_endpoint: 'data:text/html,x' }))],
    ['one that is a number', (issuer) => json(metadata({ issuer, authorization_endpoint: 7 }))],
    ['one that is a path', (issuer) => json(metadata({ issuer, authorization_endpoint: '/authorize' }))],
    ['a page', () => text('<html>')],
    ['a list', () => json([])],
    ['null', () => json(null)],
    ['nothing', () => text('')],
    ['status 500', (issuer) => json(metadata({ issuer }), 500)],
    ['a redirect', () => text('', 302, { location: `${trap.url}/.well-known/openid-configuration` })],
    ['10 MB', () => text('x'.repeat(10_000_000))],
    ['a broken connection', () => (response) => response.destroy()],
  ]
  describe('an invalid discovery document starts no sign-in', () => {
    const gate = started(async () => {
      const env: Record<string, string> = {}
      for (const index of documents.keys())
        Object.assign(env, { [`B${index}_CLIENT_ID`]: 'x', [`B${index}_ISSUER`]: `${bad.url}/${index}` })
      return startTestService(engines[0]!, { env })
    })
    for (const [index, [name, document]] of documents.entries()) {
      test(`${name}: 503 to a program, /login to a person`, async () => {
        bad.answers.set(`/${index}/.well-known/openid-configuration`, document(`${bad.url}/${index}`))
        const before = await accountsOf(gate)
        const browser = new Browser()
        const url = new URL(`/auth/b${index}`, gate.baseUrl)
        await assertProblem(await browser.go(url), 503, 'provider-unavailable')
        const page = await browser.go(url, { headers: { accept: 'text/html' } })
        const form = new RegExp(`^/login\\?error=provider-[\\w-]+&id=[\\w-]+&provider=b${index}$`)
        assert.match(page.headers.get('location')!, form)
        const failures = await rowsOf(gate, 'audit_log', { provider: `b${index}` })
        assert.ok(failures.length === 2 && failures.every(({ code }) => code?.startsWith('provider-')))
        assert.equal(await whoAmI(gate, browser), undefined)
        assert.deepEqual(await accountsOf(gate), before)
        assert.deepEqual(trap.calls, [])
      })
    }
  })

  const places: [place: Place, name: string, answer: () => Answer, code: string][] = [
    [
      '/token',
      'a redirect',
      () => text('', 307, { location: `${trap.url}/token` }),
      'provider-answer-invalid',
    ],
    ['/token', 'text that is JSON', () => text('{"access_token":"x"}'), 'provider-answer-invalid'],
    [
      '/token',
      'no id_token',
      () => json({ access_token: 'x', token_type: 'Bearer' }),
      'provider-answer-invalid',
    ],
    [
      '/token',
      'an id_token that is a list',
      () => json({ access_token: 'x', token_type: 'Bearer', id_token: [] }),
      'provider-answer-invalid',
    ],
    ['/token', 'status 401', () => json({ error: 'invalid_client' }, 401), 'provider-refused'],
    ['/token', 'status 429', () => json({ error: 'slow_down' }, 429), 'provider-unavailable'],
    ['/token', 'status 500', () => text('<b>oops', 500), 'provider-unavailable'],
    [
      '/token',
      'a challenge',
      () => text('', 401, { 'www-authenticate': 'Bearer error="x"' }),
      'provider-refused',
    ],
    ['/token', '10 MB', () => text('x'.repeat(10_000_000)), 'provider-unavailable'],
    [
      '/token',
      'an error of HTML',
      () => json({ error: '<script>', error_description: '<script>' }, 400),
      'provider-refused',
    ],
  ]
  for (const [place, name, answer, code] of places) {
    test(`${place} that answers with ${name}: ${code}`, async () => {
      const browser = new Browser()
      const callback = callbackOf(await begin(service, browser, '/auth/bad'))
      bad.answers.set(place, answer())
      await assertFails(service, browser, callback, code)
      assert.deepEqual(trap.calls, [])
    })
  }

  const keys: [name: string, answer: () => Answer][] = [
    ['a redirect', () => text('', 302, { location: `${trap.url}/jwks` })],
    ['a page', () => text('<html>')],
    ['no keys', () => json({})],
    ['keys that are none', () => json({ keys: [null, 7, { kty: 'EC' }, { kty: 'oct', k: 'AA' }] })],
    ['status 500', () => text('', 500)],
    ['10 MB', () => text('x'.repeat(10_000_000))],
  ]
  test('invalid published keys sign nobody in', async () => {
    await using forger = scoped(await startOpenIdForger())
    const env: Record<string, string> = {}
    for (const [index, [, answer]] of keys.entries()) {
      bad.answers.set(`/jwks/${index}`, answer())
      Object.assign(env, {
        [`F${index}_CLIENT_ID`]: forgedClient.id,
        [`F${index}_CLIENT_SECRET`]: forgedClient.secret,
        [`F${index}_ISSUER`]: forger.issuer,
        [`F${index}_JWKS_URL`]: `${bad.url}/jwks/${index}`,
      })
    }
    await using gate = await startTestService(engines[0]!, { env })
    const before = await accountsOf(gate)
    for (const [index, [name]] of keys.entries()) {
      const browser = new Browser()
      const answered = await browser.go(await upToCallback(gate, browser, `/auth/f${index}`))
      const expected = /^\/login\?error=provider-(answer-invalid|unavailable)&/
      assert.match(answered.headers.get('location')!, expected, name)
      assert.equal(await whoAmI(gate, browser), undefined)
    }
    assert.deepEqual(await accountsOf(gate), before)
    assert.deepEqual(trap.calls, [])
  })

  test('requests to endpoints that hang or trickle time out', async () => {
    const [silent, slow] = [new Browser(), new Browser()]
    const callbacks = [
      await upToCallback(service, silent),
      callbackOf(await begin(service, slow, '/auth/bad')),
    ]
    plain.token = (_request, response) => hang(response)
    bad.answers.set('/token', trickle)
    const answers = await Promise.all([silent.go(callbacks[0]!), slow.go(callbacks[1]!)])
    plain.token = undefined
    for (const answer of answers)
      assert.match(answer.headers.get('location')!, /^\/login\?error=provider-unavailable&/)
    for (const browser of [silent, slow]) assert.equal(await whoAmI(service, browser), undefined)
  })

  test('a token endpoint that is not http or https is not called', async () => {
    const schemes = [
      'file:///etc/passwd',
      'ftp://evil.example/',
      'data:application/json,{}',
      'blob:x',
      'unix:/x',
    ]
    const env: Record<string, string> = {}
    for (const [index, endpoint] of schemes.entries()) {
      const issuer = `${bad.url}/t${index}`
      const document = json(metadata({ issuer, token_endpoint: endpoint }))
      bad.answers.set(`/t${index}/.well-known/openid-configuration`, document)
      Object.assign(env, { [`T${index}_CLIENT_ID`]: 'x', [`T${index}_ISSUER`]: issuer })
    }
    await using gate = await startTestService(engines[0]!, { env })
    for (const [index, endpoint] of schemes.entries()) {
      const browser = new Browser()
      const callback = callbackOf(await begin(gate, browser, `/auth/t${index}`))
      await assertFails(gate, browser, callback, 'provider-answer-invalid').catch((error: unknown) => {
        throw new Error(endpoint, { cause: error })
      })
    }
  })

  test('in production a discovery document cannot send requests to private addresses', async () => {
    const issuer = 'https://id.example'
    const { port } = new URL(trap.url)
    const agent = createOutboundAgent({ allowPrivateNetwork: false })
    const guarded = createGuardedFetch({ agent, allowPrivateNetwork: false })
    const at = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: 'x', sub: 's', nonce: 'n', iat: at, exp: at + 60 }
    const parts = [{ alg: 'ES256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    const token = [...parts, Buffer.alloc(64).toString('base64url')].join('.')
    for (const place of ['token_endpoint', 'jwks_uri']) {
      for (const address of [
        `https://127.0.0.1:${port}/x`,
        `https://[::ffff:127.0.0.1]:${port}/x`,
        `https://localhost:${port}/x`,
        `http://127.0.0.1:${port}/x`,
        'https://169.254.169.254/x',
        'https://0/x',
      ]) {
        const document = {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ['ES256'],
          [place]: address,
        }
        const called: string[] = []
        const provider = resolveProvider({ name: 'acme', clientId: 'x', clientSecret: 'y', issuer })
        assert.ok('kind' in provider)
        const client = new ProviderClient({
          provider,
          allowPrivateNetwork: false,
          clock: systemClock,
          async fetch(url, init) {
            called.push(url)
            if (url.includes('/.well-known/')) return Response.json(document)
            if (url === `${issuer}/token`)
              return Response.json({ access_token: 'x', token_type: 'Bearer', id_token: token })
            return guarded(url, init)
          },
        })
        const url = new URL('https://gate.example/auth/acme/callback?code=c&state=s')
        const answer = { url, state: 's', verifier: 'v'.repeat(43), nonce: 'n' }
        await assert.rejects(client.identity(answer), `${place} ${address}`)
        // Plain http is not even tried.
        assert.equal(called.includes(new URL(address).href), !address.startsWith('http:'), address)
      }
    }
    await agent.close()
    assert.deepEqual(trap.calls, [])
  })

  test('a redirect of the profile endpoint is not followed', async () => {
    const env = { ...plain.env('AWAY'), AWAY_PROFILE_URL: `${bad.url}/userinfo` }
    await using gate = await startTestService(engines[0]!, { env })
    bad.answers.set('/userinfo', text('', 302, { location: `${trap.url}/profile` }))
    const browser = new Browser()
    await assertFails(gate, browser, await upToCallback(gate, browser, '/auth/away'), 'provider-refused')
    assert.deepEqual(trap.calls, [])
  })

  test('a provider that fails during a sign-in does not end existing sessions', async () => {
    const browser = new Browser()
    plain.profile = { id: 'stays', displayName: 'stays' }
    await signIn(service, browser)
    plain.token = (_request, response) => json({ error: 'server_error' }, 503)(response)
    await assertRefused(service, browser, await upToCallback(service, browser), 'provider-unavailable')
    plain.token = undefined
    const callback = callbackOf(await begin(service, browser, '/auth/bad'))
    await assertRefused(service, browser, callback, 'provider-refused')
  })
})
