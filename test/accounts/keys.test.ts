// /keys: what an administrator makes, sees and revokes by HTTP.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onEachEngine, rowsOf, started, startOAuthProvider } from '#test/harness/index.ts'
import { startTestService } from '#test/harness/service.ts'
import type { AnswerTo } from '#test/harness/answers.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { appTokens, signIn, spa, whoAmI } from '../login/harness.ts'

type Key = AnswerTo<'GET /keys'>['data'][number]

onEachEngine('API keys by HTTP', (engine) => {
  /** Milliseconds by which the service's clock is ahead. */
  let ahead = 0
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const provider = started(startOAuthProvider)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), ADMIN_IDENTITIES: 'acme:boss', RECENT_SIGN_IN: '600' }
    const config = { login: { clients: [{ ...spa, admin: true }] } }
    return startTestService(engine, { env, config, parts: { clock } })
  })

  const signedIn = async (id: string): Promise<Browser> => {
    const browser = new Browser()
    provider.profile = { id, displayName: `The ${id}` }
    await signIn(service, browser)
    return browser
  }
  const create = (browser: Browser, body: object, path = '/keys', method = 'POST'): Promise<Response> =>
    browser.go(new URL(path, service.baseUrl), {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const statusOf = async (key: string, path: string, init: RequestInit = {}): Promise<number> =>
    (await service.fetch(path, { ...init, headers: { authorization: `Bearer ${key}` } })).status
  const list = async (query = ''): Promise<{ data: Key[]; pageInfo: { nextCursor: string | null } }> => {
    const answer = await service.admin(`/keys${query}`)
    assert.equal(answer.status, 200)
    return (await answer.json()) as { data: Key[]; pageInfo: { nextCursor: string | null } }
  }

  test('an administrator creates one, which is shown once, works, is listed with its creator and revoked', async () => {
    const boss = await signedIn('boss')
    const { id: userId } = (await whoAmI(service, boss))!
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const made = await create(boss, {
      name: ' shop ',
      scopes: ['events:write', 'subscribers:read'],
      expiresAt,
    })
    assert.equal(made.status, 201)
    const { key, ...shown } = (await made.json()) as Key & { key: string }
    assert.match(key, /^pk_/)
    assert.equal(await statusOf(key, '/subscribers'), 200)
    assert.equal(await statusOf(key, '/keys'), 403)
    const listed = (await list()).data.find(({ id }) => id === shown.id)!
    assert.deepEqual({ ...listed, lastUsedAt: null }, shown)
    assert.deepEqual(
      [listed.name, listed.scopes, listed.createdBy, listed.createdByName, listed.expiresAt],
      ['shop', ['events:write', 'subscribers:read'], `user:${userId}`, 'The boss', expiresAt],
    )
    assert.ok(!JSON.stringify(listed).includes(key))
    const revoke = (): Promise<Response> => service.admin(`/keys/${shown.id}`, { method: 'DELETE' })
    assert.equal((await revoke()).status, 204)
    assert.equal(await statusOf(key, '/subscribers'), 401)
    assert.notEqual((await list()).data.find(({ id }) => id === shown.id)!.revokedAt, null)
    assert.equal((await revoke()).status, 404)
  })

  test('a session whose sign-in is not recent creates none and no app, and the audit log says so', async () => {
    const boss = await signedIn('boss')
    const app = { name: 'app', redirectUris: ['https://app.example/callback'] }
    const created = await create(boss, app, '/clients')
    assert.equal(created.status, 201)
    const path = `/clients/${((await created.json()) as { id: string }).id}`
    const { id } = (await whoAmI(service, boss))!
    ahead += 601_000
    const refused = await create(boss, { name: 'late', scopes: ['admin'] })
    assert.equal(refused.status, 403)
    const { code, detail } = (await refused.json()) as { code: string; detail: string }
    assert.equal(code, 'reauthentication-needed')
    assert.match(detail, /\/auth\/acme\?reauthenticate=true/)
    assert.ok((await list()).data.every(({ name }) => name !== 'late'))
    const entry = (await rowsOf(service, 'audit_log', { action: 'key.create_failed' }))[0]
    assert.deepEqual([entry?.user_id, entry?.code], [id, 'reauthentication-needed'])
    for (const [call, body, method] of [
      ['/clients', app],
      [`${path}/secrets`, {}],
      [path, { jwks: { keys: [{}] } }, 'PATCH'],
    ] as const)
      assert.equal(((await (await create(boss, body, call, method)).json()) as { code: string }).code, code)
    const ofApps = await rowsOf(service, 'audit_log', { action: 'client.create_failed' })
    assert.deepEqual(
      ofApps.map((one) => one.code),
      [code, code, code],
    )
    assert.equal((await boss.go(new URL('/keys', service.baseUrl))).status, 200, 'reading needs none')
  })

  test('an access token creates no key, even beside a cookie of a recent sign-in', async () => {
    const [boss, user] = [await signedIn('boss'), await signedIn('user')]
    provider.profile = { id: 'boss' }
    const token = String((await appTokens(service))['access_token'])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    assert.equal((await service.fetch('/keys', { headers })).status, 200)
    for (const browser of [user, boss, new Browser()]) {
      const body = JSON.stringify({ name: 'stolen', scopes: ['admin'] })
      const answer = await browser.go(new URL('/keys', service.baseUrl), { method: 'POST', headers, body })
      assert.equal(answer.status, 403)
      const { code, detail } = (await answer.json()) as { code: string; detail: string }
      assert.equal(code, 'forbidden')
      assert.match(detail, /browser session/)
    }
    const entry = (await rowsOf(service, 'audit_log', { action: 'key.create_failed' }, 'id')).at(-1)
    assert.deepEqual([entry?.user_id, entry?.code], [(await whoAmI(service, boss))!.id, 'forbidden'])
    assert.ok((await list()).data.every(({ name }) => name !== 'stolen'))
  })

  test('others are refused: users, keys without the scope, unknown scopes, times that have passed', async () => {
    const user = await signedIn('user')
    assert.equal((await create(user, { name: 'mine', scopes: ['operate'] })).status, 403)
    assert.equal((await user.go(new URL('/keys', service.baseUrl))).status, 403)
    const narrow = (await (
      await service.admin('/keys', { method: 'POST', json: { name: 'narrow', scopes: ['users:write'] } })
    ).json()) as { id: string; key: string; createdBy: string; createdByName: string }
    assert.deepEqual([narrow.createdBy, narrow.createdByName], ['key:ADMIN_API_KEY', 'ADMIN_API_KEY'])
    assert.equal(await statusOf(narrow.key, '/keys', { method: 'POST' }), 403)
    assert.equal(await statusOf(narrow.key, `/keys/${narrow.id}`, { method: 'DELETE' }), 403)
    for (const body of [
      { name: 'x', scopes: [] },
      { name: 'x', scopes: ['everything'] },
      { name: '  ', scopes: ['operate'] },
      { name: 'x', scopes: ['operate'], expiresAt: '2020-01-01T00:00:00.000Z' },
      { name: 'x', scopes: ['operate'], id: 'mine' },
    ])
      assert.equal((await service.admin('/keys', { method: 'POST', json: body })).status, 400)
  })

  test('pages: each key once, newest first', async () => {
    for (const name of ['a', 'b', 'c'])
      await service.admin('/keys', { method: 'POST', json: { name, scopes: ['operate'] } })
    const all = (await list('?limit=100')).data.map(({ id }) => id)
    assert.deepEqual(all, all.toSorted().toReversed())
    const walked: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await list(`?limit=2${cursor && `&cursor=${cursor}`}`)
      walked.push(...page.data.map(({ id }) => id))
      cursor = page.pageInfo.nextCursor
    }
    assert.deepEqual(walked, all)
  })
})
