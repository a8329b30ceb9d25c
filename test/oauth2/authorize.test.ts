// Authorization requests: what they lead to, and what the tokens say.
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { Browser, onOneEngine, started, startedService, startProvingProvider } from '#test/harness/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { newPkce, signIn, codeGrant } from '../login/harness.ts'
import {
  answerOf,
  authorizeUrl,
  basic,
  callback,
  clients,
  secret,
  toApp,
  token,
  tokensOf,
} from './harness.ts'

onOneEngine('authorization requests', (engine) => {
  let shift = 0
  const provider = started(startProvingProvider)
  const service = startedService(engine, () => ({
    env: { ...provider.env('ACME') },
    config: {
      login: {
        clients: [
          ...clients,
          { id: 'rsa', redirectUris: [callback], idTokenAlgorithm: 'RS256' },
          { id: 'eddsa', redirectUris: [callback], idTokenAlgorithm: 'EdDSA' },
          {
            id: 'api',
            redirectUris: [callback],
            audience: 'https://api.example',
            audiences: ['https://other.example'],
          },
        ],
      },
    },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))
  beforeEach(() => {
    provider.now = () => Date.now() + shift
    provider.profile = { id: 'ann', name: 'Ann', email: 'ann@example.com', email_verified: true }
  })

  test('a person without a session signs in first, and the next app needs no sign-in', async () => {
    const browser = new Browser()
    const { response: page } = await browser.follow(authorizeUrl(service, { client_id: 'web' }))
    assert.match(await page.text(), /To continue to <strong>web<\/strong>/)
    const { code, state, iss } = await answerOf(service, browser)
    assert.ok(code)
    assert.deepEqual([state, iss], ['the-state', service.baseUrl])
    const silent = await browser.go(authorizeUrl(service, { client_id: 'web' }))
    assert.equal(silent.status, 303)
    assert.ok(new URL(silent.headers.get('location')!).searchParams.get('code'))
  })

  test('a client chooses the algorithm of its id_tokens', async () => {
    for (const [clientId, algorithm] of [
      ['rsa', 'RS256'],
      ['eddsa', 'EdDSA'],
    ] as const) {
      const body = await tokensOf(service, new Browser(), { client_id: clientId })
      assert.equal(decodeProtectedHeader(String(body['id_token'])).alg, algorithm)
      const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.baseUrl))
      await jwtVerify(String(body['id_token']), keys, { issuer: service.baseUrl, audience: clientId })
      assert.equal(decodeProtectedHeader(String(body['access_token'])).alg, 'ES256')
    }
  })

  test('the page of sign-in says why a signed-in person is asked again, and leads nowhere else', async () => {
    const browser = new Browser()
    await signIn(service, browser)
    const pageFor = async (more: Record<string, string>): Promise<string> => {
      const { location } = Object.fromEntries((await browser.go(authorizeUrl(service, more))).headers)
      return (await browser.go(new URL(location!, service.baseUrl))).text()
    }
    for (const [more, title] of [
      [{ prompt: 'login' }, 'Sign in again'],
      [{ acr_values: 'gold' }, 'Sign in again'],
      [{ prompt: 'select_account' }, 'Choose an account'],
    ] as const) {
      const html = await pageFor(more)
      assert.ok(html.includes(`<h1>${title}</h1>`), html)
      assert.doesNotMatch(html, /dashboard|somebody else/)
    }
  })

  test('with a session, the page of sign-in leads on to the app', async () => {
    const browser = new Browser()
    const { location } = Object.fromEntries((await browser.go(authorizeUrl(service))).headers)
    await signIn(service, browser)
    const page = await browser.go(new URL(location!, service.baseUrl))
    const link = /class="button wide primary" href="([^"]*)">Continue to/.exec(await page.text())?.[1]
    const answer = await browser.go(new URL(link!.replaceAll('&amp;', '&'), service.baseUrl))
    assert.match(answer.headers.get('location')!, /^https:\/\/app\.example\.com\/callback\?code=/)
    const again = await browser.go(new URL(link!.replaceAll('&amp;', '&'), service.baseUrl))
    assert.equal(again.headers.get('location'), answer.headers.get('location'), 'the same code')
    shift += 10_000
    const used = await browser.go(new URL(link!.replaceAll('&amp;', '&'), service.baseUrl), {
      headers: { accept: 'text/html' },
    })
    assert.equal(used.status, 400)
    const text = await used.text()
    assert.match(text, /href="https:\/\/app\.example\.com\/">Back to spa</)
    assert.match(text, /<h1>This sign-in is no longer valid<\/h1>/)
    assert.doesNotMatch(text, /invalid request|request_uri/)
  })

  test('the app may pick the provider, and give a hint', async () => {
    const answer = await new Browser().go(
      authorizeUrl(service, { provider: 'acme', login_hint: 'ann@example.com' }),
    )
    assert.match(
      answer.headers.get('location')!,
      /^\/auth\/acme\?return_to=.*&login_hint=ann%40example\.com$/,
    )
    const unknown = await new Browser().go(authorizeUrl(service, { provider: 'nobody' }))
    assert.equal(new URL(unknown.headers.get('location')!).searchParams.get('error'), 'invalid_request')
  })

  test('a pushed request is used once, by its client only', async () => {
    const browser = new Browser()
    await signIn(service, browser)
    const pkce = newPkce()
    const body = authorizeUrl(service, { client_id: 'web' }, pkce).searchParams
    const push = async (more: Record<string, string>): Promise<Response> =>
      service.fetch('/oauth2/par', {
        method: 'POST',
        body: new URLSearchParams([...body, ...Object.entries(more)]),
      })
    assert.equal((await push({})).status, 401, 'a confidential client authenticates')
    const pushed = await push({ client_secret: secret })
    assert.equal(pushed.status, 201)
    const { request_uri: requestUri, expires_in: expiresIn } = (await pushed.json()) as Record<string, string>
    assert.equal(expiresIn, 90)
    const at = (clientId: string): URL => {
      const url = new URL('/oauth2/authorize', service.baseUrl)
      url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUri! }).toString()
      return url
    }
    assert.equal((await browser.go(at('spa'))).status, 400)
    const answer = await toApp(service, browser, at('web'))
    const exchanged = await token(
      service,
      {
        grant_type: 'authorization_code',
        code: answer.searchParams.get('code')!,
        redirect_uri: callback,
        code_verifier: pkce.verifier,
      },
      basic('web'),
    )
    assert.equal(exchanged.status, 200)
    assert.equal((await browser.go(at('web'))).status, 400)
  })

  test('CORS: pages of registered origins may push a request', async () => {
    for (const [origin, allowed] of [
      [new URL(callback).origin, true],
      ['https://evil.example', false],
    ] as const) {
      const asks = { origin, 'access-control-request-method': 'POST' }
      const preflight = await service.fetch('/oauth2/par', { method: 'OPTIONS', headers: asks })
      assert.equal(preflight.status, 204)
      const body = authorizeUrl(service).searchParams
      const pushed = await service.fetch('/oauth2/par', { method: 'POST', headers: { origin }, body })
      assert.equal(pushed.status, 201)
      const refused = await service.fetch('/oauth2/par', { method: 'POST', headers: { origin }, body: 'x=y' })
      for (const response of [preflight, pushed, refused]) {
        assert.equal(response.headers.get('access-control-allow-origin'), allowed ? origin : null)
        assert.match(response.headers.get('vary')!, /Origin/)
      }
    }
  })

  test('the access token names the APIs that the app asked for', async () => {
    const audienceOf = async (more: Record<string, string>): Promise<unknown> =>
      decodeJwt(
        String((await tokensOf(service, new Browser(), { client_id: 'api', ...more }))['access_token']),
      ).aud
    const userinfo = `${service.baseUrl}/oauth2/userinfo`
    assert.deepEqual(await audienceOf({}), ['https://api.example', userinfo])
    assert.deepEqual(await audienceOf({ resource: 'https://other.example' }), [
      'https://other.example',
      userinfo,
    ])
    const foreign = await answerOf(service, new Browser(), {
      client_id: 'api',
      resource: 'https://foreign.example',
    })
    assert.equal(foreign['error'], 'invalid_target')
  })

  test('an answer without scopes has no empty `scope`, which RFC 6749, section 3.3, does not allow', async () => {
    const tokens = await tokensOf(service, new Browser(), { scope: undefined })
    assert.deepEqual(Object.keys(tokens).toSorted(), [
      'access_token',
      'expires_in',
      'refresh_token',
      'token_type',
    ])
    const claims = decodeJwt(String(tokens['access_token']))
    assert.ok(!('scope' in claims))
    // Unlike the token of a sign-in at GET /auth/{provider}, it reaches nothing that scopes are for.
    const me = await service.fetch('/auth/session', {
      headers: { authorization: `Bearer ${String(tokens['access_token'])}` },
    })
    assert.equal(me.status, 200)
    const asked = { token: String(tokens['access_token']), client_id: 'web', client_secret: secret }
    const known = await service.fetch('/oauth2/introspect', {
      method: 'POST',
      body: new URLSearchParams(asked),
    })
    const answer = (await known.json()) as Record<string, unknown>
    assert.ok(!('scope' in answer), JSON.stringify(answer))
  })

  test('several resources at the token endpoint', async () => {
    const pkce = newPkce()
    const wanted = authorizeUrl(service, { client_id: 'api' }, pkce)
    for (const one of ['https://api.example', 'https://other.example'])
      wanted.searchParams.append('resource', one)
    const { searchParams } = await toApp(service, new Browser(), wanted)
    const fields = new URLSearchParams(codeGrant(searchParams.get('code')!, pkce, { client_id: 'api' }))
    for (const one of ['https://api.example', 'https://other.example']) fields.append('resource', one)
    const exchanged = await service.fetch('/oauth2/token', { method: 'POST', body: fields })
    const tokens = (await exchanged.json()) as Record<string, string>
    assert.equal(exchanged.status, 200, JSON.stringify(tokens))
    const audience = [decodeJwt(tokens['access_token']!).aud].flat()
    assert.deepEqual(audience.slice(0, 2), ['https://api.example', 'https://other.example'])
    const refresh = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'api',
      refresh_token: tokens['refresh_token']!,
    })
    for (const one of ['https://other.example', 'https://api.example']) refresh.append('resource', one)
    const refreshed = await service.fetch('/oauth2/token', { method: 'POST', body: refresh })
    assert.equal(refreshed.status, 200)
  })

  test('the metadata names what exists', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      const response = await service.fetch(path)
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      const metadata = (await response.json()) as Record<string, unknown>
      assert.equal(metadata['issuer'], service.baseUrl)
      for (const [name, value] of Object.entries(metadata)) {
        if (!name.endsWith('_endpoint')) continue
        const answer = await service.fetch(new URL(String(value)).pathname, { method: 'POST' })
        assert.notEqual(answer.status, 404, name)
      }
    }
  })

  test('a state or nonce that is too long, or that cannot be stored, is refused with the reason', async () => {
    for (const [more, reason] of [
      [{ state: 'a\0b' }, 'state has a character that cannot be stored'],
      [{ nonce: 'a\0b' }, 'nonce has a character that cannot be stored'],
      [{ state: 'a'.repeat(4097) }, 'state has more than 4096 characters'],
    ] as const)
      assert.equal((await answerOf(service, new Browser(), more)).error_description, reason)
  })
})
