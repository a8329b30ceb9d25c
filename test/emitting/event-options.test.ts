// Channels, tags and payload retention of single events.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startReceiver, type TestService, fields } from '../harness/index.ts'
import { byService } from '../../src/accounts/audit/audit.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { PayloadRemoval } from '../../src/emitting/events/payload-removal.ts'
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

interface Shown {
  id: number
  eventId: string
  status: string
  channels?: string[]
  tags?: string[]
  canceledAt: string | null
  payloadExpiresAt: string | null
  payloadRemovedAt: string | null
  payload: Record<string, unknown>
  deliveries: { id: number; status: string; lastError: string | null }[]
}

const show = (service: TestService, event: number): Promise<Shown> =>
  expectJson(service, 200, `/events/${event}`)

/** The removal of payloads, with a clock that is this many seconds ahead. */
function removalAfter({ database }: Pick<TestService, 'database'>, seconds: number): PayloadRemoval {
  const clock: Clock = { ...systemClock, now: () => Date.now() + seconds * 1000 }
  return new PayloadRemoval({
    database,
    clock,
    log: createLog('fatal'),
    record: async () => undefined,
    dispatcher: () => ({ forgetPayload: () => undefined }),
  })
}

/** A subscriber with these channels. */
async function listen(service: TestService, url: string, channels: string[]): Promise<string> {
  const { id } = await subscribe(service, { url })
  await service.database.transaction((tx) =>
    tx
      .updateTable('subscribers')
      .set({ channels: JSON.stringify(channels) })
      .where('id', '=', id)
      .execute(),
  )
  return id
}

async function eventsOf(service: TestService, subscriber: string): Promise<string[]> {
  return (await deliveries(service, subscriber)).map(({ eventId }) => eventId).toSorted()
}

