import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminKey, onEachEngine, rowsOf, started, startReceiver } from '../harness/index.ts'
import { deliveries, emit, startEmitting, subscribe, subscriberRow } from './harness.ts'

onEachEngine('emit', (engine) => {
  const service = started(() => startEmitting(engine))

  test('the same id with the same content gives the first result and no second delivery; other content is 409', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    const event = { id: 'order-1', type: 'order.paid', data: { amount: 12 } }
    const first = await emit(service, event)
    assert.deepEqual(await emit(service, event), first)
    for (const other of [
      { ...event, data: { amount: 13 } },
      { ...event, type: 'order.refunded' },
    ]) {
      const response = await service.admin('/events', { method: 'POST', json: other })
      assert.equal(response.status, 409)
      assert.equal(((await response.json()) as { code: string }).code, 'id-conflict')
    }
    await receiver.waitFor(1)
    assert.equal((await deliveries(service, id)).length, 1)
  })

  test('Idempotency-Key is the id of the event', async () => {
    const send = (key: string, json: unknown) =>
      service.admin('/events', { method: 'POST', json, headers: { 'idempotency-key': key } })
    const event = { type: 'order.paid', data: 1 }
    const first = await send('key-1', event)
    assert.equal(first.status, 202)
    const result = (await first.json()) as { eventId: string }
    assert.equal(result.eventId, 'key-1')
    // In quotes as the draft of the IETF has it, with the same id in the body, and as the id alone.
    assert.deepEqual(await (await send('"key-1"', event)).json(), result)
    assert.deepEqual(await (await send('key-1', { ...event, id: 'key-1' })).json(), result)
    assert.deepEqual(await emit(service, { ...event, id: 'key-1' }), result)
    assert.equal((await send('key-1', { ...event, data: 2 })).status, 409)
    const refused: [key: string, body: unknown, why: RegExp][] = [
      ['key-1', { ...event, id: 'key-2' }, /differ/],
      ['key-1', [event], /one event/],
      ['a.b', event, /without a full stop/],
      ['""', event, /visible ASCII/],
      ['x'.repeat(257), event, /1 to 256/],
    ]
    for (const [key, json, why] of refused) {
      const response = await send(key, json)
      assert.equal(response.status, 400, key)
      assert.match(((await response.json()) as { detail: string }).detail, why)
    }
    const lines = await service.admin('/events', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': 'key-3' },
      body: JSON.stringify(event),
    })
    assert.equal(lines.status, 400)
  })

  test('data that is nested too deeply is refused in plain words', async () => {
    // The number at the end is one that a double does not hold.
    for (const end of ['', '12345678901234567890']) {
      const response = await service.admin('/events', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"type":"order.paid","data":${'['.repeat(20_000)}${end}${']'.repeat(20_000)}}`,
      })
      assert.equal(response.status, 400)
      const { code, detail } = (await response.json()) as { code: string; detail: string }
      assert.equal(code, 'invalid-body')
      assert.match(detail, /^The (?:event's data|body) is nested too deeply\.$/)
    }
  })

  test('the order of keys does not change the content; the bytes of the first call are sent', async () => {
    await using receiver = await startReceiver()
    await subscribe(service, { url: receiver.url })
    const send = (body: string) =>
      service.admin('/events', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    const data =
      '{"b":1.0,"a":{"y":[1,{"q":1,"p":12345678901234567890}],"x":null,"z":"\\u0000é😀"},"__proto__":1}'
    const first = await send(`{"id":"o-1","type":"order.paid","data":${data}}`)
    assert.equal(first.status, 202)
    const result = await first.json()
    for (const same of [
      `{"id":"o-1","type":"order.paid","data":${data}}`,
      '{"data":{"__proto__":1,"a":{"x":null,"z":"\\u0000é😀","y":[1,{"p":12345678901234567890,"q":1}]},"b":1.0},"type":"order.paid","id":"o-1"}',
      '{"id":"o-1","type":"order.paid","data":{ "a": {"x":null,"z":"\\u0000é😀", "y":[1e0,{"p":12345678901234567890,"q":1}]}, "b":1, "__proto__":1}}',
    ]) {
      const again = await send(same)
      assert.equal(again.status, 202, same)
      assert.deepEqual(await again.json(), result)
    }
    for (const other of [
      data.replace('890}', '891}'),
      data.replace('1.0', '1.5'),
      data.replace('"__proto__":1', '"__proto__":2'),
      data.replace('null', '"null"'),
      data.replace('[1,{', '[{').replace('}],', '},1],'),
    ]) {
      assert.notEqual(other, data)
      const response = await send(`{"id":"o-1","type":"order.paid","data":${other}}`)
      assert.equal(response.status, 409, other)
    }
    const [call] = await receiver.waitFor(1)
    assert.ok(call!.body.toString().endsWith(`,"data":${data}}`), call!.body.toString())
  })

  test('of twenty concurrent calls with one id, one emits, and all get its result', async () => {
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    const event = { id: 'race', type: 'a', data: 1 }
    const answers = await Promise.all(Array.from({ length: 20 }, () => emit(service, event)))
    assert.equal(new Set(answers.map((answer) => answer.id)).size, 1)
    assert.equal((await deliveries(service, id)).length, 1)

    const mixed = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        service.admin('/events', { method: 'POST', json: { id: 'mixed', type: 'a', data: n % 2 } }),
      ),
    )
    const statuses = new Set(mixed.map(({ status }) => status))
    assert.deepEqual(statuses, new Set([202, 409]))
    assert.equal((await deliveries(service, id)).length, 2)
  })

  test('an event goes to the subscribers whose types match', async () => {
    const url = 'http://127.0.0.1:9/'
    const [all, orders, exact, paused, disabled] = await Promise.all([
      subscribe(service, { url }),
      subscribe(service, { url, eventTypes: ['user.created', 'order.*'] }),
      subscribe(service, { url, eventTypes: ['order.paid'] }),
      subscribe(service, { url }),
      subscribe(service, { url }),
    ])
    await service.admin(`/subscribers/${paused.id}`, { method: 'PATCH', json: { status: 'paused' } })
    await service.admin(`/subscribers/${disabled.id}`, { method: 'PATCH', json: { status: 'disabled' } })
    for (const type of ['order.paid', 'order.paid.late', 'orders', 'user.created'])
      await emit(service, { type, data: 1 })
    const typesOf = async ({ id }: { id: string }) =>
      (await deliveries(service, id)).map(({ eventType }) => eventType).toReversed()
    assert.deepEqual(await typesOf(all), ['order.paid', 'order.paid.late', 'orders', 'user.created'])
    assert.deepEqual(await typesOf(orders), ['order.paid', 'order.paid.late', 'user.created'])
    assert.deepEqual(await typesOf(exact), ['order.paid'])
    assert.equal((await typesOf(paused)).length, 4)
    assert.equal((await typesOf(disabled)).length, 0)
  })

  test('an invalid event is refused with the reason, and nothing is emitted', async () => {
    const send = (body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json') =>
      service.fetch('/events', {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': contentType },
        body,
      })
    const refused: [body: string | Uint8Array<ArrayBuffer>, status: number][] = [
      ['', 400],
      ['{', 400],
      ['[]', 400],
      ['"text"', 400],
      ['null', 400],
      ['{"type":"a"}', 400],
      ['{"data":1}', 400],
      ['{"type":"","data":1}', 400],
      ['{"type":1.0,"data":1}', 400],
      ['{"type":"a b","data":1}', 400],
      ['{"type":"a","data":1,"id":""}', 400],
      ['{"type":"a","data":1,"id":null}', 400],
      ['{"type":"a","data":1,"more":1}', 400],
      [Uint8Array.from([0x7b, 0xff, 0x7d]), 400],
      [`{"type":"a","data":"${'x'.repeat(1024 * 1024)}"}`, 413],
    ]
    for (const [body, status] of refused) {
      const response = await send(body)
      assert.equal(response.status, status, String(body).slice(0, 60))
      assert.match(response.headers.get('content-type') ?? '', /problem\+json/)
    }
    assert.equal((await send('<a/>', 'application/xml')).status, 415)
    const empty = await service.admin('/events', { method: 'POST' })
    assert.equal(empty.status, 400, 'neither a body nor a type')
    const unauthenticated = await service.fetch('/events', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"type":"a","data":1}',
    })
    assert.equal(unauthenticated.status, 401)
    for (const data of [null, false, 0, '', [], {}]) await emit(service, { type: 'a', data })
  })

  test('emitting never fails while subscribers are added and removed', async () => {
    const url = 'http://127.0.0.1:9/'
    const coming = async (): Promise<void> => {
      for (let n = 0; n < 15; n += 1) {
        const { id } = await subscribe(service, { url })
        const response = await service.admin(`/subscribers/${id}`, { method: 'DELETE' })
        assert.equal(response.status, 204)
      }
    }
    const emitting = async (): Promise<void> => {
      for (let n = 0; n < 30; n += 1) await emit(service, { type: 'a', data: n })
    }
    await Promise.all([coming(), coming(), emitting(), emitting()])
  })

  test('one event for 1,200 subscribers: a delivery for each', async () => {
    await using service = await startEmitting(engine, { parts: { roles: { http: true, workers: false } } })
    await service.database.transaction(async (tx) => {
      for (let n = 0; n < 1_200; n += 100) {
        await tx
          .insertInto('subscribers')
          .values(Array.from({ length: 100 }, (_, k) => subscriberRow(`s${n + k}`)))
          .execute()
      }
    })
    const { id } = await emit(service, { type: 'a', data: 1 })
    const rows = await rowsOf(service, 'deliveries', { event: id })
    assert.equal(new Set(rows.map((delivery) => delivery.subscriber_id)).size, 1_200)
  })
})
