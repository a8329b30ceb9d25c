// Channels, tags and retention of single events.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { startReceiver } from '../harness/receiver.ts'
import type { TestService } from '../harness/service.ts'
import { postWebhook } from '../receiving/harness.ts'
import { dataOf, deliveries, emit, expectJson, startEmitting, subscribe, until } from './harness.ts'

interface Shown {
  id: number
  eventId: string
  status: string
  channels?: string[]
  tags?: string[]
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
  test('a subscriber with channels gets the events that share one', async () => {
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
    const response = await service.admin('/events', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    })
    const answers = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual(
      answers.map(({ status, pointer }) => [status, pointer]),
      [
        [202, undefined],
        [400, '/channels'],
      ],
    )
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
    assert.deepEqual(
      listed.map(({ eventId, channels, tags }) => [eventId, channels, tags]),
      [
        ['both', ['asia', 'us'], ['a#1', 'b']],
        ['none', undefined, undefined],
        ['later', ['eu'], undefined],
        ['line', ['asia'], undefined],
        ['handled', ['eu'], undefined],
      ],
    )
  })
})
