// Apps and thieves of their tokens want more than what a person allowed: other apps' tokens, scopes, APIs and routes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { Browser, onEachEngine, scoped, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import { startOpenIdForger } from '#test/harness/openid-forger.ts'
import { newPkce, signIn, codeGrant } from '../login/harness.ts'
import { codeOf, exchangeCode, isLive, postForm, sessionOf, signInApp } from '../oauth2/app-sessions.ts'
import { allow, answerOf, authorizeUrl, callback, secret, token } from '../oauth2/harness.ts'
import { assertProblem } from './harness.ts'
import { assertRecorded, startAttackedProvider } from './provider-harness.ts'
import { expectJson } from '../emitting/harness.ts'

const [api, otherApi] = ['https://api.example', 'https://other.example']
const redirectUris = [callback]
const web = { id: 'web', redirectUris, secret }
const other = { id: 'other', redirectUris, secret: 'another-secret-of-thirty-two-chars' }
const apis = { id: 'apis', redirectUris, secret, audience: api, audiences: [otherApi] }
const partner = {
  id: 'partner',
  redirectUris,
  secret,
  firstParty: false,
  scopes: ['openid', 'email', 'events:read'],
}
/** Calls through a proxy need a credential in demo mode too. */
const proxied = { via: '1.1 proxy' }
const job = { id: 'job', secret, clientCredentials: true, scopes: ['events:read'] }

