import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { afterEach, test } from 'node:test'
import { hang, onEachEngine, started, startReceiver } from '../harness/index.ts'
import {
  untilStatus,
  change,
  emit,
  expectJson,
  removeSubscribers,
  settled,
  startEmitting,
  subscribe,
} from './harness.ts'

onEachEngine('fairness', (engine) => {
  const service = started(() => startEmitting(engine))
  afterEach(() => removeSubscribers(service))

  test('twenty hanging subscribers with a backlog do not delay a healthy one', async () => {
    const [hanging, healthy] = await Promise.all([startReceiver(hang), startReceiver()])
    const patient = { url: hanging.url, timeout: 300, retrySchedule: [0] }
    await Promise.all(Array.from({ length: 20 }, () => subscribe(service, patient)))
    for (let n = 0; n < 12; n += 1) await emit(service, { type: 'a', data: n })
    await hanging.waitFor(200)
    await subscribe(service, { url: healthy.url, eventTypes: ['b'] })
    for (let n = 0; n < 20; n += 1) await emit(service, { type: 'b', data: n })
    await healthy.waitFor(20)
    assert.equal(hanging.calls.length, 200, 'all of the hanging ones still hang, ten at a time each')
    await hanging.close()
    await healthy.close()
  })

  test('concurrent attempts are limited by the concurrency of the subscriber', async () => {
    let running = 0
    let most = 0
    // The first three wait for each other: fewer at a time would not end.
    const three = Promise.withResolvers<void>()
    const answer = async (response: ServerResponse): Promise<void> => {
      most = Math.max(most, ++running)
      if (running === 3) three.resolve()
      await three.promise
      // A fourth would have come by the time that a statement takes.
      await service.database.ping()
      running -= 1
      response.writeHead(204).end()
    }
    await using receiver = await startReceiver((response) => void answer(response))
    await subscribe(service, { url: receiver.url, concurrency: 3 })
    await Promise.all(Array.from({ length: 15 }, (_, n) => emit(service, { type: 'a', data: n })))
    await receiver.waitFor(15)
    assert.equal(most, 3)
  })

  test('ordered: one at a time in the order of emitting; a failed delivery blocks the next ones', async () => {
    await using receiver = await startReceiver(204, 500, 500, 204)
    await subscribe(service, { url: receiver.url, ordered: true, retrySchedule: [0, 0.05, 0.05] })
    for (let n = 0; n < 5; n += 1) await emit(service, { type: 'a', data: n })
    const calls = await receiver.waitFor(7)
    assert.deepEqual(
      calls.map(({ body }) => (JSON.parse(body.toString()) as { data: number }).data),
      [0, 1, 1, 1, 2, 3, 4],
    )
  })

  test('the rate limit is respected', async () => {
    await using receiver = await startReceiver()
    await subscribe(service, { url: receiver.url, rateLimit: 10 })
    // Not from the first call: a busy machine may deliver that one later than its turn.
    const began = Date.now()
    await Promise.all(Array.from({ length: 15 }, (_, n) => emit(service, { type: 'a', data: n })))
    const calls = await receiver.waitFor(15)
    const took = calls.at(-1)!.at - began
    assert.ok(took >= 350, `ten at once, five more in half a second: ${took} ms`)
  })

  test('a paused subscriber’s events wait and are delivered when it is resumed; they do not count as overdue', async () => {
    // Without the subscribers of other tests, whose deliveries may be due.
    await using service = await startEmitting(engine)
    await using receiver = await startReceiver()
    const { id } = await subscribe(service, { url: receiver.url })
    await change(service, id, { status: 'paused' })
    for (let n = 0; n < 3; n += 1) await emit(service, { type: 'a', data: n })
    await using other = await startReceiver()
    const marker = await subscribe(service, { url: other.url, eventTypes: ['marker'] })
    await emit(service, { type: 'marker', data: 1 })
    await settled(service, marker.id, 'delivered')
    assert.equal(receiver.calls.length, 0)
    const due_at = Date.now() - 3_600_000
    await service.database.transaction((tx) =>
      tx.updateTable('deliveries').set({ due_at }).where('subscriber_id', '=', id).execute(),
    )
    const ready = await expectJson<{ oldestDueSeconds: Record<string, number> }>(service, 200, '/readyz')
    assert.equal(ready.oldestDueSeconds['deliveries'], 0)
    await change(service, id, { status: 'active' })
    await receiver.waitFor(3)
    await untilStatus(service, id, 'delivered', 4)
  })
})
