import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Engine, onEachEngine, startReceiver, fields, each } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { postWebhook } from '../receiving/harness.ts'
import {
  emitLines,
  dataOf,
  deliveries,
  emit,
  expectJson,
  startEmitting,
  subscribe,
  until,
} from './harness.ts'

type Scheduled = AnswerTo<'GET /events/{id}'>

/** A service whose clock the test moves on, so that no time comes before the test is there. */
async function startWithClock(engine: Engine) {
  let ahead = 0
  const clock = { ...systemClock, now: () => systemClock.now() + ahead }
  const service = await startEmitting(engine, { parts: { clock } })
  const pass = (seconds: number): void => {
    ahead += seconds * 1000
    service.database.signal('scheduled')
  }
  return { service, pass, [Symbol.asyncDispose]: () => service.close() }
}

onEachEngine('scheduled events', (engine) => {
  test('an event with a delay is sent at its time, to those who are subscribed then', async () => {
    await using receiver = await startReceiver()
    await using started = await startWithClock(engine)
    const { service, pass } = started
    const begun = Date.now()
    const event = { id: 'later', type: 'order.reminder', data: { n: 1 }, delay: 3600.5 }
    const first = (await emit(service, event)) as unknown as Scheduled
    const at = Date.parse(first.deliverAt!)
    assert.ok(at >= begun + 3_600_500 && at <= Date.now() + 3_600_500)
    // A repeated request returns the time of the first one; another time is another request.
    assert.deepEqual(await emit(service, event), first)
    for (const other of [
      { delay: 0.8 },
      { delay: undefined },
      { delay: undefined, deliverAt: first.deliverAt },
    ])
      await expectJson(service, 409, '/events', { method: 'POST', json: { ...event, ...other } })
    const detail = await expectJson<Scheduled>(service, 200, `/events/${first.id}`)
    assert.deepEqual(
      [detail.status, detail.deliverAt, detail.canceledAt],
      ['scheduled', first.deliverAt, null],
    )
    const listed = await dataOf<Scheduled>(service, '/events?status=scheduled')
    assert.deepEqual(fields(listed, 'id', 'deliverAt'), [[first.id, first.deliverAt]])
    const { id: subscriberId } = await subscribe(service, {
      url: receiver.url,
      ordered: true,
      conditions: [{ path: '/n', op: 'eq', value: 1 }],
    })
    // A scheduled event does not hold up an ordered subscriber.
    await emit(service, { type: 'order.paid', data: { n: 1 } })
    await receiver.waitFor(1)
    pass(1800)
    await emit(service, { type: 'order.paid', data: { n: 1 } })
    await receiver.waitFor(2)
    assert.equal((await expectJson<Scheduled>(service, 200, `/events/${first.id}`)).status, 'scheduled')
    pass(1801)
    const calls = await receiver.waitFor(3)
    assert.deepEqual(
      calls.map(({ headers }) => headers['webhook-id'] === 'later'),
      [false, false, true],
    )
    await until(
      async () => (await expectJson<Scheduled>(service, 200, `/events/${first.id}`)).status === 'delivered',
      'it is delivered',
    )
    assert.deepEqual(await emit(service, event), first)
    assert.equal((await deliveries(service, subscriberId)).length, 3)
    const late = await service.admin(`/events/${first.id}`, { method: 'DELETE' })
    assert.equal(late.status, 409)
    assert.match(((await late.json()) as { detail: string }).detail, /was sent at/)
  })

  test('a scheduled event can be canceled until its time', async () => {
    await using receiver = await startReceiver()
    await using started = await startWithClock(engine)
    const { service, pass } = started
    const { id: subscriberId } = await subscribe(service, { url: receiver.url })
    const inTenMonths = new Date(Date.now() + 300 * 86_400_000).toISOString()
    const [far, soon, beside] = (await expectJson(service, 202, '/events', {
      method: 'POST',
      json: [
        { type: 'a', data: 1, deliverAt: inTenMonths },
        { type: 'b', data: 1, delay: 3600 },
        { type: 'd', data: 1, delay: 3600 },
      ],
    })) as [Scheduled, Scheduled, Scheduled]
    assert.equal(far.deliverAt, inTenMonths)
    const cancel = (id: number | string): Promise<Response> =>
      service.admin(`/events/${id}`, { method: 'DELETE' })
    for (const { id } of [far, soon, soon]) assert.equal((await cancel(id)).status, 204)
    const now = await emit(service, { type: 'c', data: 1 })
    for (const [id, status] of [
      [now.id, 409],
      [999_999, 404],
      ['x', 404],
    ] as const)
      assert.equal((await cancel(id)).status, status)
    await receiver.waitFor(1)
    // One of the same time comes, and the canceled one would come with it.
    pass(3601)
    await receiver.waitFor(2)
    const sent = await deliveries(service, subscriberId)
    assert.deepEqual(each(sent, 'eventId'), [beside.eventId, now.eventId])
    const { status, canceledAt } = await expectJson<Scheduled>(service, 200, `/events/${soon.id}`)
    assert.equal(status, 'canceled')
    assert.ok(Date.parse(canceledAt!) <= Date.now())
    assert.equal((await dataOf(service, '/events?status=canceled')).length, 2)
    assert.equal((await dataOf(service, '/events?status=scheduled')).length, 0)
    const entries = await dataOf<{ action: string; target: string }>(service, '/audit?action=event.canceled')
    assert.deepEqual(
      each(entries, 'target').toSorted(),
      [far, soon].map(({ id }) => `event:${id}`).toSorted(),
    )
  })

  test('the payload of an event that is sent late is stored for as long after that', async () => {
    await using receiver = await startReceiver()
    await using started = await startWithClock(engine)
    const { service, pass } = started
    await subscribe(service, { url: receiver.url })
    const { id } = await emit(service, { type: 'a', data: 1, delay: 60, payloadRetention: 30 })
    const least = Date.now() + 7_230_000
    pass(7200)
    await receiver.waitFor(1)
    const { payloadExpiresAt } = await expectJson<Scheduled>(service, 200, `/events/${id}`)
    assert.ok(Date.parse(payloadExpiresAt!) >= least, payloadExpiresAt!)
  })

  test('a time in the past means now; times that cannot be are rejected', async () => {
    await using receiver = await startReceiver()
    await using service = await startEmitting(engine, {
      receiving: {
        handlers: {
          'order.paid': (_event, { emit: emitFrom }) =>
            emitFrom({ type: 'order.follow_up', data: 1, delay: 0.3 }),
        },
      },
    })
    await subscribe(service, { url: receiver.url })
    await emit(service, { type: 'a', data: 1, deliverAt: '2020-01-31T09:00:00+01:00' })
    await receiver.waitFor(1)
    const refused: [settings: Record<string, unknown>, pointer: string][] = [
      [{ delay: -1 }, '/delay'],
      [{ delay: 367 * 86_400 }, '/delay'],
      [{ delay: '5' }, '/delay'],
      [{ deliverAt: new Date(Date.now() + 367 * 86_400_000).toISOString() }, '/deliverAt'],
      [{ deliverAt: 'tomorrow' }, '/deliverAt'],
      [{ deliverAt: '2026-01-31T09:00:00' }, '/deliverAt'],
      [{ deliverAt: '2026-01-31T09:00:00Z', delay: 1 }, '/delay'],
    ]
    for (const [settings, pointer] of refused) {
      const json = { type: 'a', data: 1, ...settings }
      const response = await service.admin('/events', { method: 'POST', json })
      assert.equal(response.status, 400, JSON.stringify(settings))
      assert.ok((await response.text()).includes(pointer), pointer)
    }
    const [good, bad] = await emitLines(
      service,
      '{"type":"a","data":1,"delay":1.0}\n{"type":"a","data":1,"delay":-1}\n',
    )
    assert.ok(good!.status === 202 && good!.deliverAt !== undefined)
    assert.equal(bad!.status, 400)
    // Handlers schedule as well.
    await postWebhook(service, { id: 'in-1', type: 'order.paid' })
    const calls = await receiver.waitFor(3)
    const types = calls.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
    assert.deepEqual(types.toSorted(), ['a', 'a', 'order.follow_up'])
  })
})
