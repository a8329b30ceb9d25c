// Attackers want a code from a person's browser without the sign-in, the account or the page that the app asked for.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, started } from '#test/harness/index.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import { signIn, whoAmI } from '../login/harness.ts'
import { answerOf, authorizeUrl, callback } from '../oauth2/harness.ts'
import { assertPageOfRefusal, assertRecorded, startAttackedProvider } from './provider-harness.ts'

const minute = 60_000

onEachEngine('sign-ins that an attacker wants to skip or to swap', (engine) => {
  const attacked = started(() =>
    startAttackedProvider(engine, {
      clients: [
        { id: 'spa', redirectUris: [callback] },
        { id: 'partner', redirectUris: [callback], firstParty: false },
      ],
    }),
  )

  const authorize = (browser: Browser, more: Record<string, string | undefined> = {}): Promise<Response> =>
    browser.go(authorizeUrl(attacked.service, more))
  const locationOf = (answer: Response): URL =>
    new URL(answer.headers.get('location')!, attacked.service.baseUrl)
  const waitingIn = (answer: Response): string => locationOf(answer).searchParams.get('return_to')!
  const at = (browser: Browser, path: string): Promise<Response> =>
    browser.go(new URL(path, attacked.service.baseUrl))
  /** The browser is sent to the sign-in, and gets no code. */
  function assertSignIn(answer: Response, extra = /./): string {
    assert.equal(answer.status, 303)
    const location = answer.headers.get('location')!
    assert.match(location, /^\/login\?return_to=/)
    assert.match(location, extra)
    return location
  }
  const changeSessions = (change: Record<string, unknown>): Promise<unknown> =>
    attacked.service.database.transaction((tx) => tx.updateTable('sessions').set(change).execute())

  test('prompt=login and max_age: to return without signing in leads to the sign-in again', async () => {
    const browser = await attacked.browserOf('stale')
    attacked.pass(2 * minute)
    for (const more of [{ prompt: 'login' }, { max_age: '60' }, { max_age: '0' }]) {
      const first = await authorize(browser, more)
      assertSignIn(first, /reauthenticate=true/)
      for (let again = 0; again < 3; again += 1)
        assertSignIn(await at(browser, waitingIn(first)), /reauthenticate=true/)
    }
    assert.ok(await whoAmI(attacked.service, browser))
  })

  test('prompt=none does not hide an old sign-in, and never shows a page', async () => {
    const browser = await attacked.browserOf('silent')
    attacked.pass(2 * minute)
    for (const [who, more, error] of [
      [new Browser(), {}, 'login_required'],
      [browser, { max_age: '60' }, 'login_required'],
      [browser, { client_id: 'partner' }, 'consent_required'],
    ] as const)
      await assertRecorded(attacked, undefined, async () => {
        const answer = await authorize(who, { ...more, prompt: 'none' })
        assert.equal(answer.status, 303)
        assert.equal(locationOf(answer).origin, 'https://app.example.com')
        assert.equal(locationOf(answer).searchParams.get('error'), error)
        assert.equal(locationOf(answer).searchParams.get('iss'), attacked.service.baseUrl)
        assert.deepEqual(answer.headers.getSetCookie(), [])
        assert.match(answer.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
      })
    const posted = await authorize(browser, {
      client_id: 'partner',
      prompt: 'none',
      response_mode: 'form_post',
    })
    assert.match(await posted.text(), /name="error" value="consent_required"/)
  })

  test('no page of the provider can be framed, and none is stored', async () => {
    const browser = await attacked.browserOf('framed')
    for (const answer of [
      await authorize(browser, { client_id: 'partner' }),
      await authorize(browser, { response_mode: 'form_post' }),
      await authorize(browser, { client_id: 'nobody' }),
      await authorize(browser),
      await at(browser, '/login'),
    ]) {
      assert.match(answer.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
      assert.match(answer.headers.get('cache-control')!, /no-store/)
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
      await answer.arrayBuffer()
    }
  })

  test('a sign-in whose time the provider did not prove is not a recent one', async () => {
    const browser = await attacked.browserOf('unproven')
    await changeSessions({ authentication_proof: 'unproven' })
    assertSignIn(await authorize(browser, { max_age: '3600' }), /reauthenticate=true/)
    const start = await authorize(browser, { prompt: 'login' })
    await signIn(attacked.service, browser, `/auth/acme?return_to=${encodeURIComponent(waitingIn(start))}`)
    await changeSessions({ authentication_proof: 'unproven' })
    const over = locationOf(await at(browser, waitingIn(start)))
    assert.equal(over.searchParams.get('error'), 'login_required')
    const silent = locationOf(await authorize(browser, { prompt: 'none', max_age: '3600' }))
    assert.equal(silent.searchParams.get('error'), 'login_required')
  })

  test('a request made before the sign-in does not make an old sign-in a new one', async () => {
    const browser = new Browser()
    const start = await authorize(browser, { prompt: 'login' })
    attacked.pass(minute)
    await attacked.browserOf('unattended', browser)
    attacked.pass(8 * minute)
    assertSignIn(await at(browser, waitingIn(start)), /reauthenticate=true/)
    const chosen = new Browser()
    const choice = await authorize(chosen, { prompt: 'select_account' })
    await attacked.browserOf('chosen', chosen)
    attacked.pass(3 * minute)
    assertSignIn(await at(chosen, waitingIn(choice)), /select_account=true/)
  })

  test('select_account asks once, not for ever', async () => {
    const browser = await attacked.browserOf('chooser')
    attacked.pass(minute)
    const first = await authorize(browser, { prompt: 'select_account' })
    assertSignIn(first, /select_account=true/)
    const back = await signIn(
      attacked.service,
      browser,
      `/auth/acme?return_to=${encodeURIComponent(waitingIn(first))}`,
    )
    const answer = await at(browser, back)
    assert.ok(locationOf(answer).searchParams.get('code'))
  })

  test("login CSRF: a request that waits in the attacker's browser is of no use in the victim's", async () => {
    const mine = await authorize(new Browser())
    for (const victim of [new Browser(), await attacked.browserOf('victim-of-csrf')]) {
      const before = await whoAmI(attacked.service, victim)
      await assertPageOfRefusal(attacked, {
        browser: victim,
        url: new URL(waitingIn(mine), attacked.service.baseUrl),
        code: 'invalid-request-uri',
      })
      assert.deepEqual(await whoAmI(attacked.service, victim), before)
    }
  })

  test('a form of another site changes nothing but a waiting request, and gets no code', async () => {
    const body = authorizeUrl(attacked.service).searchParams
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    // Browsers send it without the cookie (SameSite=Lax).
    const answer = await attacked.service.fetch('/oauth2/authorize', {
      method: 'POST',
      body,
      headers: foreign,
    })
    assert.equal(answer.status, 303)
    assert.match(answer.headers.get('location')!, /^\/oauth2\/authorize\?client_id=spa&request_uri=urn/)
    assert.deepEqual(answer.headers.getSetCookie(), [])
    // A parsed body would be an object where a text is expected.
    for (const json of [
      JSON.stringify(Object.fromEntries(body)),
      '[1]',
      '"client_id=spa"',
      '{"client_id":[]}',
    ])
      for (const path of ['/oauth2/authorize', '/oauth2/par']) {
        const refused = await attacked.service.fetch(path, {
          method: 'POST',
          body: json,
          headers: { ...foreign, 'content-type': 'application/json' },
        })
        assert.ok([400, 415].includes(refused.status), `${path} ${json}: ${refused.status}`)
      }
  })

  test('return_to leads back to /oauth2/authorize of this service, and from there to registered URIs only', async () => {
    const open = authorizeUrl(attacked.service, { redirect_uri: 'https://evil.example/' })
    const browser = await attacked.browserOf('redirected')
    const signedIn = await signIn(
      attacked.service,
      browser,
      `/auth/acme?return_to=${encodeURIComponent(open.pathname + open.search)}`,
    )
    await assertRecorded(attacked, { action: 'app.refused', code: 'invalid-redirect-uri' }, async () => {
      const answer = await at(browser, signedIn)
      assert.equal(answer.status, 400)
      assert.equal(answer.headers.get('location'), null)
    })
    for (const wanted of [
      '//evil.example/oauth2/authorize',
      'https://evil.example/oauth2/authorize',
      '/\\evil.example/oauth2/authorize',
      '/oauth2/../..//evil.example',
      '/%09/evil.example',
    ]) {
      const target = await signIn(
        attacked.service,
        browser,
        `/auth/acme?return_to=${encodeURIComponent(wanted)}`,
      )
      assert.equal(new URL(target, attacked.service.baseUrl).origin, attacked.service.baseUrl, target)
    }
  })

  test('providers that do not exist, and names that every object has', async () => {
    for (const provider of ['nobody', '__proto__', 'constructor', '../admin', 'acme/link', 'acme?x=1']) {
      const answer = await authorize(new Browser(), { provider })
      assert.equal(locationOf(answer).searchParams.get('error'), 'invalid_request')
    }
  })

  test('the metadata and the answers name this service, whatever the Host and the proxy headers say', async () => {
    const browser = await attacked.browserOf('poisoned')
    const evil = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example;proto=https',
      'x-original-url': '/evil',
      'x-forwarded-prefix': '/evil',
    }
    for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
      const answer = await attacked.service.fetch(path, { headers: evil })
      const text = await answer.text()
      assert.doesNotMatch(text, /evil/)
      assert.equal((JSON.parse(text) as { issuer: string }).issuer, attacked.service.baseUrl)
      const poisoned = await plainRequest(attacked.service.baseUrl, path, {
        headers: { host: 'evil.example' },
      })
      assert.equal(poisoned.text, text)
    }
    const answer = await browser.go(authorizeUrl(attacked.service), { headers: evil })
    assert.deepEqual(locationOf(answer).searchParams.getAll('iss'), [attacked.service.baseUrl])
    const { iss } = await answerOf(attacked.service, browser)
    assert.equal(iss, attacked.service.baseUrl)
  })
})
