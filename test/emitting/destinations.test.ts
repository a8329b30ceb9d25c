import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { DestinationContext, DestinationDeclaration, DestinationEvent } from '../../src/index.ts'
import { each, fields, onEachEngine, started, startReceiver } from '../harness/index.ts'
import { emit, expectJson, removeSubscribers, settled, startEmitting, subscribe, until } from './harness.ts'
import { enterPortal } from './portal-harness.ts'

type Call = DestinationEvent & DestinationContext

/** A queue in memory, and what `deliver` got. */
function queue(deliver: (call: Call) => unknown = () => ({ messageId: 'm-1' })) {
  const calls: Call[] = []
  const declared: DestinationDeclaration & { calls: Call[]; closed: number } = {
    calls,
    closed: 0,
    title: 'A queue',
    fields: {
      name: { label: 'Queue', required: true },
      password: { label: 'Password', secret: true, required: true },
    },
    validate: ({ name }) => (name === 'bad' ? 'There is no queue bad.' : undefined),
    async deliver(event, context) {
      const call = { ...event, ...context }
      calls.push(call)
      return deliver(call)
    },
    close() {
      declared.closed += 1
    },
  }
  return declared
}

const inQueue = { destination: 'queue', settings: { name: 'orders' }, secrets: { password: 'pw "1"' } }

