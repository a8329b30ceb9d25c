// What an admin sees and ends of a user's sessions, and how many a user may have.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { onEachEngine } from '#test/harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '#test/harness/oauth-provider.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { appCode, exchange, newPkce, signIn, spa, whoAmI } from '../login/harness.ts'

interface Device {
  id: string
  kind: string
  current: boolean
}

onEachEngine('the sessions of a user, for admins', (engine) => {
  let provider: OAuthProvider
  let service: TestService
  before(async () => {
    provider = await startOAuthProvider()
    const env = { ...provider.env('ACME'), ADMIN_IDENTITIES: 'acme:boss', SESSIONS_PER_USER: '3' }
    service = await startTestService(engine, { env, config: { login: { clients: [spa] } } })
  })
  after(async () => {
    await service.close()
    await provider.close()
  })

  async function signedIn(id: string): Promise<Browser> {
    provider.profile = { id, displayName: id }
    const browser = new Browser()
    await signIn(service, browser)
    return browser
  }
  async function tokenOf(id: string): Promise<string> {
    provider.profile = { id, displayName: id }
    const pkce = newPkce()
    const { body } = await exchange(service, {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code: await appCode(service, pkce),
      code_verifier: pkce.verifier,
      redirect_uri: spa.redirectUris[0]!,
    })
    return String(body['access_token'])
  }
  const call = (browser: Browser, method: string, path: string): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), { method, headers: { origin: service.baseUrl } })
  const withToken = async (token: string): Promise<number> =>
    (await service.fetch('/auth/session', { headers: { authorization: `Bearer ${token}` } })).status
  const entries = (userId: string, action: string) =>
    service.database.reader
      .selectFrom('audit_log')
      .select(['actor', 'target', 'detail'])
      .where('user_id', '=', userId)
      .where('action', '=', action)
      .orderBy('id')
      .execute()

  test('an admin lists them and ends one, in the browser or by an API key', async () => {
    const boss = await signedIn('boss')
    const [first, second] = [await signedIn('user'), await signedIn('user')]
    const token = await tokenOf('user')
    const { id } = (await whoAmI(service, first))!
    const path = `/users/${id}/sessions`
    const listed = await service.admin(path)
    assert.equal(listed.headers.get('cache-control'), 'no-store')
    const { data } = (await listed.json()) as { data: Device[] }
    assert.deepEqual(data.map(({ kind }) => kind).toSorted(), ['app', 'browser', 'browser'])
    assert.ok(data.every(({ current }) => !current))
    const app = data.find(({ kind }) => kind === 'app')!
    assert.equal((await call(boss, 'DELETE', `${path}/${app.id}`)).status, 204)
    assert.equal(await withToken(token), 401)
    const newest = data.find(({ kind }) => kind === 'browser')!
    assert.equal((await service.admin(`${path}/${newest.id}`, { method: 'DELETE' })).status, 204)
    assert.equal(await whoAmI(service, second), undefined)
    assert.ok(await whoAmI(service, first))
    const bossId = (await whoAmI(service, boss))!.id
    const [byBoss, byKey] = await entries(id, 'session.revoked')
    assert.deepEqual({ ...byBoss }, { actor: `user:${bossId}`, target: `session:${app.id}`, detail: null })
    assert.match(byKey!.actor!, /^key:/)
    assert.equal(byKey!.target, `session:${newest.id}`)
  })

  test('an admin ends all of them, those of apps and codes that are not exchanged included', async () => {
    const [first, second] = [await signedIn('all'), await signedIn('all')]
    const token = await tokenOf('all')
    const other = await signedIn('all-other')
    const pkce = newPkce()
    provider.profile = { id: 'all', displayName: 'all' }
    const code = await appCode(service, pkce)
    const { id } = (await whoAmI(service, first))!
    assert.equal((await service.admin(`/users/${id}/sessions`, { method: 'DELETE' })).status, 204)
    for (const browser of [first, second]) assert.equal(await whoAmI(service, browser), undefined)
    assert.equal(await withToken(token), 401)
    const late = await exchange(service, {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code,
      code_verifier: pkce.verifier,
      redirect_uri: spa.redirectUris[0]!,
    })
    assert.equal(late.status, 400)
    assert.ok(await whoAmI(service, other))
    assert.ok(await whoAmI(service, await signedIn('all')), 'the user may sign in again')
    const [entry] = await entries(id, 'session.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { all: true, count: 3 })
  })

  test('nobody else may, and what is unknown is not found', async () => {
    const [user, victim] = [await signedIn('nosy'), await signedIn('victim')]
    const { id } = (await whoAmI(service, victim))!
    const mine = (await whoAmI(service, user))!.id
    for (const [method, path] of [
      ['GET', `/users/${id}/sessions`],
      ['DELETE', `/users/${id}/sessions`],
      ['DELETE', `/users/${id}/sessions/${id}`],
      ['GET', `/users/${mine}/sessions`],
    ] as const)
      assert.equal((await call(user, method, path)).status, 403, `${method} ${path}`)
    assert.ok(await whoAmI(service, victim))
    const unknown = '01a206a9-64d9-7000-a19f-fb470e738ca2'
    const { data } = (await (await service.admin(`/users/${mine}/sessions`)).json()) as { data: Device[] }
    for (const [method, path] of [
      ['GET', `/users/${unknown}/sessions`],
      ['DELETE', `/users/${unknown}/sessions`],
      ['GET', '/users/x/sessions'],
      ['DELETE', `/users/${id}/sessions/${data[0]!.id}`],
      ['DELETE', `/users/${id}/sessions/x`],
    ] as const)
      assert.equal((await service.admin(path, { method })).status, 404, `${method} ${path}`)
    assert.ok(await whoAmI(service, user))
  })

  test('a user has as many sessions as the bound says: the least recently used ends', async () => {
    const browsers = [await signedIn('many'), await signedIn('many'), await signedIn('many')]
    // The first one was used last of all.
    const { session } = (await (await call(browsers[0]!, 'GET', '/auth/session')).json()) as {
      session: { id: string }
    }
    await service.database.transaction((tx) =>
      tx
        .updateTable('sessions')
        .set({ last_seen_at: Date.now() + 60_000 })
        .where('id', '=', session.id)
        .execute(),
    )
    browsers.push(await signedIn('many'))
    const alive = await Promise.all(browsers.map(async (browser) => !!(await whoAmI(service, browser))))
    assert.deepEqual(alive, [true, false, true, true])
    const { id } = (await whoAmI(service, browsers[0]!))!
    const [entry] = await entries(id, 'session.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { reason: 'limit', count: 1 })
  })

  test('the same holds for the sign-ins of apps, and they are counted apart', async () => {
    const browser = await signedIn('apps')
    const tokens: string[] = []
    for (let count = 0; count < 4; count += 1) tokens.push(await tokenOf('apps'))
    assert.deepEqual(await Promise.all(tokens.map(withToken)), [401, 200, 200, 200])
    const { id } = (await whoAmI(service, browser))!
    const [entry] = await entries(id, 'tokens.revoked')
    assert.deepEqual(JSON.parse(entry!.detail!), { reason: 'limit', count: 1 })
  })
})
