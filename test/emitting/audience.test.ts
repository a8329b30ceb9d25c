// Whom an event goes to: owners and conditions on its data.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, started, startReceiver } from '../harness/index.ts'
import { dataOf, deliveries, emit, expectJson, settled, startEmitting, subscribe, until } from './harness.ts'
import { postWebhook } from '../receiving/harness.ts'

const url = 'http://127.0.0.1:9/'

onEachEngine('audience', (engine) => {
  const service = started(() =>
    startEmitting(engine, {
      handlers: {
        'order.paid': (event, { emit }) => emit({ type: 'shipped', data: event.id, audience: 'acme' }),
      },
    }),
  )

  test('an event goes to the subscribers of its owner only; without an owner to those without an owner', async () => {
    const [acme, globex, nobodys] = await Promise.all([
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url, owner: 'globex' }),
      subscribe(service, { url }),
    ])
    assert.deepEqual([acme['owner'], nobodys['owner']], ['acme', null])
    await emit(service, { type: 'for.acme', data: 1, audience: 'acme' })
    await emit(service, { type: 'for.globex', data: 1, audience: 'globex' })
    await emit(service, { type: 'for.nobody', data: 1, audience: 'unknown' })
    await emit(service, { type: 'unaddressed', data: 1 })
    await emit(service, { type: 'for.all', data: 1, audience: '*' })
    const typesOf = async ({ id }: { id: string }) =>
      (await deliveries(service, id)).map(({ eventType }) => eventType).toReversed()
    assert.deepEqual(await typesOf(acme), ['for.acme', 'for.all'])
    assert.deepEqual(await typesOf(globex), ['for.globex', 'for.all'])
    assert.deepEqual(await typesOf(nobodys), ['unaddressed', 'for.all'])
  })

  test('if configured, subscribers without an owner also get events with an audience', async () => {
    await using service = await startEmitting(engine, { config: { emitting: { ownerlessGetAll: true } } })
    const [acme, globex, nobodys] = await Promise.all([
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url, owner: 'globex' }),
      subscribe(service, { url }),
    ])
    await expectJson(service, 202, '/events', {
      method: 'POST',
      json: [
        { type: 'a', data: 1, audience: 'acme' },
        { type: 'b', data: 1, audience: 'globex' },
        { type: 'c', data: 1 },
      ],
    })
    const counts = [acme, globex, nobodys].map(async ({ id }) => (await deliveries(service, id)).length)
    assert.deepEqual(await Promise.all(counts), [1, 1, 3])
  })

  test('the audience is part of the content: the same id with another audience is a conflict', async () => {
    const event = { id: 'e-1', type: 'a', data: 1, audience: 'acme' }
    const first = await emit(service, event)
    assert.deepEqual(await emit(service, event), first)
    for (const other of [
      { ...event, audience: 'globex' },
      { ...event, audience: undefined },
    ]) {
      const response = await service.admin('/events', { method: 'POST', json: other })
      assert.equal(response.status, 409)
    }
    for (const audience of ['', 'a b', 'a\n', 'é', 'x'.repeat(257), 7, null])
      await expectJson(service, 400, '/events', { method: 'POST', json: { type: 'a', data: 1, audience } })
  })

  test('a handler can set the audience of emitted events', async () => {
    const [acme, nobodys] = await Promise.all([
      subscribe(service, { url, owner: 'acme' }),
      subscribe(service, { url }),
    ])
    await postWebhook(service, { id: 'r-1', type: 'order.paid' })
    await until(async () => (await deliveries(service, acme.id)).length === 1, 'acme gets it')
    assert.equal((await deliveries(service, nobodys.id)).length, 0)
  })

  test('owners are listed; a subscriber cannot belong to `*`', async () => {
    const made = await subscribe(service, { url, owner: 'listed' })
    const nobodys = await subscribe(service, { url })
    const list = async (query: string) =>
      (await dataOf<{ id: string }>(service, `/subscribers?limit=100${query}`))
        .map(({ id }) => id)
        .filter((id) => id === made.id || id === nobodys.id)
    assert.deepEqual((await list('')).toSorted(), [made.id, nobodys.id].toSorted())
    assert.deepEqual(
      [await list('&owner=listed'), await list('&owner='), await list('&owner=a%00')],
      [[made.id], [nobodys.id], []],
    )
    const change = (json: unknown, status = 200) =>
      expectJson(service, status, `/subscribers/${made.id}`, { method: 'PATCH', json })
    for (const owner of ['*', '', 'a b', 'é', 7]) await change({ owner }, 400)
  })

  test('conditions on the data: all of them must hold', async () => {
    const events = [
      { amount: 50, currency: 'EUR', tags: ['a'], customer: { 'country/code': 'DE' }, at: '2026-01-02' },
      { amount: 150, currency: 'USD', tags: [], customer: null, at: '2026-03-01' },
      { amount: '150', currency: 'EUR', extra: null },
      'a text',
    ]
    const cases: [conditions: unknown[], matching: number[]][] = [
      [[{ path: '/amount', op: 'gte', value: 100 }], [1]],
      [[{ path: '/amount', op: 'lt', value: 100 }], [0]],
      [[{ path: '/amount', op: 'eq', value: '150' }], [2]],
      [[{ path: '/currency', op: 'in', value: ['EUR', 'GBP'] }], [0, 2]],
      [[{ path: '/currency', op: 'ne', value: 'EUR' }], [1, 3]],
      [[{ path: '/tags/0', op: 'exists' }], [0]],
      [[{ path: '/tags/length', op: 'exists' }], []],
      [[{ path: '/extra', op: 'exists', value: false }], [0, 1, 3]],
      [[{ path: '/extra', op: 'eq', value: null }], [2]],
      [[{ path: '/customer/country~1code', op: 'prefix', value: 'D' }], [0]],
      [[{ path: '/at', op: 'gt', value: '2026-02' }], [1]],
      [[{ path: '', op: 'prefix', value: 'a te' }], [3]],
      [[{ path: '/constructor/name', op: 'exists' }], []],
      [[{ path: '/__proto__', op: 'exists' }], []],
      [
        [
          { path: '/currency', op: 'eq', value: 'EUR' },
          { path: '/amount', op: 'lte', value: 50 },
        ],
        [0],
      ],
    ]
    const subscribers = await Promise.all(
      cases.map(([conditions]) => subscribe(service, { url, conditions })),
    )
    const ids = new Map<string, number>()
    for (const [index, data] of events.entries())
      ids.set((await emit(service, { type: 'a', data })).eventId, index)
    for (const [index, [conditions, matching]] of cases.entries()) {
      const got = (await deliveries(service, subscribers[index]!.id)).map(({ eventId }) => ids.get(eventId)!)
      assert.deepEqual(got.toReversed(), matching, JSON.stringify(conditions))
    }
    const cleared = await expectJson(service, 200, `/subscribers/${subscribers[0]!.id}`, {
      method: 'PATCH',
      json: { conditions: null },
    })
    assert.deepEqual((cleared as { conditions: unknown }).conditions, [])
  })

  test('invalid conditions are refused', async () => {
    const bad = [
      'x',
      [{}],
      [{ path: 'amount', op: 'eq', value: 1 }],
      [{ path: '/a~2', op: 'eq', value: 1 }],
      [{ path: '/a', op: 'matches', value: '(a+)+$' }],
      [{ path: '/a', op: 'eq' }],
      [{ path: '/a', op: 'eq', value: [1] }],
      [{ path: '/a', op: 'eq', value: {} }],
      [{ path: '/a', op: 'in', value: 1 }],
      [{ path: '/a', op: 'in', value: [] }],
      [{ path: '/a', op: 'lt', value: true }],
      [{ path: '/a', op: 'exists', value: 1 }],
      [{ path: '/a', op: 'prefix', value: 1 }],
      [{ path: `/${'a'.repeat(256)}`, op: 'exists' }],
      [{ path: '/a\0', op: 'exists' }],
      [{ path: '/a', op: 'eq', value: '\0' }],
      Array.from({ length: 11 }, () => ({ path: '/a', op: 'exists' })),
    ]
    for (const conditions of bad) {
      const response = await service.admin('/subscribers', { method: 'POST', json: { url, conditions } })
      assert.equal(response.status, 400, JSON.stringify(conditions))
    }
  })

  test('registration sends a signed test event to the new subscriber on request', async () => {
    await using receiver = await startReceiver()
    await subscribe(service, { url })
    const made = await subscribe(service, { url: receiver.url, owner: 'acme', sendTest: true })
    const [call] = await receiver.waitFor(1)
    assert.equal((JSON.parse(call!.body.toString()) as { type: string }).type, 'postern.test')
    assert.equal((await settled(service, made.id, 'delivered')).id, made['testDeliveryId'])
  })
})
