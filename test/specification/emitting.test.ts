// The specification, "Emitted webhooks", rule by rule.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  deliveries,
  emit,
  expectJson,
  settled,
  startEmitting,
  subscribe,
  until,
} from '../emitting/harness.ts'
import { hang, onEachEngine, startReceiver, each } from '../harness/index.ts'

onEachEngine('Emitted webhooks', (engine) => {
  test('1. each payload is signed: an HMAC of the body with a per-subscriber secret, in a header, with a timestamp', async () => {
    const [service, one, two] = await Promise.all([startEmitting(engine), startReceiver(), startReceiver()])
    const first = await subscribe(service, { url: one.url })
    const second = await subscribe(service, { url: two.url })
    assert.notEqual(first.secret, second.secret)
    await emit(service, { type: 'order.paid', data: { amount: 12 } })
    for (const [receiver, { secret }, foreign] of [
      [one, first, second.secret],
      [two, second, first.secret],
    ] as const) {
      const [call] = await receiver.waitFor(1)
      const headers = call!.headers as Record<string, string>
      assert.ok(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000) < 10)
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${call!.body.toString()}`
      const expected = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
        .update(signed)
        .digest('base64')
      assert.equal(headers['webhook-signature'], `v1,${expected}`)
      new Webhook(secret).verify(call!.body, headers)
      assert.throws(() => new Webhook(foreign).verify(call!.body, headers))
      assert.throws(
        () =>
          new Webhook(secret).verify(call!.body, {
            ...headers,
            'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1),
          }),
        'the timestamp is signed',
      )
    }
    await Promise.all([service.close(), one.close(), two.close()])
  })

  test('2. failed deliveries are retried with exponential backoff, given up after the last attempt, and surfaced', async () => {
    const [service, receiver] = await Promise.all([
      startEmitting(engine, { env: { EMIT_RETRY_SCHEDULE: '0,0.1,0.4' } }),
      startReceiver(500, 503, 404),
    ])
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'order.paid', data: 1 })
    const dead = await settled(service, id, 'dead')
    assert.deepEqual(each(dead.attempts, 'status'), [500, 503, 404])
    const [first, second, third] = receiver.calls
    // 20 % of jitter to either side, and what the machine takes.
    assert.ok(second!.at - first!.at >= 75, `${second!.at - first!.at} ms`)
    assert.ok(third!.at - second!.at >= 310, `${third!.at - second!.at} ms`)
    assert.deepEqual(each(await deliveries(service, id, '?status=dead'), 'id'), [dead.id])
    assert.equal(receiver.calls.length, 3)
    await Promise.all([service.close(), receiver.close()])
  })

  test('3. deliveries run from a queue and never block the request', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver(hang)])
    await subscribe(service, { url: receiver.url })
    // The subscriber answers nobody, so a request that waited for it would not end.
    for (let n = 0; n < 10; n += 1) await emit(service, { type: 'order.paid', data: n })
    await receiver.waitFor(10)
    await receiver.close()
    await service.close()
  })

  test('4. each event has a stable unique id and a type', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver(500, 204)])
    await subscribe(service, { url: receiver.url })
    const emitted = [
      await emit(service, { type: 'order.paid', data: 1 }),
      await emit(service, { type: 'order.paid', data: 1 }),
    ]
    assert.notEqual(emitted[0]!.eventId, emitted[1]!.eventId)
    const calls = await receiver.waitFor(3)
    const bodies = calls.map(({ body }) => JSON.parse(body.toString()) as { id: string; type: string })
    assert.deepEqual(
      new Set(each(bodies, 'id')),
      new Set(each(emitted, 'eventId')),
      'a retry carries the id of its event',
    )
    assert.deepEqual(new Set(bodies.map(({ type }) => type)), new Set(['order.paid']))
    for (const { headers, body } of calls)
      assert.equal(headers['webhook-id'], (JSON.parse(body.toString()) as { id: string }).id)
    await Promise.all([service.close(), receiver.close()])
  })

  test('5. each delivery has a time-out, so that one slow subscriber cannot back up the queue', async () => {
    const [service, slow, healthy] = await Promise.all([
      startEmitting(engine, { env: { EMIT_TIMEOUT: '0.5', EMIT_RETRY_SCHEDULE: '0' } }),
      startReceiver(hang),
      startReceiver(),
    ])
    const { id } = await subscribe(service, { url: slow.url })
    const { id: patient } = await subscribe(service, { url: slow.url, timeout: 300 })
    await subscribe(service, { url: healthy.url })
    for (let n = 0; n < 15; n += 1) await emit(service, { type: 'order.paid', data: n })
    await healthy.waitFor(15)
    assert.equal((await deliveries(service, patient, '?status=pending')).length, 15, 'still waited for')
    await until(
      async () => (await deliveries(service, id, '?status=dead')).length === 15,
      'the slow one’s are given up in the end',
    )
    assert.match((await settled(service, id, 'dead')).attempts[0]!.error ?? '', /no response within 0.5 s/)
    await slow.close()
    await Promise.all([service.close(), healthy.close()])
  })

  test('6. subscribers get a delivery log showing attempts, manual replay of failed events, and rotation of their secret', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver(500, 500, 204)])
    const { id, secret } = await subscribe(service, { url: receiver.url })
    const { eventId } = await emit(service, { type: 'order.paid', data: 1 })
    const dead = await settled(service, id, 'dead')
    for (const attempt of dead.attempts) {
      assert.deepEqual([attempt.status, attempt.error], [500, 'returned HTTP 500'])
      assert.ok(
        !Number.isNaN(Date.parse(attempt.at)) && attempt.durationMs >= 0 && attempt.responseHeaders !== null,
      )
    }
    const rotated = await expectJson<{ secret: string }>(service, 200, `/subscribers/${id}/rotate-secret`, {
      method: 'POST',
      json: { overlapSeconds: 60 },
    })
    assert.notEqual(rotated.secret, secret)
    await expectJson(service, 202, `/deliveries/${dead.id}/replay`, { method: 'POST' })
    const call = (await receiver.waitFor(3))[2]!
    assert.equal(call.headers['webhook-id'], eventId)
    for (const key of [secret, rotated.secret])
      new Webhook(key).verify(call.body, call.headers as Record<string, string>)
    assert.equal((await settled(service, id, 'delivered')).attempts.length, 3)
    await Promise.all([service.close(), receiver.close()])
  })
})
