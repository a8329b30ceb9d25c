import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { onEachEngine } from '../harness/engines.ts'
import { startReceiver } from '../harness/receiver.ts'
import { emit, settled, startEmitting, subscribe } from './harness.ts'

onEachEngine('deliver', (engine) => {
  test('an emitted event reaches its subscriber, signed, and is in the log', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver()])
    const { id, secret } = await subscribe(service, { url: receiver.url })
    const emitted = await emit(service, { type: 'order.paid', data: { amount: 12 } })
    const [call] = await receiver.waitFor(1)
    const payload = new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>)
    assert.deepEqual(payload, {
      id: emitted.eventId,
      type: 'order.paid',
      timestamp: (payload as { timestamp: string }).timestamp,
      data: { amount: 12 },
    })
    assert.equal(call!.headers['webhook-id'], emitted.eventId)
    const logged = await settled(service, id, 'delivered')
    assert.equal(logged.attempts.length, 1)
    assert.equal(logged.attempts[0]!.status, 204)
    await Promise.all([service.close(), receiver.close()])
  })

  test('failures are retried by the schedule, then dead-lettered', async () => {
    const [service, receiver] = await Promise.all([startEmitting(engine), startReceiver(500)])
    const { id } = await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'order.paid', data: null })
    const dead = await settled(service, id, 'dead')
    assert.deepEqual(
      dead.attempts.map(({ number, status, error }) => [number, status, error]),
      [
        [1, 500, 'returned HTTP 500'],
        [2, 500, 'returned HTTP 500'],
      ],
    )
    await Promise.all([service.close(), receiver.close()])
  })
})