onEachEngine('apps that want more than they were given', (engine) => {
  const attacked = started(() =>
    startAttackedProvider(
      engine,
      { clients: [web, other, apis, partner, job, { id: 'spa', redirectUris }] },
      { ADMIN_IDENTITIES: 'acme:boss' },
    ),
  )

  type Fields = Record<string, string>
  const refresh = (fields: Fields, client: { id: string; secret?: string } = web): ReturnType<typeof token> =>
    token(attacked.service, {
      grant_type: 'refresh_token',
      client_id: client.id,
      ...(client.secret !== undefined && { client_secret: client.secret }),
      ...fields,
    })
  const bearer = (path: string, credential: string, method = 'GET'): Promise<Response> =>
    attacked.service.fetch(path, { method, headers: { ...proxied, authorization: `Bearer ${credential}` } })

  test("another app's refresh token, and a confidential app's without its secret", async () => {
    const { refreshToken } = await signInApp(attacked.service, await attacked.browserOf('robbed'), web)
    for (const thief of [other, { id: 'spa' }]) {
      const entry = { action: 'tokens.refused', code: 'invalid-grant', target: `app:${thief.id}` }
      await assertRecorded(attacked, entry, async () => {
        const { status, body } = await refresh({ refresh_token: refreshToken }, thief)
        assert.deepEqual([status, body['error']], [400, 'invalid_grant'])
      })
    }
    const entry = { action: 'client.refused', code: 'no-credentials', target: 'app:web' }
    await assertRecorded(attacked, entry, async () => {
      const { status, body } = await refresh({ refresh_token: refreshToken }, { id: 'web' })
      assert.deepEqual([status, body['error']], [401, 'invalid_client'])
    })
    assert.equal((await refresh({ refresh_token: refreshToken })).status, 200, 'the app goes on')
  })

  test('scopes that were not granted, at a refresh', async () => {
    const browser = await attacked.browserOf('scoped')
    const { refreshToken } = await signInApp(attacked.service, browser, web, 'openid email')
    const wrong = ['profile', 'admin', 'openid,email', 'OPENID', '__proto__', 'openidemail']
    for (const scope of [...wrong, 'openid admin profile', 'openid email profile']) {
      const entry = { action: 'client.refused', code: 'invalid_scope', target: 'app:web' }
      await assertRecorded(attacked, entry, async () => {
        const { status, body } = await refresh({ refresh_token: refreshToken, scope })
        assert.deepEqual([status, body['error']], [400, 'invalid_scope'], scope)
      })
    }
    const narrowed = await refresh({ refresh_token: refreshToken, scope: 'openid' })
    assert.deepEqual([narrowed.status, narrowed.body['scope']], [200, 'openid'])
    assert.equal(decodeJwt(String(narrowed.body['access_token']))['scope'], 'openid')
    assert.equal(decodeJwt(String(narrowed.body['id_token']))['email'], undefined)
  })

  test('APIs that were not granted, at a refresh and at the exchange of a code', async () => {
    const browser = await attacked.browserOf('resourceful')
    const entry = { action: 'client.refused', code: 'invalid_target', target: 'app:apis' }
    for (const resource of [
      otherApi,
      'https://evil.example',
      attacked.service.baseUrl,
      `${api}/other`,
      `${api}?x`,
    ]) {
      const { code, pkce } = await codeOf(attacked.service, browser, 'apis', 'openid')
      const fields = {
        grant_type: 'authorization_code',
        client_id: 'apis',
        client_secret: secret,
        code,
        code_verifier: pkce.verifier,
        redirect_uri: callback,
      }
      await assertRecorded(attacked, entry, async () => {
        const { status, body } = await token(attacked.service, { ...fields, resource })
        assert.deepEqual([status, body['error']], [400, 'invalid_target'], resource)
      })
      const first = await token(attacked.service, fields)
      assert.equal(first.status, 200)
      const refreshToken = String(first.body['refresh_token'])
      await assertRecorded(attacked, entry, async () => {
        const { status, body } = await refresh({ refresh_token: refreshToken, resource }, apis)
        assert.deepEqual([status, body['error']], [400, 'invalid_target'])
      })
      const allowed = await refresh({ refresh_token: refreshToken, resource: api }, apis)
      assert.equal([decodeJwt(String(allowed.body['access_token'])).aud].flat()[0], api)
    }
  })

  test('a scope that was taken from the app is gone at the next refresh', async () => {
    const created = await attacked.service.admin('/clients', {
      method: 'POST',
      json: {
        name: 'Shrunk',
        redirectUris,
        confidential: false,
        firstParty: true,
        scopes: ['openid', 'email'],
      },
    })
    assert.equal(created.status, 201, await created.clone().text())
    const { id } = (await created.json()) as { id: string }
    const browser = await attacked.browserOf('shrunk')
    const { code, pkce } = await codeOf(attacked.service, browser, id, 'openid email')
    const { body } = await token(attacked.service, codeGrant(code, pkce, { client_id: id }))
    assert.equal(body['scope'], 'openid email')
    await attacked.service.admin(`/clients/${id}`, { method: 'PATCH', json: { scopes: ['openid'] } })
    const refreshed = await refresh({ refresh_token: String(body['refresh_token']) }, { id })
    assert.equal(refreshed.body['scope'], 'openid')
  })

  test("a partner's token of an admin reaches the route of its scope, userinfo, and no other route", async () => {
    const browser = await attacked.browserOf('boss')
    const { accessToken } = await allowPartner(browser, 'openid email events:read')
    const path = '/openapi.json'
    const document = await expectJson<{
      paths: Record<string, Record<string, { security?: { bearer?: string[] }[] }>>
    }>(attacked.service, 200, path)
    let refused = 0
    for (const [path, operations] of Object.entries(document.paths))
      for (const method of Object.keys(operations)) {
        const url = path.replaceAll(/\{[^}]+\}/g, '1')
        const anonymous = await attacked.service.fetch(url, {
          method: method.toUpperCase(),
          headers: proxied,
        })
        await anonymous.arrayBuffer()
        // Other routes are public, and do not read the token.
        if (anonymous.status !== 401 || /^\/(webhooks|oauth2)\//.test(path)) continue
        const answer = await bearer(url, accessToken, method.toUpperCase())
        await answer.arrayBuffer()
        // 401: routes that know the cookie of the portal alone.
        if (answer.status === 403 || answer.status === 401) refused += 1
        else {
          const { security = [] } = operations[method]!
          const scopes = security.flatMap(({ bearer = [] }) => bearer)
          assert.ok(scopes.includes('events:read'), `${method} ${path}: ${answer.status}`)
        }
      }
    assert.ok(refused > 40, `only ${refused} routes refused it`)
    assert.equal((await bearer('/events', accessToken)).status, 200)
    // Of many refusals in a minute only the first ten are recorded. The minute slides: two minutes later none of them counts.
    attacked.pass(120_000)
    await assertRecorded(attacked, { action: 'call.forbidden', code: 'forbidden' }, () =>
      bearer('/users', accessToken),
    )
  })

  test("the same app's token of an ordinary person has no scope of the API", async () => {
    const { accessToken } = await allowPartner(
      await attacked.browserOf('nobody special'),
      'openid events:read',
    )
    await assertRecorded(attacked, { action: 'call.forbidden', code: 'forbidden' }, async () =>
      assertProblem(await bearer('/events', accessToken), 403, 'forbidden'),
    )
    const dashboard = await bearer('/dashboard', accessToken)
    assert.equal(dashboard.status, 303, 'the page has the name and address of the person')
  })

  /** Signs the partner in after the consent of the person. */
  async function allowPartner(browser: Browser, scope: string): Promise<{ accessToken: string }> {
    const pkce = newPkce()
    const page = await browser.go(authorizeUrl(attacked.service, { client_id: 'partner', scope }, pkce))
    const code = (await allow(attacked.service, browser, await page.text())).searchParams.get('code')!
    const { status, body } = await exchangeCode(attacked.service, partner, { code, pkce })
    assert.equal(status, 200, JSON.stringify(body))
    return { accessToken: String(body['access_token']) }
  }

  test('the token of an app without a user is no user, whatever its id', async () => {
    const { body } = await token(attacked.service, {
      grant_type: 'client_credentials',
      client_id: 'job',
      client_secret: secret,
    })
    const accessToken = String(body['access_token'])
    assert.equal(decodeJwt(accessToken).sub, 'job')
    assert.equal(body['refresh_token'], undefined)
    assert.equal(body['id_token'], undefined)
    await assertProblem(await bearer('/auth/session', accessToken), 403, 'forbidden')
    await assertProblem(await bearer('/oauth2/userinfo', accessToken), 401, 'not-signed-in')
    const userId = (await sessionOf(attacked.service, await attacked.browserOf('look-alike')))!.userId
    await assert.rejects(
      startTestService(engine, { config: { login: { clients: [{ ...job, id: userId }] } } }),
      /form of a user's id/,
    )
  })

  test('without offline_access the tokens end with the session', async () => {
    const browser = await attacked.browserOf('signed out')
    const tokens = await signInApp(attacked.service, browser, web)
    await postForm(attacked.service, browser, '/auth/logout', {})
    assert.equal(await isLive(attacked.service, tokens), false)
    const { body } = await refresh({ refresh_token: tokens.refreshToken })
    assert.equal(body['error'], 'invalid_grant')
  })

  test('pages of other origins cannot read the answers of the token endpoint', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      'https://app.example.com.evil.example',
      'http://app.example.com',
      'https://app.example.com:8443',
      '*',
    ])
      for (const path of ['/oauth2/token', '/auth/token']) {
        for (const method of ['POST', 'OPTIONS']) {
          const body = method === 'POST' ? new URLSearchParams({ client_id: 'spa' }) : undefined
          const answer = await attacked.service.fetch(path, {
            method,
            headers: { origin },
            ...(body && { body }),
          })
          assert.equal(answer.headers.get('access-control-allow-origin'), null, `${method} ${origin}`)
          assert.equal(answer.headers.get('access-control-allow-credentials'), null)
          assert.match(answer.headers.get('vary') ?? '', /Origin/i)
        }
      }
  })
})

