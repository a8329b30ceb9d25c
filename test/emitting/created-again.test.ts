// A customer that is removed and created again with the same id is another one, who never gets the data of the former.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { endpointId } from '../../src/emitting/svix/ids.ts'
import { onEachEngine, startReceiver, type TestService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { dataOf, emit, expectJson, startEmitting, subscribe, until } from './harness.ts'
import { enterPortal } from './portal-harness.ts'

type Job = AnswerTo<'GET /jobs/{id}'>

const since = '2020-01-01T00:00:00Z'

/** The ways of creating a customer. */
const ways = {
  'an application': (service: TestService) =>
    expectJson(service, 201, '/api/v1/app', { method: 'POST', json: { name: 'Acme', uid: 'acme' } }),
  'the first endpoint': (service: TestService) =>
    subscribe(service, { owner: 'acme', url: 'https://example.com/hook', eventTypes: ['none'] }),
  'a change': (service: TestService) =>
    expectJson(service, 200, '/owners/acme', { method: 'PUT', json: { name: 'Acme' } }),
  'a link to the portal': (service: TestService) =>
    expectJson(service, 201, '/portal-links', { method: 'POST', json: { owner: 'acme', name: 'Acme' } }),
}

onEachEngine('customers that are created again', (engine) => {
  test('they neither list, replay nor send the events of the former one', async () => {
    await using receiver = await startReceiver((response) => void response.end('former response'))
    await using service = await startEmitting(engine)
    const former = await formerCustomer(service, receiver.url)
    await expectJson(service, 204, '/owners/acme', { method: 'DELETE' })
    await expectJson(service, 404, '/owners/acme')
    // Between the two, the portal of nobody shows nothing.
    await isHidden(service, former.eventIds)
    former.eventIds.push((await emit(service, { type: 'secret', data: 1, audience: 'acme' })).eventId)

    await ways['an application'](service)
    await using own = await startReceiver()
    const { id } = await subscribe(service, { owner: 'acme', url: own.url })
    const { token } = await expectJson<{ token: string }>(
      service,
      200,
      '/api/v1/auth/app-portal-access/acme',
      { method: 'POST', json: {} },
    )
    const call = async (status: number, method: string, path: string, json?: object) => {
      const response = await service.fetch(`/api/v1/app/acme/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(json && { body: JSON.stringify(json) }),
      })
      const text = await response.text()
      assert.equal(response.status, status, `${method} ${path}: ${text}`)
      return JSON.parse(text) as { data: { id: string }[]; done: boolean }
    }
    const endpoint = endpointId(id)
    for (const path of [
      'msg',
      'msg?order=ascending',
      `msg?after=${since}`,
      `attempt/endpoint/${endpoint}`,
      `endpoint/${endpoint}/msg`,
    ]) {
      const { data, done } = await call(200, 'GET', path)
      assert.deepEqual([data, done], [[], true], path)
    }
    for (const message of [...former.eventIds, 'order-1']) {
      await call(404, 'GET', `msg/${message}`)
      await call(404, 'GET', `msg/${message}/raw`)
      await call(404, 'GET', `attempt/msg/${message}`)
      await call(404, 'GET', `msg/${message}/attempt/${former.attempt}`)
      await call(404, 'POST', `msg/${message}/endpoint/${endpoint}/resend`)
      await call(422, 'GET', `msg?iterator=${message}`)
    }
    await isHidden(service, former.eventIds)
    await call(202, 'POST', `endpoint/${endpoint}/replay-missing`, { since })
    const portal = await enterPortal(service, 'acme')
    const replay = { status: 'missing', since, until: new Date(Date.now() + 60_000).toISOString() }
    await portal.json(202, 'POST', `/subscribers/${id}/replay`, replay)
    const jobs = await until(async () => {
      const { data } = await portal.json<{ data: Job[] }>(200, 'GET', `/subscribers/${id}/jobs`)
      return data.every(({ status }) => status === 'done') && data
    }, 'the replays are done')
    assert.deepEqual(
      jobs.map(({ total, done }) => [total, done]),
      [
        [0, 0],
        [0, 0],
      ],
    )
    await releaseScheduled(service)

    // The ids that the former customer chose are free.
    const message = { eventId: 'order-1', eventType: 'order.paid', payload: { of: 'new' } }
    const sent = await expectJson<{ id: string }>(service, 202, '/api/v1/app/acme/msg', {
      method: 'POST',
      json: message,
      headers: { 'idempotency-key': 'order-1' },
    })
    const [first] = await own.waitFor(1)
    assert.equal(first!.headers['webhook-id'], sent.id)
    assert.deepEqual(
      (await call(200, 'GET', 'msg')).data.map((one) => one.id),
      [sent.id],
    )
    assert.equal(((await call(200, 'GET', 'msg/order-1')) as unknown as { id: string }).id, sent.id)
    const deliveries = await portal.json<{ data: object[] }>(200, 'GET', `/subscribers/${id}/deliveries`)
    assert.equal(deliveries.data.length, 1)
    assert.equal(own.calls.length, 1)

    const created = () => dataOf<object>(service, '/audit?action=owner.created')
    for (const [way, create] of Object.entries(ways)) {
      await expectJson(service, 204, '/owners/acme', { method: 'DELETE' })
      const before = await created()
      await create(service)
      assert.equal((await created()).length, before.length + 1, way)
      await isHidden(service, [...former.eventIds, sent.id])
    }
  })

  test('a repeated Idempotency-Key creates an endpoint again, although no event came between', async () => {
    await using service = await startEmitting(engine)
    const post = (path: string, json: object) =>
      expectJson<{ id: string }>(service, 201, `/api/v1/app${path}`, {
        method: 'POST',
        json,
        headers: { 'idempotency-key': 'first' },
      })
    const ids = new Set<string>()
    for (let n = 0; n < 3; n += 1) {
      await ways['a change'](service)
      const { id } = await post('/acme/endpoint', { url: 'https://example.com/hook' })
      assert.equal((await post('/acme/endpoint', { url: 'https://example.com/hook' })).id, id)
      ids.add(id)
      await expectJson(service, 204, '/owners/acme', { method: 'DELETE' })
    }
    assert.equal(ids.size, 3)
  })

  test('a message with a key of the former one is new, even at once', async () => {
    await using service = await startEmitting(engine)
    const send = (of: string) =>
      expectJson<{ id: string; payload: object }>(service, 202, '/api/v1/app/acme/msg', {
        method: 'POST',
        json: { eventType: 'order.paid', payload: { of } },
        headers: { 'idempotency-key': 'order-1' },
      })
    await ways['a change'](service)
    const former = await send('former')
    await expectJson(service, 204, '/owners/acme', { method: 'DELETE' })
    await ways['a change'](service)
    const own = await send('new')
    assert.notEqual(own.id, former.id)
    assert.deepEqual(own.payload, { of: 'new' })
    assert.equal((await send('again')).id, own.id)
  })

  if (engine.name === 'postgres')
    test('an event that was in a transaction when the former one was removed is not sent to them', async () => {
      await using receiver = await startReceiver()
      await using service = await startEmitting(engine)
      await ways['an application'](service)
      const { database } = service
      const blocked = Promise.withResolvers<void>()
      const event = { event: 1_000_000, event_id: 'late', digest: Buffer.alloc(32), created_at: 1 }
      const holding = database
        .transaction(async (tx) => {
          await tx.insertInto('idempotency_keys').values(event).execute()
          await blocked.promise
          throw new Error('rolled back')
        })
        .catch(() => undefined)
      const emitting = emit(service, { id: 'late', type: 'secret', data: 1, audience: 'acme' })
      await until(async () => {
        const { rows } = await sql<{ n: number }>`
          select count(*)::int as n from pg_locks where not granted`.execute(database.reader)
        return rows[0]!.n > 0
      }, 'the event waits for its id')
      await expectJson(service, 204, '/owners/acme', { method: 'DELETE' })
      const { id } = await subscribe(service, { owner: 'acme', url: receiver.url })
      blocked.resolve()
      await Promise.all([holding, emitting])
      await emit(service, { type: 'own', data: 1, audience: 'acme' })
      await receiver.waitFor(1)
      const sent = await dataOf<{ eventType: string }>(service, `/subscribers/${id}/deliveries`)
      assert.deepEqual(
        sent.map(({ eventType }) => eventType),
        ['own'],
      )
    })
})

/** A customer with a delivered message, a scheduled one and one for everybody. */
async function formerCustomer(service: TestService, url: string) {
  await ways['an application'](service)
  const { id } = await subscribe(service, { owner: 'acme', url })
  const post = (json: object, headers = {}) =>
    expectJson<{ id: string }>(service, 202, '/api/v1/app/acme/msg', { method: 'POST', json, headers })
  const payload = { of: 'former' }
  const message = { eventId: 'order-1', eventType: 'order.paid', payload }
  const sent = await post(message, { 'idempotency-key': 'order-1' })
  const deliverAt = new Date(Date.now() + 86_400_000).toISOString()
  const later = await post({ eventType: 'order.paid', payload, deliverAt })
  const all = await emit(service, { type: 'news', data: {}, audience: '*' })
  const attempts = await until(async () => {
    const path = `/api/v1/app/acme/attempt/endpoint/${endpointId(id)}`
    const { data } = await expectJson<{ data: { id: string }[] }>(service, 200, path)
    return data.length === 2 && data
  }, 'both are delivered')
  return { eventIds: [sent.id, later.id, all.eventId], attempt: attempts[0]!.id }
}

/** The portal does not run transformations on these events. */
async function isHidden(service: TestService, eventIds: readonly string[]): Promise<void> {
  const portal = await enterPortal(service, 'acme')
  const code = 'function handler(webhook) { return webhook }'
  for (const eventId of eventIds) await portal.json(404, 'POST', '/transformations/test', { code, eventId })
}

/** Makes the scheduled event due, and waits for its release. */
async function releaseScheduled({ database }: TestService): Promise<void> {
  await database.transaction((tx) => tx.updateTable('scheduled_events').set({ deliver_at: 1 }).execute())
  database.signal('scheduled')
  await until(async () => {
    const row = await database.reader.selectFrom('scheduled_events').selectAll().executeTakeFirstOrThrow()
    return row.released_at !== null
  }, 'the scheduled event is released')
}
