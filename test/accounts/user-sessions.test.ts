// What an admin sees and ends of a user's sessions, and how many a user may have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, onEachEngine, rowsOf } from '#test/harness/index.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { appCode, exchange, newPkce, spa, whoAmI, codeGrant } from '../login/harness.ts'
import { Site } from '../login/site.ts'

type Device = AnswerTo<'GET /users/{id}/sessions'>['data'][number]

onEachEngine('the sessions of a user, for admins', (engine) => {
  const site = new Site(engine, {
    providers: ['ACME'],
    env: { ADMIN_IDENTITIES: 'acme:boss', SESSIONS_PER_USER: '3' },
    config: { login: { clients: [spa] } },
  })
  const tokenOf = async (id: string): Promise<string> => (await site.appTokens(id)).access

  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, site.service.baseUrl), { method, headers: { origin: site.service.baseUrl } })
  const withToken = async (token: string): Promise<number> =>
    (await site.service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })).status
  const entries = (userId: string, action: string) =>
    rowsOf(site.service, 'audit_log', { user_id: userId, action }, 'id')

  test('an admin lists sessions and revokes one, by session or API key', async () => {
    const boss = await site.signedIn('boss')
    const [first, second] = [await site.signedIn('user'), await site.signedIn('user')]
    const token = await tokenOf('user')
    const { id } = (await whoAmI(site.service, first))!
    const path = `/users/${id}/sessions`
    const listed = await site.service.admin(path)
    assert.equal(listed.headers.get('cache-control'), 'no-store')
    const { data } = (await listed.json()) as { data: Device[] }
    assert.deepEqual(data.map(({ kind }) => kind).toSorted(), ['app', 'browser', 'browser'])
    assert.ok(data.every(({ current }) => !current))
    const app = data.find(({ kind }) => kind === 'app')!
    assert.equal((await call(boss, 'DELETE', `${path}/${app.id}`)).status, 204)
    assert.equal(await withToken(token), 401)
    const newest = data.find(({ kind }) => kind === 'browser')!
    assert.equal((await site.service.admin(`${path}/${newest.id}`, { method: 'DELETE' })).status, 204)
    assert.equal(await whoAmI(site.service, second), undefined)
    assert.ok(await whoAmI(site.service, first))
    const bossId = (await whoAmI(site.service, boss))!.id
    const [byBoss, byKey] = await entries(id, 'session.revoked')
    assert.deepEqual(
      [byBoss?.actor, byBoss?.target, byBoss?.detail],
      [`user:${bossId}`, `session:${app.id}`, null],
    )
    assert.match(byKey!.actor!, /^key:/)
    assert.equal(byKey!.target, `session:${newest.id}`)
  })

  test('an admin revokes all sessions, including those of apps and unused codes', async () => {
    const [first, second] = [await site.signedIn('all'), await site.signedIn('all')]
    const token = await tokenOf('all')
    const other = await site.signedIn('all-other')
    const pkce = newPkce()
    site.become('all')
    const code = await appCode(site.service, pkce)
    const { id } = (await whoAmI(site.service, first))!
    assert.equal((await site.service.admin(`/users/${id}/sessions`, { method: 'DELETE' })).status, 204)
    for (const browser of [first, second]) assert.equal(await whoAmI(site.service, browser), undefined)
    assert.equal(await withToken(token), 401)
    const late = await exchange(site.service, codeGrant(code, pkce))
    assert.equal(late.status, 400)
    assert.ok(await whoAmI(site.service, other))
    assert.ok(await whoAmI(site.service, await site.signedIn('all')), 'the user may sign in again')
    const [entry] = await entries(id, 'session.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { all: true, count: 3 })
  })

  test('others are refused, and unknown sessions are 404', async () => {
    const [user, victim] = [await site.signedIn('nosy'), await site.signedIn('victim')]
    const { id } = (await whoAmI(site.service, victim))!
    const mine = (await whoAmI(site.service, user))!.id
    for (const [method, path] of [
      ['GET', `/users/${id}/sessions`],
      ['DELETE', `/users/${id}/sessions`],
      ['DELETE', `/users/${id}/sessions/${id}`],
      ['GET', `/users/${mine}/sessions`],
    ] as const)
      assert.equal((await call(user, method, path)).status, 403, `${method} ${path}`)
    assert.ok(await whoAmI(site.service, victim))
    const unknown = '01a206a9-64d9-7000-a19f-fb470e738ca2'
    const { data } = (await (
      await site.service.admin(`/users/${mine}/sessions`)
    ).json()) as AnswerTo<'GET /users/{id}/sessions'>
    for (const [method, path] of [
      ['GET', `/users/${unknown}/sessions`],
      ['DELETE', `/users/${unknown}/sessions`],
      ['GET', '/users/x/sessions'],
      ['DELETE', `/users/${id}/sessions/${data[0]!.id}`],
      ['DELETE', `/users/${id}/sessions/x`],
    ] as const)
      assert.equal((await site.service.admin(path, { method })).status, 404, `${method} ${path}`)
    assert.ok(await whoAmI(site.service, user))
  })

  test('the least recently used session beyond the limit is revoked', async () => {
    const browsers = [await site.signedIn('many'), await site.signedIn('many'), await site.signedIn('many')]
    // The first one was used last of all.
    const { session } = (await (
      await call(browsers[0]!, 'GET', '/auth/session')
    ).json()) as AnswerTo<'GET /auth/session'>
    await site.service.database.transaction((tx) =>
      tx
        .updateTable('sessions')
        .set({ last_seen_at: Date.now() + 60_000 })
        .where('id', '=', session.id)
        .execute(),
    )
    browsers.push(await site.signedIn('many'))
    const alive = await Promise.all(browsers.map(async (browser) => !!(await whoAmI(site.service, browser))))
    assert.deepEqual(alive, [true, false, true, true])
    const { id } = (await whoAmI(site.service, browsers[0]!))!
    const [entry] = await entries(id, 'session.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { reason: 'limit', count: 1 })
  })

  test('sign-ins of apps have the same limit and are counted separately', async () => {
    const browser = await site.signedIn('apps')
    const tokens: string[] = []
    for (let count = 0; count < 4; count += 1) tokens.push(await tokenOf('apps'))
    assert.deepEqual(await Promise.all(tokens.map(withToken)), [401, 200, 200, 200])
    const { id } = (await whoAmI(site.service, browser))!
    const [entry] = await entries(id, 'tokens.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { reason: 'limit', count: 1 })
  })
})