onEachEngine('destinations', (engine) => {
  const calm = queue()
  const hanging = Promise.withResolvers<void>()
  const declared = {
    queue: calm,
    failing: queue(({ attempt, type, secrets }) => {
      if (type === 'late') throw Object.assign(new Error('busy'), { retryAfter: 7_000 })
      if (attempt === 1) throw new Error(`amqp://user:${secrets['password']}@broker is down`)
      throw Object.assign(new Error('no such queue'), { permanent: true })
    }),
    hanging: queue(({ attempt, signal }) => {
      if (attempt > 1) return 'second'
      return hanging.promise.then(() => assert.ok(signal.aborted))
    }),
    private: queue(() => {
      throw new Error('10.0.0.7 refused')
    }),
    open: { ...queue(), owners: true },
  }
  const service = started(() => startEmitting(engine, { emitting: { destinations: declared } }))
  afterEach(() => removeSubscribers(service))

  test('an event arrives with its signature, and the attempt shows what the destination returned', async () => {
    const told = queue(() => ({ messageId: 'm-1', by: 'pw "1"' }))
    const own = await startEmitting(engine, { emitting: { destinations: { queue: told } } })
    const made = await subscribe(own, { ...inQueue, headers: { 'x-shop': 'berlin' } })
    assert.deepEqual(
      [made['url'], made['destination'], made['settings'], made['secrets']],
      ['destination://queue', 'queue', { name: 'orders' }, { password: '[redacted]' }],
    )
    await emit(own, { type: 'order.paid', data: { total: 12 }, id: 'one' })
    const { attempts } = await settled(own, made.id, 'delivered')
    const [call] = told.calls
    assert.ok(call)
    assert.deepEqual(
      [call.id, call.type, call.attempt, call.settings, call.secrets, call.subscriber],
      ['one', 'order.paid', 1, inQueue.settings, inQueue.secrets, { id: made.id, owner: null }],
    )
    const verified = new Webhook(made.secret).verify(call.payload, call.headers) as { timestamp: string }
    assert.equal(verified.timestamp, call.timestamp)
    assert.deepEqual(Object.keys(call.headers).toSorted(), [
      'content-type',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-shop',
    ])
    const [attempt] = attempts
    assert.deepEqual(
      [attempt?.status, attempt?.error, attempt?.responseBody, attempt?.phases],
      [null, null, '{"messageId":"m-1","by":"[redacted]"}', null],
    )
    const { data } = await expectJson<{ data: unknown[] }>(own, 200, '/deliveries?response=none')
    assert.deepEqual(data, [], 'no response is missing')
    const { lastDay } = await expectJson<{ lastDay: object }>(own, 200, `/subscribers/${made.id}`)
    assert.partialDeepStrictEqual(lastDay, { delivered: 1, failed: 0 })
    await own.close()
    assert.equal(told.closed, 1)
  })

  test('an error is retried by the schedule, and a permanent one is the last attempt', async () => {
    const { id } = await subscribe(service, {
      ...inQueue,
      destination: 'failing',
      retrySchedule: [0, 0.05, 0.05, 0.05],
    })
    await emit(service, { type: 'order.paid', data: 1 })
    const { attempts } = await settled(service, id, 'dead')
    assert.deepEqual(fields(attempts, 'number', 'error', 'failure'), [
      [1, 'amqp://user:[redacted]@broker is down', 'destination-failed'],
      [2, 'no such queue', 'destination-failed'],
    ])
    assert.match(attempts[0]!.advice ?? '', /deliver function/)
    const began = Date.now()
    await emit(service, { type: 'late', data: 1 })
    const { nextAttemptAt } = await until(async () => {
      const late = await settled(service, id, 'pending')
      return late.attemptCount === 1 && late
    }, 'the first attempt')
    assert.ok(Date.parse(nextAttemptAt!) >= began + 6_900_000)
  })

  test('a call that ignores its signal ends as timed out, and is repeated', async () => {
    const settings = { ...inQueue, destination: 'hanging' }
    const { id } = await subscribe(service, { ...settings, timeout: 1, ordered: true })
    await emit(service, { type: 'order.paid', data: 1 })
    const { attempts } = await settled(service, id, 'delivered')
    const first = attempts.find(({ number }) => number === 1)
    assert.deepEqual(
      [first?.failure, first?.error],
      ['destination-timeout', 'deliver did not end within 1 s'],
    )
    assert.equal(attempts.find(({ number }) => number === 2)?.responseBody, 'second')
    hanging.resolve()
  })

  test('invalid settings are rejected with their place', async () => {
    const rejected = async (body: object, path = '/subscribers', method = 'POST') => {
      const problem = await expectJson<{ code: string; errors?: unknown; pointer?: string }>(
        service,
        400,
        path,
        { method, json: body },
      )
      return JSON.stringify(problem)
    }
    const url = 'https://example.com/'
    for (const [pointer, body] of [
      ['/url', {}],
      ['/url', { ...inQueue, url }],
      ['/destination', { ...inQueue, destination: 'unknown' }],
      ['/settings/name', { ...inQueue, settings: {} }],
      ['/settings/password', { ...inQueue, settings: { name: 'a', password: 'x' } }],
      ['/secrets/password', { ...inQueue, secrets: {} }],
      ['/secrets/password', { ...inQueue, secrets: { password: '[redacted]' } }],
      ['/settings', { ...inQueue, settings: { name: 'bad' } }],
      ['/settings', { ...inQueue, settings: { name: 'x'.repeat(16 * 1024) } }],
      ['/settings', { url, settings: {} }],
      ['/secrets', { url, secrets: {} }],
      ['/method', { ...inQueue, method: 'PUT' }],
      ['/auth', { ...inQueue, auth: { type: 'bearer', token: 'x' } }],
      ['/httpSignature', { ...inQueue, httpSignature: true }],
    ] as const) {
      assert.match(await rejected(body), new RegExp(`"${pointer}"`), JSON.stringify(body).slice(0, 200))
    }
    assert.match(await rejected({ ...inQueue, settings: { name: 'bad' } }), /There is no queue bad\./)
    const deep = '['.repeat(8_000) + ']'.repeat(8_000)
    const body = JSON.stringify({ ...inQueue, settings: { name: 'orders', deep: 0 } }).replace('0', deep)
    const headers = { 'content-type': 'application/json' }
    const nested = await service.admin('/subscribers', { method: 'POST', headers, body })
    assert.ok(nested.status === 201 || nested.status === 400, `${nested.status}`)
    const { id } = await subscribe(service, inQueue)
    const path = `/subscribers/${id}`
    assert.match(await rejected({ url }, path, 'PATCH'), /"\/url"/)
    assert.match(await rejected({ settings: { name: 'b' } }, path, 'PATCH'), /"\/secrets\/password"/)
    assert.match(
      await rejected({ settings: { name: 'b' }, secrets: { password: '[redacted]' } }, path, 'PATCH'),
      /"\/secrets\/password"/,
    )
    const http = await subscribe(service, { url: 'http://127.0.0.1:9/' })
    assert.match(await rejected({ settings: {} }, `/subscribers/${http.id}`, 'PATCH'), /"\/settings"/)
  })

  test('settings change with their secrets; an unchanged one keeps them', async () => {
    const { id } = await subscribe(service, inQueue)
    const change = (json: object) =>
      expectJson<Record<string, unknown>>(service, 200, `/subscribers/${id}`, { method: 'PATCH', json })
    await change({ settings: { name: 'orders' }, secrets: { password: '[redacted]', extra: 'e' } })
    await emit(service, { type: 'a', data: 1 })
    await until(async () => calm.calls[0], 'a delivery')
    assert.deepEqual(calm.calls[0]!.secrets, { password: 'pw "1"', extra: 'e' })
    const shown = await change({ settings: { name: 'other' }, secrets: { password: 'new' } })
    assert.deepEqual([shown['settings'], shown['secrets']], [{ name: 'other' }, { password: '[redacted]' }])
    await change({ description: 'changed', concurrency: 2 })
    await emit(service, { type: 'b', data: 1 })
    await until(async () => calm.calls[1], 'a delivery')
    assert.deepEqual(
      [calm.calls[1]!.settings, calm.calls[1]!.secrets],
      [{ name: 'other' }, { password: 'new' }],
    )
  })

  test('customers register only what is open to them, and see nothing of other settings', async () => {
    const { items } = await expectJson<{ items: unknown[] }>(service, 200, '/destinations')
    assert.deepEqual(items[0], {
      name: 'queue',
      title: 'A queue',
      owners: false,
      fields: [
        { name: 'name', label: 'Queue', description: null, secret: false, required: true },
        { name: 'password', label: 'Password', description: null, secret: true, required: true },
      ],
    })
    const portal = await enterPortal(service, 'acme')
    const shown = await portal.json<{ items: { name: string }[] }>(200, 'GET', '/destinations')
    assert.deepEqual(each(shown.items, 'name'), ['open'])
    const post = (body: object) => portal.call('POST', '/subscribers', body)
    assert.equal((await post(inQueue)).status, 400)
    assert.equal((await post({ ...inQueue, destination: 'open' })).status, 201)

    const { id } = await subscribe(service, {
      ...inQueue,
      destination: 'private',
      owner: 'acme',
      eventTypes: ['x'],
    })
    const path = `/subscribers/${id}`
    const one = await portal.json<Record<string, unknown>>(200, 'GET', path)
    assert.deepEqual([one['destination'], one['settings'], one['secrets']], ['private', null, null])
    const patch = (json: object) => portal.call('PATCH', path, json)
    assert.equal((await patch({ settings: { name: 'mine' } })).status, 403)
    assert.equal((await patch({ secrets: {} })).status, 403)
    assert.equal((await patch({ description: 'mine' })).status, 200)
    await emit(service, { type: 'x', data: 1, audience: 'acme' })
    const { id: delivery } = await settled(service, id, 'dead')
    for (const at of [`/deliveries/${delivery}`, `${path}/deliveries`]) {
      const text = await (await portal.call('GET', at)).text()
      assert.doesNotMatch(text, /10\.0\.0\.7/)
      assert.match(text, /the event could not be delivered/)
    }
  })

  test('without its declaration, deliveries wait and doctor says so; with it they arrive', async () => {
    const database = await engine.createMigratedDatabase()
    const options = { databaseUrl: database.url }
    try {
      let id: string
      {
        await using service = await startEmitting(engine, {
          ...options,
          emitting: { destinations: { queue: queue() } },
        })
        ;({ id } = await subscribe(service, { ...inQueue, eventTypes: ['a', 'b'] }))
      }
      {
        await using service = await startEmitting(engine, options)
        await emit(service, { type: 'a', data: 1 })
        await emit(service, { type: 'b', data: 1 })
        await using receiver = await startReceiver()
        const { id: marker } = await subscribe(service, { url: receiver.url, eventTypes: ['marker'] })
        // Each is found by a look at all that is due.
        for (const data of [1, 2, 3]) {
          await emit(service, { type: 'marker', data })
          await settled(service, marker, 'delivered')
        }
        const waiting = await settled(service, id, 'pending')
        assert.deepEqual([waiting.attemptCount, waiting.attempts], [0, []])
        const shown = await expectJson<Record<string, unknown>>(service, 200, `/subscribers/${id}`)
        assert.deepEqual([shown['status'], shown['destination']], ['active', 'queue'])
        const found = await expectJson(service, 200, '/diagnostics?check=contents')
        assert.match(JSON.stringify(found), /no destination queue: deliveries to 1 endpoints wait/)
      }
      const declared = queue()
      await using service = await startEmitting(engine, {
        ...options,
        emitting: { destinations: { queue: declared } },
      })
      await settled(service, id, 'delivered')
      await until(async () => declared.calls.length === 2, 'both deliveries')
      assert.deepEqual(declared.calls.map(({ type }) => type).toSorted(), ['a', 'b'])
    } finally {
      await database.drop()
    }
  })
})