onEachEngine('options of events', (engine) => {
  test('a subscriber with channels gets the events with one of them', async () => {
    await using receiver = await startReceiver()
    await using service = await startEmitting(engine, {
      handlers: {
        handled: (_event, { emit: send }) => send({ type: 'a', data: 1, id: 'handled', channels: ['eu'] }),
      },
    })
    const all = (await subscribe(service, { url: receiver.url })).id
    const eu = await listen(service, receiver.url, ['eu', 'us'])
    const asia = await listen(service, receiver.url, ['asia'])
    const event = { type: 'a', data: 1, id: 'both', channels: ['us', 'asia', 'us'], tags: ['b', 'a#1'] }
    const first = await emit(service, event)
    assert.deepEqual(await emit(service, { ...event, channels: ['asia', 'us'], tags: undefined }), first)
    await expectJson(service, 409, '/events', { method: 'POST', json: { ...event, channels: ['us'] } })
    await expectJson(service, 202, '/events', {
      method: 'POST',
      json: [
        { type: 'a', data: 1, id: 'none' },
        { type: 'a', data: 1, id: 'later', delay: 0.2, channels: ['eu'] },
      ],
    })
    const lines = [
      '{"type":"a","data":1,"id":"line","channels":["asia"]}',
      '{"type":"a","data":1,"channels":[]}',
    ]
    const answers = await emitLines(service, lines.join('\n'))
    assert.deepEqual(fields(answers, 'status', 'pointer'), [
      [202, undefined],
      [400, '/channels'],
    ])
    await postWebhook(service, '{"id":"w1","type":"handled","data":1}')
    await until(async () => (await eventsOf(service, all)).length === 5, 'all are fanned out')
    assert.deepEqual(await eventsOf(service, all), ['both', 'handled', 'later', 'line', 'none'])
    assert.deepEqual(await eventsOf(service, eu), ['both', 'handled', 'later'])
    assert.deepEqual(await eventsOf(service, asia), ['both', 'line'])
    const shown = await expectJson<Shown>(service, 200, `/events/${first.id}`)
    assert.deepEqual(
      [shown.channels, shown.tags],
      [
        ['asia', 'us'],
        ['a#1', 'b'],
      ],
    )
    const listed = await dataOf<Shown>(service, '/events?direction=emitted')
    assert.deepEqual(fields(listed, 'eventId', 'channels', 'tags'), [
      ['both', ['asia', 'us'], ['a#1', 'b']],
      ['none', undefined, undefined],
      ['later', ['eu'], undefined],
      ['line', ['asia'], undefined],
      ['handled', ['eu'], undefined],
    ])
  })

  test('a removed payload leaves the event and its attempts, without bodies', async () => {
    await using receiver = await startReceiver((response, call) => {
      response.statusCode = call.path.endsWith('/fails') ? 500 : 200
      response.end('what the subscriber answered')
    })
    await using service = await startEmitting(engine, { env: { EMIT_RETRY_SCHEDULE: '0,600' } })
    await subscribe(service, { url: receiver.url })
    const { id: failing } = await subscribe(service, { url: new URL('/fails', receiver.url).href })
    const event = { type: 'a', data: { secret: 'the secret' }, id: 'one' }
    const { id } = await emit(service, event)
    await until(
      async () =>
        (await show(service, id)).deliveries.every(
          ({ lastError, status }) => status === 'delivered' || lastError !== null,
        ),
      'both had an attempt',
    )
    const remove = (number: number): Promise<Response> =>
      service.admin(`/events/${number}/payload`, { method: 'DELETE' })
    assert.equal((await remove(id)).status, 204)
    assert.equal((await remove(id)).status, 204)
    assert.equal((await remove(id + 1000)).status, 404)
    const shown = await show(service, id)
    assert.deepEqual(Object.keys(shown.payload), ['id', 'type', 'timestamp'])
    assert.ok(shown.payloadRemovedAt)
    assert.deepEqual(shown.deliveries.map(({ status }) => status).toSorted(), ['dead', 'delivered'])
    const attempts = await service.database.reader.selectFrom('attempts').selectAll().execute()
    assert.deepEqual(Object.fromEntries(fields(attempts, 'failure', 'response_body')), {
      null: null,
      'payload-gone': null,
      'server-error': null,
    })
    for (const delivery of shown.deliveries)
      assert.equal((await service.admin(`/deliveries/${delivery.id}/replay`, { method: 'POST' })).status, 409)
    const replay = { method: 'POST', json: { status: 'dead', dryRun: true } }
    assert.deepEqual(await expectJson(service, 200, `/subscribers/${failing}/replay`, replay), {
      total: 0,
    })
    assert.equal((await emit(service, event)).id, id, 'its id stays used')
    // Before its time, a scheduled event is canceled.
    const later = await emit(service, { ...event, id: 'later', delay: 600 })
    assert.equal((await remove(later.id)).status, 204)
    assert.ok((await show(service, later.id)).canceledAt)
  })

  test('a payload is removed after its retention period', async () => {
    await using service = await startEmitting(engine)
    const send = (json: object): Promise<{ id: number }[]> =>
      expectJson(service, 202, '/events', {
        method: 'POST',
        json: [{ type: 'a', data: 'the data', ...json }],
      })
    const [short] = await send({ payloadRetention: 60 })
    const [long] = await send({ payloadRetention: 7200.0 })
    const [later] = await send({ payloadRetention: 60, delay: 3600 })
    // Late, because nothing has sent it yet.
    const [late] = await send({ payloadRetention: 60, delay: 600 })
    await removalAfter(service, 3000).round()
    const removed = await Promise.all(
      [short, long, later, late].map(async (one) => (await show(service, one!.id)).payloadRemovedAt !== null),
    )
    assert.deepEqual(removed, [true, false, false, false])
    assert.equal((await show(service, long!.id)).payload['data'], 'the data')
    await expectJson(service, 400, '/events', {
      method: 'POST',
      json: { type: 'a', data: 1, payloadRetention: 0.5 },
    })
  })

  test('an event that is late is not sent after the removal of its payload, even if the process ends in between', async () => {
    await using service = await startEmitting(engine)
    const { id } = await emit(service, { type: 'a', data: 1, delay: 600 })
    const ending = { ...service.database, inBackground: () => Promise.reject(new Error('ended')) }
    await assert.rejects(removalAfter({ database: ending }, 3000).remove(id, byService), /^Error: ended$/)
    await removalAfter(service, 3000).round()
    const { canceledAt, payloadRemovedAt } = await show(service, id)
    assert.ok(canceledAt)
    assert.ok(payloadRemovedAt)
  })
})
