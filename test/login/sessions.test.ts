import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { eventually } from '../receiving/harness.ts'
import { appCode, codeGrant, exchange, newPkce, signIn, spa, whoAmI } from './harness.ts'
import { Site } from './site.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

type Device = AnswerTo<'GET /auth/sessions'>['data'][number]

onEachEngine('sessions', (engine) => {
  const site = new Site(engine, {
    providers: ['ACME'],
    env: { SESSION_IDLE: '3600', SESSION_LIFETIME: '7200' },
    config: { login: { clients: [spa] } },
  })

  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, site.service.baseUrl), { method, headers: { 'user-agent': firefox } })
  const devicesOf = async (browser: Browser): Promise<Device[]> =>
    ((await (await call(browser, 'GET', '/auth/sessions')).json()) as { data: Device[] }).data
  const withToken = async (token: string): Promise<number> =>
    (await site.service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })).status
  const refreshes = async (refresh: string): Promise<number> =>
    (await exchange(site.service, { grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh }))
      .status
  const idOf = async (browser: Browser): Promise<string> => (await whoAmI(site.service, browser))!.id

  test('browsers and apps are in one list with readable names, and the current one first', async () => {
    site.become('list')
    const browser = new Browser()
    const { next } = await browser.follow(
      new URL('/auth/acme', site.service.baseUrl),
      (url) => url.origin !== site.service.baseUrl,
    )
    await browser.go(next!, { headers: { 'user-agent': firefox } })
    await site.signedIn('list')
    await site.appTokens('list')
    const devices = await devicesOf(browser)
    assert.deepEqual(devices.map(({ kind }) => kind).toSorted(), ['app', 'browser', 'browser'])
    assert.equal(devices[0]!.current, true)
    assert.equal(devices[0]!.device, 'Firefox on Linux')
    assert.match(devices[0]!.address!, /^127\.0\.0\.1$/)
    assert.equal(devices.find(({ kind }) => kind === 'app')!.app, 'spa')
    assert.equal(devices.filter(({ current }) => current).length, 1)
  })

  test('revoking an app in the list revokes its access and refresh tokens', async () => {
    const browser = await site.signedIn('end-app')
    const { access, refresh } = await site.appTokens('end-app')
    const app = (await devicesOf(browser)).find(({ kind }) => kind === 'app')!
    const stranger = await site.signedIn('end-app-stranger')
    assert.equal((await call(stranger, 'DELETE', `/auth/sessions/${app.id}`)).status, 404)
    assert.equal(await withToken(access), 200)
    assert.equal((await call(browser, 'DELETE', `/auth/sessions/${app.id}`)).status, 204)
    assert.equal(await withToken(access), 401)
    assert.equal(await refreshes(refresh), 400)
    assert.equal((await devicesOf(browser)).length, 1)
  })

  test("revoking all others keeps the caller's session and other users", async () => {
    const [mine, other, stranger] = [
      await site.signedIn('all'),
      await site.signedIn('all'),
      await site.signedIn('all-stranger'),
    ]
    const { access, refresh } = await site.appTokens('all')
    assert.equal((await call(mine, 'DELETE', '/auth/sessions')).status, 204)
    assert.equal(await whoAmI(site.service, other), undefined)
    assert.equal(await withToken(access), 401)
    assert.equal(await refreshes(refresh), 400)
    assert.equal((await devicesOf(mine)).length, 1)
    assert.ok(await whoAmI(site.service, stranger))
  })

  test('last seen is written at most once a minute', async () => {
    const browser = await site.signedIn('seen')
    const id = (await devicesOf(browser))[0]!.id
    const lastSeen = async (): Promise<number> => {
      const row = (await rowsOf(site.service, 'sessions', { id }))[0]!
      return row.last_seen_at
    }
    const first = await lastSeen()
    site.shift = first + 20_000 - Date.now()
    await Promise.all([1, 2, 3].map(() => whoAmI(site.service, browser)))
    // A write of anything else shows that one of these would have been seen.
    await site.signedIn('seen-other')
    assert.equal(await lastSeen(), first)
    site.shift = first + 61_000 - Date.now()
    await whoAmI(site.service, browser)
    const second = await eventually(async () => {
      const seen = await lastSeen()
      return seen === first ? undefined : seen
    }, 'a later request is seen')
    assert.ok(second >= first + 60_000)
    await Promise.all([1, 2, 3].map(() => whoAmI(site.service, browser)))
    await site.signedIn('seen-other')
    assert.equal(await lastSeen(), second)
  })

  test('blocking revokes sessions, tokens and unused codes at once, and unblocking restores none', async () => {
    const browser = await site.signedIn('blocked')
    const { access, refresh } = await site.appTokens('blocked')
    const pkce = newPkce()
    const code = await appCode(site.service, pkce)
    const id = await idOf(browser)
    const blocked = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
    assert.equal(blocked.status, 200)
    assert.ok(((await blocked.json()) as { blockedAt: string }).blockedAt)
    assert.equal(await whoAmI(site.service, browser), undefined)
    assert.equal(await withToken(access), 401)
    assert.equal(await refreshes(refresh), 400)
    assert.match(await signIn(site.service, new Browser()), /\/login\?error=account-blocked/)
    const answer = await signIn(
      site.service,
      new Browser(),
      `/auth/acme?client_id=spa&redirect_uri=${spa.redirectUris[0]!}&code_challenge=${pkce.challenge}&code_challenge_method=S256`,
    )
    assert.equal(new URL(answer).searchParams.get('error'), 'access_denied')

    const again = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: false } })
    assert.equal(((await again.json()) as { blockedAt: null }).blockedAt, null)
    assert.equal(await whoAmI(site.service, browser), undefined)
    assert.equal(await withToken(access), 401)
    const unused = await exchange(site.service, codeGrant(code, pkce))
    assert.equal(unused.body['error'], 'invalid_grant')
    assert.ok(await whoAmI(site.service, await site.signedIn('blocked')))
  })

  test('a change of role revokes sessions and tokens, and applies at the next sign-in', async () => {
    const browser = await site.signedIn('role')
    const { access } = await site.appTokens('role')
    const id = await idOf(browser)
    const same = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'user' } })
    assert.equal(same.status, 200)
    assert.ok(await whoAmI(site.service, browser), 'what does not change ends nothing')
    const changed = await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'admin' } })
    assert.equal(((await changed.json()) as { role: string }).role, 'admin')
    assert.equal(await whoAmI(site.service, browser), undefined)
    assert.equal(await withToken(access), 401)
    const admin = await site.signedIn('role')
    assert.equal((await whoAmI(site.service, admin))!.role, 'admin')
    const audit = await rowsOf(site.service, 'audit_log', { user_id: id, action: 'user.role_changed' })
    assert.deepEqual(
      audit.map(({ actor, detail }) => [actor, detail]),
      [['key:ADMIN_API_KEY', '{"from":"user","to":"admin"}']],
    )
  })

  test('only admins change accounts, but not their own', async () => {
    const plain = await site.signedIn('plain')
    const admin = await site.signedIn('role')
    const patch = (browser: Browser, id: string, body: unknown): Promise<Response> =>
      browser.go(new URL(`/users/${id}`, site.service.baseUrl), {
        method: 'PATCH',
        headers: { 'content-type': 'application/json', origin: site.service.baseUrl },
        body: JSON.stringify(body),
      })
    const [plainId, adminId] = [await idOf(plain), await idOf(admin)]
    assert.equal((await patch(plain, plainId, { role: 'admin' })).status, 403)
    assert.equal((await patch(admin, adminId, { role: 'user' })).status, 409)
    assert.equal((await patch(admin, adminId, { blocked: true })).status, 409)
    for (const body of [{}, { blocked: 'yes' }, { role: 'root' }, { id: 'x' }])
      assert.equal((await patch(admin, plainId, body)).status, 400, JSON.stringify(body))
    assert.equal((await patch(admin, '00000000-0000-7000-8000-000000000000', { blocked: true })).status, 404)
    assert.equal((await patch(admin, 'nobody', { blocked: true })).status, 404)
    assert.equal((await patch(admin, plainId, { blocked: true })).status, 200)
    assert.equal(await whoAmI(site.service, plain), undefined)
  })
})
