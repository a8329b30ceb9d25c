// Device Authorization Grant (RFC 8628).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { systemClock } from '../../src/runtime/clock.ts'
import { browserOf } from '../attacks/harness.ts'
import { startHonestProvider } from '../attacks/honest-provider.ts'
import { Browser, onEachEngine, rowsOf, started, startTestService, fields } from '../harness/index.ts'
import { lastAudit, postForm, sessionOf } from './app-sessions.ts'
import { poll, startDevice } from './device-harness.ts'

const cli = { id: 'cli', name: 'Acme CLI', deviceGrant: true }
const tv = { id: 'tv', name: 'TV of others', deviceGrant: true, firstParty: false }
const box = { id: 'box', deviceGrant: true, secret: 'box-secret-of-an-app-0123456789' }

onEachEngine('sign-in of a device', (engine) => {
  let shift = 0
  let stoppedAt: number | undefined
  const provider = started(startHonestProvider)
  const service = started(async () => {
    const clock = { ...systemClock, now: () => (stoppedAt ?? Date.now()) + shift }
    return startTestService(engine, {
      env: provider.env('ACME'),
      config: { login: { clients: [cli, tv, box] } },
      parts: { clock },
    })
  })

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const show = (browser: Browser, code?: string): Promise<Response> =>
    browser.go(
      new URL(
        code === undefined ? '/device' : `/device?user_code=${encodeURIComponent(code)}`,
        service.baseUrl,
      ),
    )
  const decide = (browser: Browser, code: string, decision = 'allow'): Promise<Response> =>
    postForm(service, browser, '/device', { user_code: code, compared: 'yes', decision })

  test('a person types the code, sees who asks, allows it, and the device gets its tokens', async () => {
    const started = await startDevice(service, { client_id: 'cli', scope: 'openid email offline_access' })
    assert.match(started.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    assert.equal(started.verification_uri, `${service.baseUrl}/device`)
    assert.equal(
      started.verification_uri_complete,
      `${service.baseUrl}/device?user_code=${started.user_code}`,
    )
    assert.deepEqual([started.expires_in, started.interval], [600, 5])
    assert.deepEqual(await poll(service, 'cli', started), { status: 400, error: 'authorization_pending' })
    const browser = await signedIn('ada')
    const { userId } = (await sessionOf(service, browser))!
    assert.match(await (await show(browser)).text(), /Enter the code/)
    const page = await (await show(browser, started.user_code.toLowerCase())).text()
    for (const words of ['Acme CLI', started.user_code, '127.0.0.1', 'Stay connected', 'email address'])
      assert.ok(page.includes(words), words)
    const done = await decide(browser, started.user_code)
    assert.equal(done.status, 200)
    assert.match(await done.text(), /Your device is signed in/)
    const entry = await lastAudit(service, 'device.approved')
    assert.deepEqual([entry?.user_id, entry?.actor, entry?.target], [userId, `user:${userId}`, 'app:cli'])
    const { status, body } = await poll(service, 'cli', started)
    assert.equal(status, 200)
    const idToken = decodeJwt(String(body!['id_token']))
    assert.deepEqual([idToken.sub, idToken.aud], [userId, 'cli'])
    assert.equal(body!['scope'], 'openid email offline_access')
    assert.deepEqual(await poll(service, 'cli', started), { status: 400, error: 'invalid_grant' })
  })

  test('without a session the browser signs in first and comes back to the code', async () => {
    const answer = await show(new Browser(), 'WDJB-MJHT')
    assert.equal(answer.status, 303)
    const to = new URL(answer.headers.get('location')!, service.baseUrl)
    assert.equal(to.pathname, '/login')
    assert.equal(to.searchParams.get('return_to'), '/device?user_code=WDJB-MJHT')
  })

  test('a person who does not allow it ends the device’s wait', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const browser = await signedIn('denier')
    assert.match(await (await decide(browser, started.user_code, 'deny')).text(), /Sign-in denied/)
    assert.deepEqual(await poll(service, 'cli', started), { status: 400, error: 'access_denied' })
    assert.equal((await decide(await signedIn('other'), started.user_code)).status, 400)
    assert.equal((await lastAudit(service, 'device.denied'))?.target, 'app:cli')
  })

  test('a form that is sent twice gets the decision of the first one, and the device is signed in once', async () => {
    const browser = await signedIn('clicker')
    const allowed = await startDevice(service, { client_id: 'cli' })
    const both = [decide(browser, allowed.user_code), decide(browser, allowed.user_code)]
    for (const answer of await Promise.all(both))
      assert.match(await answer.text(), /Your device is signed in/, String(answer.status))
    assert.equal((await poll(service, 'cli', allowed)).status, 200)
    const denied = await startDevice(service, { client_id: 'cli' })
    await decide(browser, denied.user_code, 'deny')
    // The opposite decision is too late, and another person learns nothing.
    for (const [again, text] of [
      [decide(browser, allowed.user_code, 'deny'), /Your device is signed in/],
      [show(browser, allowed.user_code), /Your device is signed in/],
      [decide(browser, denied.user_code), /Sign-in denied/],
      [decide(await signedIn('stranger'), allowed.user_code), /Enter the code/],
    ] as const)
      assert.match(await (await again).text(), text)
    assert.equal((await poll(service, 'cli', denied)).error, 'access_denied')
    const { userId } = (await sessionOf(service, browser))!
    assert.equal(
      (await rowsOf(service, 'audit_log', { action: 'device.approved', user_id: userId })).length,
      1,
    )
  })

  test('a device that polls too fast has to slow down, five seconds more each time', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const wait = (seconds: number) => void (shift += seconds * 1000)
    stoppedAt = Date.now()
    const errors: (string | undefined)[] = []
    for (const seconds of [0, 1, 9, 14, 15]) {
      wait(seconds)
      errors.push((await poll(service, 'cli', started)).error)
    }
    const [pending, slower] = ['authorization_pending', 'slow_down']
    assert.deepEqual(errors, [pending, slower, slower, slower, slower])
    wait(25)
    assert.equal((await poll(service, 'cli', started)).error, pending)
    stoppedAt = undefined
  })

  test('after ten minutes the code has expired, for the person and for the device', async () => {
    const started = await startDevice(service, { client_id: 'cli' })
    const browser = await signedIn('late')
    shift += 601_000
    assert.equal((await show(browser, started.user_code)).status, 400)
    assert.equal((await decide(browser, started.user_code)).status, 400)
    assert.deepEqual(await poll(service, 'cli', started), { status: 400, error: 'expired_token' })
  })

  test('a confidential client authenticates, and the approval for an app of others is a consent', async () => {
    const refused = await service.fetch('/oauth2/device_authorization', {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'box' }),
    })
    assert.equal(refused.status, 401)
    await startDevice(service, { client_id: 'box', client_secret: box.secret })
    const started = await startDevice(service, { client_id: 'tv', scope: 'openid profile' })
    const browser = await signedIn('viewer')
    await decide(browser, started.user_code)
    const { userId } = (await sessionOf(service, browser))!
    const consent = await rowsOf(service, 'consents', { user_id: userId })
    assert.deepEqual(fields(consent, 'client_id', 'scope'), [['tv', 'openid profile']])
  })

  test('a device gets no scope and no API that its app lost after the approval', async () => {
    const api = 'https://api.example'
    const settings = { name: 'x', deviceGrant: true, confidential: false, firstParty: true }
    const json = { ...settings, scopes: ['openid', 'email'], audiences: [api] }
    const made = await service.admin('/clients', { method: 'POST', json })
    const { id } = (await made.json()) as { id: string }
    const approved = async (resource: Record<string, string>) => {
      const started = await startDevice(service, { client_id: id, scope: 'openid email', ...resource })
      assert.equal((await decide(await signedIn('loses'), started.user_code)).status, 200)
      return started
    }
    const [plain, forApi] = [await approved({}), await approved({ resource: api })]
    await service.admin(`/clients/${id}`, { method: 'PATCH', json: { scopes: ['openid'], audiences: [] } })
    assert.equal((await poll(service, id, plain)).body?.['scope'], 'openid')
    assert.deepEqual(await poll(service, id, forApi), { status: 400, error: 'invalid_target' })
  })

  test('tokens of a device outlive the browser, but not the end of all sessions or a block', async () => {
    const started = await startDevice(service, { client_id: 'cli', scope: 'openid' })
    const browser = await signedIn('outlives')
    const { userId } = (await sessionOf(service, browser))!
    await decide(browser, started.user_code)
    await postForm(service, browser, '/auth/logout', {})
    const { body } = await poll(service, 'cli', started)
    const headers = { authorization: `Bearer ${String(body!['access_token'])}` }
    const isLive = async () => (await service.fetch('/auth/session', { headers })).status === 200
    assert.equal(await isLive(), true)
    assert.ok(body!['refresh_token'], 'without offline_access too')
    const next = await startDevice(service, { client_id: 'cli', scope: 'openid' })
    const again = await signedIn('outlives')
    assert.match(await (await show(again, next.user_code)).text(), /stays signed in after you sign out here/)
    await decide(again, next.user_code)
    await service.admin(`/users/${userId}/sessions`, { method: 'DELETE' })
    assert.equal(await isLive(), false)
    assert.equal(
      (await poll(service, 'cli', next)).error,
      'invalid_grant',
      'approved, and not fetched in time',
    )
  })
})
