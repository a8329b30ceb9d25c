// OpenID Connect RP-Initiated Logout 1.0, and what ends with a browser session.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, started, startedService } from '../harness/index.ts'
import { browserOf, signInAs } from '../attacks/harness.ts'
import { startHonestProvider } from '../attacks/honest-provider.ts'
import { withdrawKeys } from './withdraw-keys.ts'
import { codeOf, exchangeCode, isLive, lastAudit, postForm, sessionOf, signInApp } from './app-sessions.ts'

const redirectUris = ['https://app.example.com/callback']
const after1 = 'https://app.example.com/bye?from=a%20b'
const shop = { id: 'shop', secret: 'shop-secret-0123456789', redirectUris, postLogoutRedirectUris: [after1] }
const mail = { id: 'mail', secret: 'mail-secret-0123456789', redirectUris }

onEachEngine('the end of a session', (engine) => {
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [shop, mail] } },
  }))

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const endSession = (browser: Browser, query: Record<string, string> = {}): Promise<Response> =>
    browser.go(new URL(`/oauth2/end-session?${new URLSearchParams(query).toString()}`, service.baseUrl))

  test('with the id_token of the session: signs out at once and leads back with the state', async () => {
    const browser = await signedIn('at-once')
    const tokens = await signInApp(service, browser, shop)
    const { userId, sessionId } = (await sessionOf(service, browser))!
    const answer = await endSession(browser, {
      id_token_hint: tokens.idToken,
      post_logout_redirect_uri: after1,
      state: 'a&b=c',
    })
    assert.equal(answer.status, 303)
    assert.equal(answer.headers.get('location'), `${after1}&state=a%26b%3Dc`)
    assert.equal(await sessionOf(service, browser), undefined)
    const entry = await lastAudit(service, 'user.signed_out')
    assert.deepEqual(
      [entry?.user_id, entry?.actor, entry?.target, entry?.detail],
      [userId, `user:${userId}`, `session:${sessionId}`, '{"app":"shop"}'],
    )
    assert.equal(await isLive(service, tokens), false)
  })

  test('a form of the app leads to the same path as a GET', async () => {
    const answer = await service.fetch('/oauth2/end-session', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'shop', state: 'x y' }),
    })
    assert.equal(answer.status, 303)
    assert.equal(answer.headers.get('location'), '/oauth2/end-session?client_id=shop&state=x+y')
  })

  test('without a hint a page asks first; its form signs out and goes on without a redirect', async () => {
    const browser = await signedIn('asked')
    const answer = await endSession(browser, {
      client_id: 'shop',
      post_logout_redirect_uri: after1,
      state: 's',
    })
    assert.equal(answer.status, 200)
    const page = await answer.text()
    assert.match(page, /<strong>shop<\/strong> requested this/)
    assert.match(page, /action="\/oauth2\/end-session\/confirm"/)
    assert.ok(await sessionOf(service, browser), 'not signed out yet')
    const fields = { client_id: 'shop', post_logout_redirect_uri: after1, state: 's' }
    const done = await postForm(service, browser, '/oauth2/end-session/confirm', fields)
    assert.equal(done.status, 200)
    assert.equal(done.headers.get('refresh'), `0;url=${after1}&state=s`)
    assert.match(await done.text(), /You are signed out/)
    assert.equal(await sessionOf(service, browser), undefined)
    const again = await postForm(service, browser, '/oauth2/end-session/confirm', fields)
    assert.equal(again.status, 200, 'the form is sent again after the sign-out')
  })

  test('without a session the browser goes on at once, or sees that it is signed out', async () => {
    const there = { client_id: 'shop', post_logout_redirect_uri: after1 }
    assert.equal((await endSession(new Browser(), there)).headers.get('location'), after1)
    const page = await endSession(new Browser())
    assert.equal(page.status, 200)
    assert.match(await page.text(), /You are signed out/)
  })

  test('sign-ins of apps end with their session, those with offline_access and those of other browsers go on', async () => {
    const [browser, other] = [await signedIn('several'), await signedIn('several')]
    const tied = await signInApp(service, browser, shop)
    const offline = await signInApp(service, browser, shop, 'openid offline_access')
    const elsewhere = await signInApp(service, other, shop)
    const code = await codeOf(service, browser, 'mail', 'openid')
    assert.equal((await postForm(service, browser, '/auth/logout', {})).status, 204)
    const live = await Promise.all([tied, offline, elsewhere].map((one) => isLive(service, one)))
    assert.deepEqual(live, [false, true, true])
    const { status, body } = await exchangeCode(service, mail, code)
    assert.deepEqual([status, body['error']], [400, 'invalid_grant'])
  })

  test('an admin, another session and a block end them too', async () => {
    const ends: [
      string,
      (who: { userId: string; sessionId: string }, other: Browser) => Promise<Response>,
    ][] = [
      [
        'admin',
        ({ userId, sessionId }) =>
          service.admin(`/users/${userId}/sessions/${sessionId}`, { method: 'DELETE' }),
      ],
      [
        'own',
        ({ sessionId }, other) =>
          other.go(new URL(`/auth/sessions/${sessionId}`, service.baseUrl), { method: 'DELETE' }),
      ],
      [
        'block',
        ({ userId }) => service.admin(`/users/${userId}`, { method: 'PATCH', json: { blocked: true } }),
      ],
    ]
    for (const [name, end] of ends) {
      const [browser, other] = [await signedIn(`ended-${name}`), await signedIn(`ended-${name}`)]
      const tokens = await signInApp(service, browser, shop)
      const answer = await end((await sessionOf(service, browser))!, other)
      assert.ok(answer.status < 300, `${name}: ${answer.status}`)
      assert.equal(await isLive(service, tokens), false, name)
    }
  })

  test('a user who signs in again in the same browser stays signed in to the apps; another user does not take them over', async () => {
    const browser = await signedIn('same')
    const tokens = await signInApp(service, browser, shop)
    await signInAs(service, browser, provider, 'same')
    assert.equal(await isLive(service, tokens), true)
    await signInAs(service, browser, provider, 'somebody-else')
    assert.equal(await isLive(service, tokens), false)
  })

  test('an exchange that races with the end of its session leaves no live tokens', async () => {
    for (let round = 0; round < 10; round += 1) {
      const browser = await signedIn('racer')
      const code = await codeOf(service, browser, 'shop', 'openid')
      const [{ status, body }] = await Promise.all([
        exchangeCode(service, shop, code),
        postForm(service, browser, '/auth/logout', {}),
      ])
      if (status === 200)
        assert.equal(await isLive(service, { accessToken: String(body['access_token']) }), false)
      else assert.equal(body['error'], 'invalid_grant')
    }
  })

  test('with an id_token whose key was deleted, the person is asked, as without one', async () => {
    const browser = await signedIn('old-hint')
    const { idToken } = await signInApp(service, browser, shop)
    await withdrawKeys(service)
    const there = { id_token_hint: idToken, post_logout_redirect_uri: after1 }
    const asked = await endSession(browser, { ...there, client_id: 'shop' })
    assert.match(await asked.text(), /Sign out\?/)
    const page = await (await endSession(browser, there)).text()
    assert.match(page, /Sign out\?/)
    assert.doesNotMatch(page, /post_logout_redirect_uri/)
    assert.ok(await sessionOf(service, browser))
    const done = await postForm(service, browser, '/oauth2/end-session/confirm', {})
    assert.equal(done.status, 200)
    assert.equal(await sessionOf(service, browser), undefined)
    const named = await endSession(new Browser(), { ...there, client_id: 'shop' })
    assert.equal(named.headers.get('location'), after1)
    const unnamed = await endSession(new Browser(), there)
    assert.equal(unnamed.status, 200, 'the app that an unverified hint names is not taken')
  })
})