onEachEngine('apps and the second factor of admins', (engine) => {
  test('an admin without it gives an app no right of an admin, with scopes or with `admin`', async () => {
    await using forger = scoped(await startOpenIdForger())
    await using service = await startTestService(engine, {
      env: {
        ...forger.env('ACME'),
        ADMIN_IDENTITIES: 'acme:subject-1',
        ADMIN_MFA: 'required',
      },
      login: {
        clients: [
          { id: 'scoped', redirectUris, secret, scopes: ['openid', 'users:read', 'admin'] },
          { id: 'console', redirectUris, secret, admin: true },
        ],
      },
    })
    const usersBy = async (id: string, scope: string, amr: string[]): Promise<Response> => {
      forger.claims = (claims) => ({ ...claims, amr })
      const browser = new Browser()
      await signIn(service, browser)
      const { accessToken } = await signInApp(service, browser, { id, secret }, scope)
      return service.fetch('/users', { headers: { ...proxied, authorization: `Bearer ${accessToken}` } })
    }
    for (const [id, scope] of [
      ['scoped', 'openid users:read'],
      ['scoped', 'openid admin'],
      ['console', 'openid'],
    ] as const) {
      await assertProblem(await usersBy(id, scope, ['pwd']), 403, 'second-factor-needed')
      assert.equal((await usersBy(id, scope, ['pwd', 'mfa'])).status, 200)
    }
  })

  test('guesses with one credential are limited in all processes', async () => {
    await using attacked = scoped(
      await startAttackedProvider(engine, { clients: [{ id: 'spa', redirectUris }] }, { RATE_LIMIT: 'on' }),
    )
    const browser = await attacked.browserOf('guessed')
    const { code } = await answerOf(attacked.service, browser)
    const guess = (guessed: string): ReturnType<typeof token> =>
      token(attacked.service, {
        grant_type: 'authorization_code',
        client_id: 'spa',
        code: guessed,
        code_verifier: 'x'.repeat(43),
        redirect_uri: callback,
      })
    attacked.stopClock()
    const statuses: number[] = []
    for (let count = 0; count < 25; count += 1) statuses.push((await guess(code!)).status)
    assert.deepEqual([...new Set(statuses.slice(0, 20))], [400])
    assert.deepEqual([...new Set(statuses.slice(20))], [429])
    assert.equal((await guess('another')).status, 400, 'others are not affected')
  })

  test('an app that left the configuration: its code, its refresh token and its access token', async () => {
    await using database = await engine.createMigratedDatabase()
    await using upstream = scoped(await startOAuthProvider())
    const before = await startTestService(engine, {
      databaseUrl: database.url,
      env: upstream.env('ACME'),
      config: { login: { clients: [web] } },
    })
    const browser = new Browser()
    await signIn(before, browser)
    const tokens = await signInApp(before, browser, web)
    const left = await codeOf(before, browser, 'web', 'openid')
    await before.close()
    await using later = await startTestService(engine, {
      databaseUrl: database.url,
      env: { ...upstream.env('ACME'), PORT: new URL(before.baseUrl).port },
      config: { login: { clients: [other] } },
    })
    assert.equal(later.baseUrl, before.baseUrl)
    assert.equal(await isLive(later, tokens), false)
    for (const path of ['/oauth2/userinfo', '/auth/session']) {
      const headers = { authorization: `Bearer ${tokens.accessToken}` }
      assert.equal((await later.fetch(path, { headers })).status, 401)
    }
    const exchanged = await exchangeCode(later, web, left)
    assert.deepEqual([exchanged.status, exchanged.body['error']], [401, 'invalid_client'])
    const refreshed = await token(later, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refreshToken,
      client_id: 'web',
      client_secret: secret,
    })
    assert.deepEqual([refreshed.status, refreshed.body['error']], [401, 'invalid_client'])
  })
})
