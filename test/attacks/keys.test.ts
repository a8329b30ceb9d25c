// Group 25: what a stolen key with few rights is worth. Which key reaches which route at all is test/http/scopes.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onOneEngine, started, startedService } from '#test/harness/index.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import { ApiKeys } from '../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Scope } from '../../src/http/access/principal.ts'
import { accountsOf, whoAmI } from '../login/harness.ts'
import { postWebhook } from '../receiving/harness.ts'
import { signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'
import { dataOf } from '../emitting/harness.ts'

onOneEngine('keys with few rights', (engine) => {
  const provider = started(() => startHonestProvider({ openid: true }))
  const service = startedService(engine, () => ({ env: provider.env('ACME') }))

  const newKey = (...scopes: Scope[]) =>
    new ApiKeys(service.database, systemClock, createRecordAudit(systemClock)).create(
      { name: 'stolen', scopes },
      {},
    )
  async function keyWith(...scopes: Scope[]) {
    const { key } = await newKey(...scopes)
    return (path: string, method = 'GET', json?: unknown) =>
      service.fetch(path, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      })
  }

  test('a key with events:write cannot change roles, read logs, register subscribers or read events', async () => {
    await signInAs(service, new Browser(), provider, 'accomplice')
    const call = await keyWith('events:write')
    const before = await accountsOf(service)
    const [{ id }] = (await service.database.reader.selectFrom('users').select('id').execute()) as [
      { id: string },
    ]
    assert.equal((await call('/events', 'POST', { type: 'order.paid', data: {} })).status, 202)
    for (const [method, path, json] of [
      ['PATCH', `/users/${id}`, { role: 'admin' }],
      ['PATCH', `/users/${id}`, { blocked: true }],
      ['GET', '/audit'],
      ['POST', '/subscribers', { url: 'https://attacker.example.com/' }],
      ['POST', '/portal-links', { owner: 'acme' }],
      ['GET', '/subscribers'],
      ['GET', '/rejected-webhooks'],
      ['POST', '/events/reprocess', {}],
      ['POST', '/products', { id: 'x', category: 'x', name: 'x', price: 1, stock: 1 }],
    ] as const) {
      const response = await call(path, method, json)
      assert.equal(response.status, 403, `${method} ${path}`)
      assert.equal(((await response.json()) as { code: string }).code, 'insufficient-scope')
    }
    assert.deepEqual(await accountsOf(service), before)
  })

  test('no other spelling of a path or method bypasses the scope', async () => {
    const { key } = await newKey('events:write')
    const status = async (path: string, method = 'GET', more: Record<string, string> = {}) => {
      const headers = { authorization: `Bearer ${key}`, ...more }
      return (await plainRequest(service.baseUrl, path, { method, headers })).status
    }
    for (const path of ['/audit', '/audit?', '/audit?scope=admin', '/%61udit'])
      assert.equal(await status(path), 403, path)
    for (const path of ['/audit/', '//audit', '/./audit', '/x/../audit', '/AUDIT', '/audit;x', '/audit%2f'])
      assert.ok([400, 403, 404].includes(await status(path)), path)
    assert.equal(await status('/audit', 'HEAD'), 403)
    for (const name of ['x-http-method-override', 'x-method-override', 'x-original-url', 'x-scope'])
      assert.equal(await status('/audit', 'GET', { [name]: 'admin' }), 403, name)
  })

  test('a read scope does not allow writing, and a write scope does not allow reading', async () => {
    const reader = await keyWith('subscribers:read')
    const writer = await keyWith('subscribers:write')
    assert.equal((await reader('/subscribers')).status, 200)
    assert.equal((await reader('/subscribers', 'POST', { url: 'https://a.example.com/' })).status, 403)
    assert.equal((await writer('/subscribers')).status, 403)
  })

  test('a job needs the scope of the rows that it processes', async () => {
    const { id: subscriberId } = (await (
      await service.admin('/subscribers', { method: 'POST', json: { url: 'http://127.0.0.1:9/' } })
    ).json()) as { id: string }
    for (const [begun, own, other] of [
      [`/subscribers/${subscriberId}/replay`, 'subscribers', 'webhooks'],
      ['/events/reprocess', 'webhooks', 'subscribers'],
    ] as const) {
      const started = await service.admin(begun, { method: 'POST', json: {} })
      assert.equal(started.status, 202)
      const { id } = (await started.json()) as { id: string }
      // With nothing to do it would be done, and nothing would be left to cancel.
      await service.database.transaction((tx) =>
        tx
          .updateTable('jobs')
          .set({ status: 'running', due_at: Date.now() + 3_600_000 })
          .where('id', '=', id)
          .execute(),
      )
      const path = `/jobs/${id}`
      for (const scope of [`${other}:read`, `${other}:write`, `${own}:write`] as const)
        assert.equal((await (await keyWith(scope))(path)).status, 403, `${begun} read with ${scope}`)
      for (const scope of [`${other}:read`, `${other}:write`, `${own}:read`] as const)
        assert.equal((await (await keyWith(scope))(path, 'DELETE')).status, 403, `${begun} with ${scope}`)
      const response = await (await keyWith(`${own}:read`))(path)
      assert.equal(((await response.json()) as { status: string }).status, 'running')
      const ended = await (await keyWith(`${own}:write`))(path, 'DELETE')
      assert.equal(((await ended.json()) as { status: string }).status, 'cancelled')
    }
  })

  test('a key with users:write makes nobody an administrator', async () => {
    const browser = new Browser()
    await signInAs(service, browser, provider, 'promoted')
    const { id } = (await whoAmI(service, browser))!
    const path = `/users/${id}`
    const call = await keyWith('users:read', 'users:write')
    const refused = async (change: object): Promise<void> => {
      const answer = await call(path, 'PATCH', change)
      assert.equal(answer.status, 403, JSON.stringify(change))
      assert.equal(((await answer.json()) as { code: string }).code, 'insufficient-scope')
    }
    const changed = async (
      caller: (change: object) => Promise<Response>,
      change: object,
    ): Promise<[role: string, isBlocked: boolean]> => {
      const answer = await caller(change)
      const account = (await answer.json()) as { role: string; blockedAt: string | null }
      assert.equal(answer.status, 200, JSON.stringify(account))
      return [account.role, account.blockedAt !== null]
    }
    const key = (change: object): Promise<Response> => call(path, 'PATCH', change)
    const boss = (change: object): Promise<Response> => service.admin(path, { method: 'PATCH', json: change })
    await refused({ role: 'admin' })
    // Else the person who lifts the block later makes an administrator without knowing it.
    await refused({ role: 'admin', blocked: true })
    assert.deepEqual(await changed(key, { blocked: true }), ['user', true])
    await refused({ role: 'admin' })
    await refused({ role: 'admin', blocked: false })
    assert.deepEqual(await changed(key, { blocked: false }), ['user', false])
    // Nor does it let an administrator in again whom somebody has blocked.
    assert.deepEqual(await changed(boss, { role: 'admin', blocked: true }), ['admin', true])
    await refused({ blocked: false })
    // It only takes rights away.
    assert.deepEqual(await changed(key, { role: 'user', blocked: false }), ['user', false])
  })

  test('a key with webhooks:write forges no webhook and reads no data', async () => {
    const body = JSON.stringify({ id: 'evt_read', type: 'order.paid', customer: 'ada' })
    assert.equal((await postWebhook(service, body)).status, 200)
    const data = await dataOf<{ id: number }>(service, '/events?order=desc&limit=1')
    const [{ id }] = data as [{ id: number }]
    const writer = await keyWith('webhooks:read', 'webhooks:write')
    for (const [path, json] of [
      ['/sources/provider/sample', { type: 'order.paid', data: { total: 1 } }],
      ['/sources/provider/sample', {}],
      [`/events/${id}/dry-run`, {}],
      [`/events/${id}/reprocess`, { dryRun: true }],
    ] as const) {
      const answer = await writer(path, 'POST', json)
      assert.equal(answer.status, 403, path)
      assert.equal(((await answer.json()) as { code: string }).code, 'insufficient-scope')
    }
    const reader = await keyWith('events:read', 'webhooks:write')
    assert.equal((await reader(`/events/${id}/dry-run`, 'POST', {})).status, 200)
  })

  test('a webhook needs no key, and no key replaces its signature', async () => {
    const call = await keyWith('admin')
    const response = await call('/webhooks/provider', 'POST', { id: 'evt_1', type: 'order.paid' })
    assert.equal(response.status, 401)
  })

  test('unknown scopes give no rights', async () => {
    const call = await keyWith('events:read')
    await service.database.transaction((tx) =>
      tx.updateTable('api_keys').set({ scopes: 'everything * admin:x ADMIN toString' }).execute(),
    )
    for (const path of ['/audit', '/subscribers', '/events/failed'])
      assert.equal((await call(path)).status, 403, path)
  })
})
