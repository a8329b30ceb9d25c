// What an administrator sees of one user, and when a user was last seen.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../src/crypto/ids.ts'
import { each, onEachEngine, fields } from '../harness/index.ts'
import { eventually } from '../receiving/harness.ts'
import { spa, whoAmI } from '../login/harness.ts'
import { Site } from '../login/site.ts'

type Json = Record<string, unknown>
interface Page {
  data: Json[]
  pageInfo: { hasNextPage: boolean; nextCursor: string | null }
}

onEachEngine('one user', (engine) => {
  const site = new Site(engine, {
    env: { ADMIN_IDENTITIES: 'acme:boss' },
    config: { login: { clients: [{ ...spa, name: 'The spa' }] } },
  })
  async function read<T = Json>(path: string): Promise<T> {
    const response = await site.service.admin(path)
    assert.equal(response.status, 200, path)
    return (await response.json()) as T
  }

  test('has counts, and what makes them an admin', async () => {
    const browser = await site.signedIn('ann')
    const { id } = (await whoAmI(site.service, browser))!
    await site.link(browser, 'ann-other')
    await site.appTokens('ann')
    const user = await read(`/users/${id}`)
    assert.deepEqual(user['counts'], { identities: 2, browsers: 1, apps: 1 })
    assert.deepEqual(
      [user['role'], user['adminBy'], user['blockedAt'], user['provider'], user['providerId']],
      ['user', null, null, 'acme', 'ann'],
    )
    const boss = (await whoAmI(site.service, await site.signedIn('boss')))!
    assert.equal((await read(`/users/${boss.id}`))['adminBy'], 'ADMIN_IDENTITIES')
    await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'admin', blocked: true } })
    const after = await read(`/users/${id}`)
    assert.deepEqual([after['role'], after['adminBy']], ['admin', 'role'])
    assert.ok(after['blockedAt'])
    assert.deepEqual(after['counts'], { identities: 2, browsers: 0, apps: 0 })
  })

  test('has identities, apps by name, and devices with the names of apps', async () => {
    const browser = await site.signedIn('bea')
    const { id } = (await whoAmI(site.service, browser))!
    await site.link(browser, 'bea-other')
    await site.appTokens('bea')
    const identities = await read<Page>(`/users/${id}/identities`)
    assert.deepEqual(
      identities.data.map(({ provider, providerId }) => `${String(provider)}:${String(providerId)}`),
      ['acme:bea', 'other:bea-other'],
    )
    const apps = await read<Page>(`/users/${id}/apps`)
    assert.deepEqual(fields(apps.data, 'id', 'name'), [['spa', 'The spa']])
    for (const devices of [
      (await read<Page>(`/users/${id}/sessions`)).data,
      await site.data<Json>(browser, '/auth/sessions'),
    ])
      assert.deepEqual(
        new Set(devices.map(({ kind, app, appName }) => [kind, app, appName].join(' '))),
        new Set(['app spa The spa', 'browser  ']),
      )
  })

  test('has pages of the audit log, of this user only', async () => {
    const { id } = (await whoAmI(site.service, await site.signedIn('cyd')))!
    await site.signedIn('somebody')
    await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
    const first = await read<Page>(`/users/${id}/audit?limit=1`)
    assert.deepEqual(each(first.data, 'action'), ['user.blocked'])
    const rest = await read<Page>(`/users/${id}/audit?cursor=${first.pageInfo.nextCursor!}`)
    const actions = rest.data.map(({ action }) => action)
    assert.deepEqual(new Set(actions), new Set(['user.created', 'user.signed_in']))
    assert.ok(rest.data.every(({ userId }) => userId === id))
    const failed = await read<Page>(`/users/${id}/audit?failed=true`)
    assert.deepEqual(failed.data, [])
    const other = (await whoAmI(site.service, await site.signedIn('somebody')))!
    const foreign = await site.service.admin(`/users/${other.id}/audit?cursor=${first.pageInfo.nextCursor!}`)
    assert.equal(foreign.status, 400, 'a cursor belongs to its user')
  })

  test('unknown users are 404, and other users get 403', async () => {
    const browser = await site.signedIn('dan')
    for (const part of ['', '/identities', '/apps', '/audit', '/sessions'])
      for (const id of [newId(Date.now()), 'x', '%00']) {
        assert.equal((await site.service.admin(`/users/${id}${part}`)).status, 404, `${id}${part}`)
        assert.equal((await site.call(browser, 'GET', `/users/${id}${part}`)).status, 403)
      }
  })

  test('was last seen at the last sign-in or request, to a minute', async () => {
    const before = Date.now()
    const browser = await site.signedIn('eve')
    const { id } = (await whoAmI(site.service, browser))!
    const seen = async (): Promise<number> => Date.parse(String((await read(`/users/${id}`))['lastSeenAt']))
    const first = await seen()
    assert.ok(first >= before && first <= Date.now())
    site.shift = 10 * 60_000
    await whoAmI(site.service, browser)
    await eventually(async () => (await seen()) >= first + 9 * 60_000, 'a request is seen')
    site.shift = 20 * 60_000
    await site.signedIn('eve')
    await eventually(async () => (await seen()) >= first + 19 * 60_000, 'a sign-in is seen')
    site.shift = 30 * 60_000
    const { refresh } = await site.appTokens('eve')
    await eventually(async () => (await seen()) >= first + 29 * 60_000, 'a sign-in of an app is seen')
    site.shift = 40 * 60_000
    const refreshed = await site.service.fetch('/auth/token', {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh }),
    })
    assert.equal(refreshed.status, 200)
    await eventually(async () => (await seen()) >= first + 39 * 60_000, 'a refresh is seen')
  })
})
