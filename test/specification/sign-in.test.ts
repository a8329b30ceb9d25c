import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Browser, onEachEngine, started, startTestService } from '#test/harness/index.ts'
import { clientSecret, startOAuthProvider, tokens } from '#test/harness/oauth-provider.ts'
import {
  appCode,
  appStart,
  assertFails,
  counts,
  exchange,
  newPkce,
  signIn,
  spa,
  upToCallback,
  whoAmI,
} from '../login/harness.ts'

// In the order of the specification: the local user record, the endpoints, authentication.
onEachEngine('specification: sign-in', (engine) => {
  const ada = {
    id: 'u-1',
    displayName: 'Ada Lovelace',
    emails: [{ value: 'ada@example.com' }, { value: 'other@example.com' }],
  }
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), ...provider.env('OTHER') }
    return startTestService(engine, { env, config: { login: { clients: [spa] } } })
  })
  beforeEach(() => {
    provider.profile = ada
    provider.token = undefined
    provider.answer = {}
    provider.requests.length = 0
  })

  const startOf = async (path = '/auth/acme'): Promise<URL> =>
    new URL((await service.fetch(path)).headers.get('location')!)
  const userRow = (id: string) =>
    service.database.reader.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

  describe('the local user record', () => {
    test('email is the first e-mail entry, name the display name, provider the label, providerId the id', async () => {
      const browser = new Browser()
      await signIn(service, browser)
      const {
        email,
        name,
        provider: label,
        provider_id: id,
      } = await userRow((await whoAmI(service, browser))!.id)
      assert.deepEqual(
        { email, name, label, id },
        { email: 'ada@example.com', name: 'Ada Lovelace', label: 'acme', id: 'u-1' },
      )
    })

    test('look-up is by (provider, providerId), never by e-mail alone', async () => {
      const [first, second, third] = [new Browser(), new Browser(), new Browser()]
      await signIn(service, first)
      provider.profile = { ...ada, id: 'u-2' }
      await signIn(service, second)
      provider.profile = ada
      await signIn(service, third, '/auth/other')
      const ids = await Promise.all(
        [first, second, third].map(async (browser) => (await whoAmI(service, browser))!.id),
      )
      assert.equal(new Set(ids).size, 3, 'one e-mail address, three identities, three users')
    })

    test('when no user matches, one is created', async () => {
      provider.profile = { ...ada, id: 'new-one' }
      const before = await counts(service)
      await signIn(service, new Browser())
      const now = await counts(service)
      assert.equal(now.users, before.users + 1)
    })

    test('when one matches, it is used as it is', async () => {
      const browser = new Browser()
      await signIn(service, browser)
      const { id } = (await whoAmI(service, browser))!
      const before = await userRow(id)
      provider.profile = { ...ada, displayName: 'Countess', emails: [{ value: 'countess@example.com' }] }
      await signIn(service, new Browser())
      assert.deepEqual(await userRow(id), before)
    })

    test('several identities may link to one user', async () => {
      const browser = new Browser()
      await signIn(service, browser)
      const me = (await whoAmI(service, browser))!
      provider.profile = { ...ada, id: 'linked-1' }
      const start = await browser.go(new URL('/auth/other/link', service.baseUrl), {
        method: 'POST',
        headers: { origin: service.baseUrl },
      })
      assert.equal(start.status, 303)
      const { response } = await browser.follow(
        start.headers.get('location')!,
        (url) => url.pathname !== '/dashboard',
      )
      assert.equal(response.headers.get('location'), '/dashboard')
      const again = new Browser()
      await signIn(service, again, '/auth/other')
      assert.equal((await whoAmI(service, again))!.id, me.id)
    })

    test('an identity without an e-mail address signs in', async () => {
      provider.profile = { id: 'no-mail', displayName: 'X' }
      const browser = new Browser()
      assert.equal(await signIn(service, browser), '/dashboard')
      assert.equal((await whoAmI(service, browser))!.email, null)
    })
  })

  describe('GET /auth/{provider}', () => {
    test('redirects to the authorization URL with client_id, redirect_uri, scope and state', async () => {
      const response = await service.fetch('/auth/acme')
      assert.equal(response.status, 303)
      const url = new URL(response.headers.get('location')!)
      assert.equal(url.origin + url.pathname, `${provider.url}/authorize`)
      assert.equal(url.searchParams.get('client_id'), 'postern-client')
      assert.equal(url.searchParams.get('redirect_uri'), `${service.baseUrl}/auth/acme/callback`)
      assert.ok(url.searchParams.get('scope'))
      assert.ok(url.searchParams.get('state'))
    })

    test('state is random: long, and another one each time', async () => {
      const states = await Promise.all(
        Array.from({ length: 20 }, async () => (await startOf()).searchParams.get('state')!),
      )
      assert.equal(new Set(states).size, 20)
      for (const state of states) assert.ok(state.length >= 43)
    })

    test('the requested scope is e-mail and profile, and no more', async () => {
      assert.deepEqual((await startOf()).searchParams.get('scope')!.split(' ').toSorted(), [
        'email',
        'profile',
      ])
    })

    test('an unknown provider is 404', async () => {
      for (const path of ['/auth/nobody', '/auth/nobody/callback?code=c&state=s', '/auth/constructor']) {
        const response = await service.fetch(path)
        assert.equal(response.status, 404)
        assert.equal(((await response.json()) as { code: string }).code, 'unknown-provider')
      }
    })
  })

  describe('GET /auth/{provider}/callback', () => {
    test('success leads to /dashboard with a session of the service', async () => {
      const browser = new Browser()
      assert.equal(await signIn(service, browser), '/dashboard')
      assert.ok(await whoAmI(service, browser))
    })

    test('a state that differs from the stored one fails, and the code is not exchanged', async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      callback.searchParams.set('state', `${callback.searchParams.get('state')!.slice(0, -1)}_`)
      await assertFails(service, browser, callback, 'sign-in-expired')
      assert.equal(provider.tokenRequests().length, 0)
    })

    test('a missing state fails', async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      callback.searchParams.delete('state')
      await assertFails(service, browser, callback, 'sign-in-expired')
      assert.equal(provider.tokenRequests().length, 0)
    })

    test('the state is stored for this browser: another one cannot finish the sign-in', async () => {
      const [victim, attacker] = [new Browser(), new Browser()]
      const callback = await upToCallback(service, attacker)
      await assertFails(service, victim, callback, 'sign-in-expired')
      await upToCallback(service, victim)
      await assertFails(service, victim, callback, 'sign-in-expired')
      assert.equal(provider.tokenRequests().length, 0)
      assert.equal((await attacker.go(callback)).headers.get('location'), '/dashboard', 'nor spend it')
    })

    test('a failed authentication leads to /login', async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      callback.searchParams.delete('code')
      callback.searchParams.set('error', 'access_denied')
      await assertFails(service, browser, callback, 'access-denied')
    })

    test('a failed exchange leads to /login and spends its state', async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      provider.token = (_request, response) => response.writeHead(500).end('no')
      await assertFails(service, browser, callback, 'provider-unavailable')
      provider.token = undefined
      // The same failure again, and no second exchange.
      const again = await browser.go(callback)
      assert.match(again.headers.get('location')!, /^\/login\?error=provider-unavailable&/)
      assert.equal(provider.tokenRequests().length, 1)
    })
  })

  describe('the authorization-code flow', () => {
    test('the code is exchanged by a POST with code, client_id, client_secret and further parameters', async () => {
      const browser = new Browser()
      const callback = await upToCallback(service, browser)
      await browser.go(callback)
      const [request, ...others] = provider.tokenRequests()
      assert.equal(others.length, 0)
      assert.equal(request!.method, 'POST')
      assert.equal(request!.url.search, '')
      const body = new URLSearchParams(request!.body)
      assert.equal(body.get('code'), callback.searchParams.get('code'))
      assert.equal(body.get('client_id'), 'postern-client')
      assert.equal(body.get('client_secret'), clientSecret)
      assert.equal(body.get('grant_type'), 'authorization_code')
      assert.equal(body.get('redirect_uri'), `${service.baseUrl}/auth/acme/callback`)
    })

    test("the provider's tokens and the client secret never reach the browser", async () => {
      const browser = new Browser()
      const seen: string[] = []
      const note = async (response: Response): Promise<Response> => {
        seen.push(JSON.stringify([...response.headers]), await response.clone().text())
        return response
      }
      const start = await note(await browser.go(new URL('/auth/acme', service.baseUrl)))
      const back = await browser.go(start.headers.get('location')!)
      await note(await browser.go(back.headers.get('location')!))
      for (const path of ['/auth/session', '/auth/sessions', '/auth/identities', '/login', '/dashboard']) {
        await note(await browser.go(new URL(path, service.baseUrl)))
      }
      for (const secret of [tokens.access, tokens.id, tokens.refresh, clientSecret]) {
        assert.ok(!seen.join('\n').includes(secret))
      }
    })

    test("the profile is read from the provider's API with the access token", async () => {
      await signIn(service, new Browser())
      const read = provider.requests.find(({ url }) => url.pathname === '/profile')
      assert.equal(read!.headers.authorization, `Bearer ${tokens.access}`)
      assert.equal(read!.url.search, '')
    })

    test('the implicit flow is not used: only response_type=code is asked for and only a code accepted', async () => {
      const browser = new Browser()
      assert.equal((await startOf()).searchParams.get('response_type'), 'code')
      const callback = await upToCallback(service, browser)
      callback.searchParams.delete('code')
      callback.searchParams.set('access_token', tokens.access)
      await assertFails(service, browser, callback, 'provider-answer-invalid')
    })

    test("the provider's access token is no credential here", async () => {
      await signIn(service, new Browser())
      for (const path of ['/auth/session', '/auth/sessions']) {
        const response = await service.fetch(path, { headers: { authorization: `Bearer ${tokens.access}` } })
        assert.equal(response.status, 401)
      }
    })

    test("later requests use the service's own session: HttpOnly, SameSite=Lax, the token stored as a hash", async () => {
      const browser = new Browser()
      const answer = await browser.go(await upToCallback(service, browser))
      const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('postern_session='))!
      for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Path=/'])
        assert.ok(cookie.includes(attribute), attribute)
      const token = /^postern_session=([^;]+)/.exec(cookie)![1]!
      assert.ok(Buffer.from(token, 'base64url').length >= 32)
      const rows = await service.database.reader.selectFrom('sessions').selectAll().execute()
      assert.ok(!JSON.stringify(rows).includes(token))
    })

    test('without a client secret the exchange goes by PKCE alone', async () => {
      const { ACME_CLIENT_SECRET: _none, ...env } = provider.env('ACME')
      const open = await startTestService(engine, { env })
      try {
        assert.equal(await signIn(open, new Browser()), '/dashboard')
        const body = new URLSearchParams(provider.tokenRequests()[0]!.body)
        assert.equal(body.get('client_secret'), null)
        assert.ok(body.get('code_verifier'))
      } finally {
        await open.close()
      }
    })
  })

  describe('public clients', () => {
    test('PKCE: the challenge goes with the authorization request and the verifier with the exchange', async () => {
      const pkce = newPkce()
      const code = await appCode(service, pkce)
      const { status, body } = await exchange(service, {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code,
        code_verifier: pkce.verifier,
        redirect_uri: 'https://app.example.com/callback',
      })
      assert.equal(status, 200)
      assert.equal(body['token_type'], 'Bearer')
      const me = await service.fetch('/auth/session', {
        headers: { authorization: `Bearer ${String(body['access_token'])}` },
      })
      assert.equal(me.status, 200)
    })

    test('a wrong verifier is refused', async () => {
      const { status, body } = await exchange(service, {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code: await appCode(service, newPkce()),
        code_verifier: newPkce().verifier,
        redirect_uri: 'https://app.example.com/callback',
      })
      assert.equal(status, 400)
      assert.equal(body['error'], 'invalid_grant')
    })

    test('a request without S256 is refused: absent, plain, or without a challenge', async () => {
      const pkce = newPkce()
      const wrong = [
        { code_challenge_method: undefined },
        { code_challenge_method: 'plain' },
        { code_challenge: undefined },
      ]
      for (const more of wrong) {
        const response = await service.fetch(appStart(pkce, more))
        assert.equal(response.status, 400)
        assert.equal(response.headers.get('location'), null)
      }
    })

    test('the redirect URI must be registered, as a whole', async () => {
      for (const uri of [
        'https://evil.example/callback',
        'https://app.example.com/callback/x',
        'https://app.example.com/callback?x=1',
      ]) {
        const response = await service.fetch(appStart(newPkce(), { redirect_uri: uri }))
        assert.equal(response.status, 400)
        assert.equal(response.headers.get('location'), null)
      }
    })
  })
})
