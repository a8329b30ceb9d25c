// Other sites want to sign people out, or to be where the browser goes after a sign-out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import {
  Browser,
  onEachEngine,
  onOneEngine,
  started,
  startedService,
  startTestService,
} from '#test/harness/index.ts'
import { clockWith } from '#test/harness/manual-clock.ts'
import { startReceiver } from '#test/harness/receiver.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { until } from '../emitting/harness.ts'
import { lastAudit, postForm, sessionOf, signInApp } from '../oauth2/app-sessions.ts'
import { assertProblem, browserOf } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const redirectUris = ['https://app.example.com/callback']
const shop = {
  id: 'shop',
  secret: 'shop-secret-0123456789',
  redirectUris,
  postLogoutRedirectUris: ['https://app.example.com/bye'],
}
const evil = {
  id: 'evil',
  secret: 'evil-secret-0123456789',
  redirectUris,
  postLogoutRedirectUris: ['https://evil.example/bye'],
}

onEachEngine('attacks on sign-outs', (engine) => {
  let shift = 0
  const clock = { ...systemClock, now: () => Date.now() + shift }
  const provider = started(() => startHonestProvider())
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    login: { clients: [shop, evil] },
    parts: { clock },
  }))

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const endSession = (browser: Browser, query: Record<string, string>): Promise<Response> =>
    browser.go(new URL(`/oauth2/end-session?${new URLSearchParams(query).toString()}`, service.baseUrl))

  /** The answer is a page, leads nowhere, leaves the session, and is recorded. */
  async function assertRefused(
    browser: Browser,
    query: Record<string, string>,
    code: string,
    target: string | null = null,
  ): Promise<void> {
    // Of many refusals in a minute only the first ten are recorded.
    shift += 30_000
    const answer = await endSession(browser, query)
    const page = await answer.text()
    assert.equal(answer.status, 400, page)
    assert.equal(answer.headers.get('location'), null)
    assert.equal(answer.headers.get('refresh'), null)
    assert.doesNotMatch(page, /evil\.example|http-equiv/)
    assert.ok(await sessionOf(service, browser), 'still signed in')
    const entry = await lastAudit(service, 'sign_out.refused')
    assert.deepEqual([entry?.code, entry?.target], [code, target])
    assert.ok(entry?.address)
    assert.ok(page.replace('</span><span>', '').includes(entry?.support_id?.slice(0, 8) ?? 'missing'))
  }

  test('a link of another site does not sign out: the page asks, and cannot be framed', async () => {
    const browser = await signedIn('asked')
    for (const query of [{}, { client_id: 'shop' }, { logout_hint: 'asked' }]) {
      const answer = await endSession(browser, query)
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /Sign out\?/)
      assert.match(answer.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
      assert.ok(await sessionOf(service, browser))
    }
  })

  test('another site cannot send the form of that page', async () => {
    const browser = await signedIn('forged-form')
    for (const headers of [
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site', origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const answer = await postForm(service, browser, '/oauth2/end-session/confirm', {}, headers)
      await assertProblem(answer, 403, 'foreign-origin')
      const { userId, sessionId } = (await sessionOf(service, browser))!
      const entry = await lastAudit(service, 'call.refused')
      assert.deepEqual(
        [entry?.code, entry?.user_id, entry?.target],
        ['foreign-origin', userId, `session:${sessionId}`],
      )
    }
    // As browsers do it: without the cookie (SameSite=Lax).
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const without = await postForm(service, new Browser(), '/oauth2/end-session/confirm', {}, foreign)
    await assertProblem(without, 401, 'not-signed-in')
  })

  test('a form of another site to /oauth2/end-session changes nothing by itself', async () => {
    const browser = await signedIn('foreign-post')
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const answer = await postForm(service, browser, '/oauth2/end-session', { client_id: 'shop' }, foreign)
    assert.equal(answer.status, 303)
    assert.equal(answer.headers.get('location'), '/oauth2/end-session?client_id=shop')
    assert.ok(await sessionOf(service, browser))
  })

  test('the id_token of another browser or user asks, too', async () => {
    const [victim, other, attacker] = [
      await signedIn('victim'),
      await signedIn('victim'),
      await signedIn('attacker'),
    ]
    for (const from of [other, attacker]) {
      const { idToken } = await signInApp(service, from, shop)
      const answer = await endSession(victim, { id_token_hint: idToken })
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /Sign out\?/)
      assert.ok(await sessionOf(service, victim))
    }
  })

  test('a forged hint is refused', async () => {
    const browser = await signedIn('forger')
    const { idToken, accessToken } = await signInApp(service, browser, shop)
    const { userId } = (await sessionOf(service, browser))!
    const [head, body, signature] = idToken.split('.') as [string, string, string]
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const claims = { iss: service.baseUrl, sub: userId, aud: 'shop', sid: 'x', exp: 2_000_000_000 }
    const own = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT', jwk: await exportJWK(publicKey) })
      .sign(privateKey)
    const none = [btoa('{"alg":"none"}').replaceAll('=', ''), body, ''].join('.')
    const other = Buffer.from(JSON.stringify({ ...claims, aud: 'evil' })).toString('base64url')
    for (const hint of [own, none, `${head}.${other}.${signature}`, accessToken, 'x', 'a.b.c'])
      await assertRefused(browser, { id_token_hint: hint }, 'invalid-hint')
  })

  test('a redirect that is not registered for the app of the hint or of client_id is refused', async () => {
    const browser = await signedIn('led')
    const { idToken } = await signInApp(service, browser, shop)
    const uris = [
      'https://evil.example/bye',
      '//evil.example',
      '/\\evil.example',
      'https://app.example.com/bye/',
      'https://app.example.com/bye?x=1',
      'https://app.example.com/bye#x',
      'https://app.example.com:443/bye',
      'https://app.example.com@evil.example/bye',
      'HTTPS://app.example.com/bye',
      'https://app.example.com/bye\n',
      'https://app.example.com/callback',
      'javascript:alert(1)',
    ]
    for (const uri of uris)
      for (const by of [{ id_token_hint: idToken }, { client_id: 'shop' }])
        await assertRefused(
          browser,
          { ...by, post_logout_redirect_uri: uri },
          'unregistered-redirect-uri',
          'app:shop',
        )
    const [first] = evil.postLogoutRedirectUris
    await assertRefused(browser, { post_logout_redirect_uri: first! }, 'unregistered-redirect-uri')
    await assertRefused(browser, { client_id: 'nobody', post_logout_redirect_uri: first! }, 'wrong-client')
  })

  test("another app's id_token does not stand for the app", async () => {
    const browser = await signedIn('mixed')
    const { idToken } = await signInApp(service, browser, shop)
    const [uri] = evil.postLogoutRedirectUris
    const query = { id_token_hint: idToken, client_id: 'evil', post_logout_redirect_uri: uri! }
    await assertRefused(browser, query, 'wrong-client', 'app:shop')
  })

  test('a parameter that comes twice is refused', async () => {
    const browser = await signedIn('twice')
    const [uri] = shop.postLogoutRedirectUris
    const query = new URLSearchParams([
      ['client_id', 'shop'],
      ['post_logout_redirect_uri', uri!],
      ['post_logout_redirect_uri', 'https://evil.example/bye'],
    ])
    shift += 60_000
    const answer = await browser.go(new URL(`/oauth2/end-session?${query.toString()}`, service.baseUrl))
    assert.equal(answer.status, 400)
    assert.equal((await lastAudit(service, 'sign_out.refused'))?.code, 'invalid-request')
  })

  test('the way back from the identity provider leads only where this service sent the browser', async () => {
    const content = Buffer.from(JSON.stringify([Date.now() + 60_000, 'https://evil.example'])).toString(
      'base64url',
    )
    for (const state of [
      '',
      'x',
      `${content}.`,
      `${content}.AAAAAAAAAAAAAAAAAAAAAAAA`,
      'https://evil.example',
    ]) {
      const query = new URLSearchParams({ state }).toString()
      const answer = await service.fetch(`/oauth2/end-session/return?${query}`)
      assert.equal(answer.status, 200, state)
      assert.equal(answer.headers.get('location'), null)
      assert.match(await answer.text(), /You are signed out/)
    }
    const browser = await signedIn('told that they signed out')
    const answer = await browser.go(new URL('/oauth2/end-session/return', service.baseUrl))
    assert.equal(answer.headers.get('location'), '/login', 'a page that shows who is signed in')
  })
})

