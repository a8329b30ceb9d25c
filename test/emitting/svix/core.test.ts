import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import { ApiKeys } from '../../../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../../../src/accounts/audit/audit.ts'
import { Keyring } from '../../../src/crypto/keyring.ts'
import { endpointId } from '../../../src/emitting/svix/ids.ts'
import { answerOnce } from '../../../src/emitting/svix/idempotency.ts'
import { type Clock, systemClock } from '../../../src/runtime/clock.ts'
import { onEachEngine, started, startReceiver, each } from '../../harness/index.ts'
import { emit, settled, startEmitting, subscribe, until } from '../harness.ts'

interface Answer {
  status: number
  // The tests compare what they read of it.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

onEachEngine("the core of Svix's API", (engine) => {
  const service = started(() => startEmitting(engine))
  let key: string
  before(async () => {
    const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    key = (await keys.create({ name: 'svix', scopes: ['svix'] }, {})).key
  })

  async function call(
    method: string,
    path: string,
    json?: unknown,
    { token = key, ...headers }: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await service.fetch(`/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const locations = ({ status, body }: Answer): unknown => {
    assert.equal(status, 422)
    return body.detail.map(({ loc }: { loc: string[] }) => loc)
  }
  const notFound = { status: 404, body: { code: 'not_found', detail: 'Entity not found' } }
  const forbidden = {
    code: 'insufficient access',
    detail: 'Insufficient access for the given operation.',
  }

  test('answers errors in the form that the libraries read', async () => {
    assert.deepEqual(await call('GET', '/app/nobody/endpoint'), notFound)
    assert.deepEqual(await call('GET', '/nothing/here'), notFound)
    for (const [method, path] of [
      ['GET', '/stream/'],
      ['POST', '/app/a/msg/expunge-all-contents'],
      ['GET', '/app/a/events'],
    ] as const) {
      const { status, body } = await call(method, path)
      assert.deepEqual([status, body.code], [404, 'not_implemented'], path)
    }
    assert.deepEqual(locations(await call('GET', '/app?limit=251')), [['query', 'limit', 'limit']])
    assert.equal((await call('GET', '/app?order=sideways')).status, 400)
    assert.deepEqual(locations(await call('POST', '/app', { name: '', uid: 'a b' })), [
      ['body', 'name'],
      ['body', 'uid', '__all__'],
    ])
    assert.deepEqual(locations(await call('POST', '/app', {})), [['body', '', '']])
    const anonymous = await call('GET', '/app', undefined, { token: 'unknown' })
    assert.deepEqual(anonymous, {
      status: 401,
      body: { code: 'authentication_failed', detail: 'Invalid token' },
    })
    assert.equal((await service.fetch('/api/v1/health/ping')).status, 204)
    assert.equal((await service.fetch('/api/v1/health/')).status, 200)
    assert.equal((await service.fetch('/api/v1/openapi.json')).status, 200)
  })

  test('a key needs the scope', async () => {
    const keys = new ApiKeys(service.database, systemClock, createRecordAudit(systemClock))
    const other = await keys.create({ name: 'other', scopes: ['subscribers:write', 'events:write'] }, {})
    for (const path of ['/app', '/app/x/endpoint', '/stream'])
      assert.equal((await call('GET', path, undefined, { token: other.key })).status, 403)
    const portal = await service.fetch('/subscribers', { headers: { authorization: `Bearer ${key}` } })
    assert.equal(portal.status, 403)
  })

  test('applications are customers, and customers are applications', async () => {
    const metadata = { plan: 'pro' }
    const uid = 'at-once'
    const twice = [1, 2, 3].map(() => call('POST', '/app?get_if_exists=true', { name: 'Once', uid }))
    const statuses = (await Promise.all(twice)).map(({ status }) => String(status))
    assert.deepEqual(statuses.toSorted(), ['200', '200', '201'])
    const made = await call('POST', '/app', { name: 'Acme', uid: 'acme', throttleRate: 5, metadata })
    assert.equal(made.status, 201)
    const { id, createdAt, updatedAt, ...rest } = made.body
    assert.deepEqual(rest, { uid: 'acme', name: 'Acme', rateLimit: 5, throttleRate: 5, metadata })
    assert.ok(createdAt && updatedAt)
    const owner = (await (await service.admin('/owners/acme')).json()) as Record<string, unknown>
    assert.deepEqual([owner['name'], owner['uid'], owner['metadata']], ['Acme', 'acme', metadata])
    for (const name of [id, 'acme']) assert.deepEqual((await call('GET', `/app/${name}`)).body, made.body)
    const again = { name: 'Other', uid: 'acme' }
    assert.equal((await call('POST', '/app', again)).status, 409)
    assert.deepEqual(await call('POST', '/app?get_if_exists=true', again), { status: 200, body: made.body })

    const renamed = await call('PATCH', '/app/acme', { name: 'ACME', rateLimit: null })
    assert.deepEqual(
      [renamed.body.name, renamed.body.throttleRate, renamed.body.metadata],
      ['ACME', null, metadata],
    )
    const replaced = await call('PUT', `/app/${id}`, { name: 'Acme' })
    assert.deepEqual([replaced.status, replaced.body.uid, replaced.body.metadata], [200, undefined, {}])
    assert.deepEqual(await call('GET', '/app/acme'), notFound)
    assert.equal((await call('PUT', '/app/of-nobody', { name: 'New' })).status, 201)

    const without = await call('POST', '/app', { name: 'No uid', metadata: null })
    assert.match(without.body.id, /^app_[0-9A-Za-z]{27}$/)
    assert.equal((await call('DELETE', `/app/${without.body.id}/`)).status, 204)
    assert.deepEqual(await call('GET', `/app/${without.body.id}`), notFound)
    assert.deepEqual(locations(await call('POST', '/app', { name: 'x', uid: 'app_x' })), [
      ['body', 'uid', '__all__'],
    ])
  })

  test('a list goes on behind an application that was deleted meanwhile, and back', async () => {
    for (const uid of ['l1', 'l2', 'l3', 'l4']) await call('POST', '/app', { name: uid, uid })
    const page = async (query: string): Promise<Answer['body']> =>
      (await call('GET', `/app?order=descending&limit=2${query}`)).body
    const names = ({ data }: Answer['body']): string[] => data.map(({ name }: { name: string }) => name)
    const first = await page('')
    assert.deepEqual([names(first), first.done], [['l4', 'l3'], false])
    await call('DELETE', '/app/l3')
    const second = await page(`&iterator=${first.iterator}`)
    assert.deepEqual(names(second), ['l2', 'l1'])
    assert.deepEqual(names(await page(`&iterator=${second.prevIterator}`)), ['l4'])
    assert.equal((await call('GET', '/app?iterator=nothing')).status, 422)
  })

  test('a repeated Idempotency-Key gets the first answer', async () => {
    const json = { name: 'Once' }
    const keyed = { 'idempotency-key': 'auto_1' }
    const answers = await Promise.all([1, 2, 3].map(() => call('POST', '/app', json, keyed)))
    assert.deepEqual(answers[1], answers[0])
    assert.deepEqual(answers[2], answers[0])
    const other = await call('POST', '/app', json, { 'idempotency-key': 'auto_2' })
    assert.notEqual(other.body.id, answers[0]!.body.id)
    const failing = { 'idempotency-key': 'auto_3' }
    assert.equal((await call('POST', '/app', { name: '' }, failing)).status, 422)
    assert.equal((await call('POST', '/app', json, failing)).status, 201)
    const admin = await service.admin('/api/v1/app', { method: 'POST', json, headers: keyed })
    assert.notEqual(((await admin.json()) as { id: string }).id, answers[0]!.body.id)
  })

  test('a request that was lost is repeated, and its key is valid for twelve hours', async () => {
    let now = 1_000_000_000_000
    const clock: Clock = {
      now: () => now,
      after(ms, callback) {
        now += ms
        setImmediate(callback)
        return () => {}
      },
    }
    const { database } = service
    const keyring = new Keyring(['test-master-secret-of-32-bytes-or-more'])
    const parts = { database, keyring, clock }
    const hash = createHash('sha256').update('lost').digest()
    const row = { key_hash: hash, status: null, body: null, created_at: now }
    await database.transaction((tx) => tx.insertInto('idempotent_responses').values(row).execute())
    let calls = 0
    const ask = () => answerOnce(parts, hash, async () => ({ status: 201, text: `{"call":${(calls += 1)}}` }))
    assert.deepEqual(await ask(), { status: 201, text: '{"call":1}' })
    assert.ok(now >= row.created_at + 5_000, 'a request in progress is waited for')
    now += 11 * 3_600_000
    assert.deepEqual(await ask(), { status: 201, text: '{"call":1}' })
    const stored = await database.reader
      .selectFrom('idempotent_responses')
      .select('body')
      .where('key_hash', '=', hash)
      .executeTakeFirstOrThrow()
    assert.ok(!Buffer.from(stored.body!).includes('call'), 'it is sealed')
    now += 3_600_000
    assert.deepEqual(await ask(), { status: 201, text: '{"call":2}' })
  })

  test('each change, and each look at a secret, writes to the audit log', async () => {
    const { database } = service
    const last = await database.reader
      .selectFrom('audit_log')
      .select('seq')
      .orderBy('seq', 'desc')
      .executeTakeFirst()
    await call('POST', '/app', { name: 'Audited', uid: 'audited' })
    await call('PATCH', '/app/audited', { metadata: { a: 'b' } })
    const { id } = (await call('POST', '/app/audited/endpoint', { url: 'https://example.com/hook' })).body
    const { key } = (await call('GET', `/app/audited/endpoint/${id}/secret`)).body
    const { token } = (await call('POST', '/auth/app-portal-access/audited', {})).body
    await call('POST', '/auth/logout', undefined, { token })
    await call('POST', '/auth/app/audited/expire-all', {})
    await call('DELETE', '/app/audited')
    const rows = await database.reader
      .selectFrom('audit_log')
      .select(['action', 'actor', 'address', 'target', 'detail'])
      .where('seq', '>', last!.seq)
      .orderBy('seq')
      .execute()
    assert.deepEqual(each(rows, 'action'), [
      'owner.created',
      'owner.changed',
      'subscriber.created',
      'subscriber.secret_read',
      'portal.link_created',
      'portal.left',
      'portal.revoked',
      'subscriber.deleted',
      'owner.deleted',
    ])
    assert.ok(!JSON.stringify(rows).includes(key))
    for (const { action, actor, address, target } of rows) {
      assert.match(target!, action.startsWith('subscriber.') ? /^subscriber:/ : /^owner:audited$/)
      assert.match(actor!, action === 'portal.left' ? /^owner:audited$/ : /^key:/)
      assert.ok(address)
    }
  })

  test('statistics are tasks, which are read like the tasks of replays', async () => {
    await using receiver = await startReceiver()
    const { id } = (await call('POST', '/app', { name: 'Counted', uid: 'counted' })).body
    const eventTypes = ['order.paid']
    const subscriber = await subscribe(service, { url: receiver.url, owner: 'counted', eventTypes })
    await emit(service, { type: 'order.paid', data: {}, audience: 'counted' })
    await settled(service, subscriber.id, 'delivered')
    const now = Date.now()
    const times = {
      since: new Date(now - 3_600_000).toISOString(),
      until: new Date(now + 3_600_000).toISOString(),
    }
    const task = async (path: string, method = 'POST', json?: object): Promise<Answer['body']> => {
      const started = await call(method, path, json)
      assert.equal(started.status, 202)
      assert.equal(started.body.status, 'finished')
      const found = await call('GET', `/background-task/${started.body.id}`)
      assert.equal(found.status, 200)
      return { ...started.body, ...found.body }
    }
    const types = await task('/stats/usage/event-types', 'PUT')
    assert.deepEqual(
      types.data.event_types.find(({ appId }: { appId: string }) => appId === id),
      { appId: id, explicitlySubscribedEventTypes: eventTypes, hasCatchAllEndpoint: false },
    )
    const counts = await until(async () => {
      const answer = await task('/stats/usage/app', 'POST', { ...times, appIds: ['counted', 'unknown'] })
      return answer.data.appStats.length > 0 ? answer : undefined
    }, 'attempts are counted')
    assert.deepEqual(counts.unresolvedAppIds, ['unknown'])
    assert.deepEqual(counts.data.appStats, [{ messageDestinations: 1, appId: id, appUid: 'counted' }])
    assert.equal((await call('POST', '/stats/usage/app', { ...times, appIds: ['unknown'] })).status, 422)

    assert.ok((await service.admin(`/subscribers/${subscriber.id}/replay`, { method: 'POST', json: {} })).ok)
    const listed = (await call('GET', '/background-task?task=endpoint.bulk-replay')).body
    assert.equal(listed.data.length, 1)
    const pages = (await call('GET', '/background-task?limit=1')).body
    assert.equal(pages.done, false)
    assert.notEqual(
      (await call('GET', `/background-task?limit=1&iterator=${pages.iterator}`)).body.data[0].id,
      pages.iterator,
    )
    assert.deepEqual(await call('GET', '/background-task/qtask_1'), notFound)
    for (const iterator of ['qtask_1', endpointId(subscriber.id), '-x'])
      assert.deepEqual(locations(await call('GET', `/background-task?iterator=${iterator}`)), [
        ['query', 'iterator', '__all__'],
      ])
  })

  test('a token of app-portal-access reaches its own application only, in this API only', async () => {
    await call('POST', '/app', { name: 'Mine', uid: 'mine' })
    await call('POST', '/app', { name: 'Theirs', uid: 'theirs' })
    const access = await call('POST', '/auth/app-portal-access/mine', {})
    assert.equal(access.status, 200)
    const { token, url } = access.body
    const link = { token: url.split('#')[1] }
    const opened = await service.fetch('/portal/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(link),
    })
    assert.equal(opened.status, 200)
    assert.equal((await call('GET', '/app/mine', undefined, { token })).status, 200)
    assert.deepEqual(await call('GET', '/app/theirs', undefined, { token }), notFound)
    assert.deepEqual(await call('GET', '/app/theirs/endpoint', undefined, { token }), notFound)
    for (const [method, path, json] of [
      ['GET', '/app'],
      ['DELETE', '/app/mine'],
      ['PATCH', '/app/mine', { name: 'x' }],
      ['POST', '/app/mine/msg', { eventType: 'a', payload: {} }],
      ['POST', '/auth/app-portal-access/mine', {}],
      ['POST', '/event-type', { name: 'a', description: 'a' }],
    ] as const)
      assert.deepEqual(await call(method, path, json, { token }), { status: 403, body: forbidden })
    for (const path of ['/subscribers', '/portal/subscribers', '/jobs']) {
      const elsewhere = await service.fetch(path, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(elsewhere.status, 401, path)
    }
    assert.equal((await call('POST', '/auth/logout', undefined, { token })).status, 204)
    assert.equal((await call('GET', '/app/mine', undefined, { token })).status, 401)

    const second = (await call('POST', '/auth/app-portal-access/mine', { expiry: 3600 })).body.token
    assert.equal((await call('POST', '/auth/app/mine/expire-all', {})).status, 204)
    assert.equal((await call('GET', '/app/mine', undefined, { token: second })).status, 401)
    const narrow = { capabilities: ['ViewBase'] }
    assert.equal((await call('POST', '/auth/app-portal-access/mine', narrow)).status, 400)
    assert.equal((await call('POST', '/auth/dashboard-access/mine', null)).status, 200)
    const application = { name: 'New', uid: 'by-portal' }
    assert.equal((await call('POST', '/auth/app-portal-access/by-portal', { application })).status, 200)
    assert.deepEqual(locations(await call('POST', '/auth/app-portal-access/x', { application })), [
      ['body', 'application', 'uid'],
    ])
    assert.equal((await call('POST', '/auth/app-portal-access/nobody', {})).status, 404)
  })
})