onOneEngine('a backchannelLogoutUri within the private network', (engine) => {
  test('gets no call, by any of its addresses, and the audit log says that the app was not told', async () => {
    await using receiver = await startReceiver(200)
    const { port } = new URL(receiver.url)
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '169.254.169.254']
    const clients = hosts.flatMap((host, index) =>
      ['http', 'https'].map((scheme) => ({
        id: `${scheme}-${index}`,
        redirectUris,
        backchannelLogoutUri: `${scheme}://${host}:${port}/hook`,
      })),
    )
    await using service = await startTestService(engine, {
      env: { ALLOW_PRIVATE_NETWORK: 'false' },
      config: { login: { clients } },
      parts: { clock: clockWith({ 1_000: 50 }) },
    })
    const times = { due_at: 0, claimed_until: null, created_at: 0 }
    const rows = clients.map(({ id }) => ({
      family_id: id,
      user_id: 'ada',
      client_id: id,
      attempts: 4,
      ...times,
    }))
    await service.database.transaction((tx) => tx.insertInto('backchannel_logouts').values(rows).execute())
    const entries = await until(async () => {
      const query = service.database.reader.selectFrom('audit_log').select(['target', 'code', 'user_id'])
      const found = await query.where('action', '=', 'app.logout_failed').orderBy('target').execute()
      return (
        found.length === clients.length &&
        found.map(({ target, code, user_id }) => ({ target, code, user_id }))
      )
    }, 'all were given up')
    assert.deepEqual(
      entries,
      clients
        .map(({ id }) => ({ target: `app:${id}`, code: 'no-answer', user_id: 'ada' }))
        .toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    )
    assert.equal(receiver.calls.length, 0)
  })
})
