// Which event caused which, in both directions, and what stops a loop through an endpoint of the service itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standardWebhooks } from '../../src/index.ts'
import { emit, startEmitting, subscribe } from '../emitting/harness.ts'
import { findRow, onEachEngine, started, startReceiver, fields } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

type Detail = AnswerTo<'GET /events/{id}'>

onEachEngine('causes of events', (engine) => {
  const service = started(() =>
    startEmitting(engine, {
      receiving: {
        sources: { own: standardWebhooks({ secret }) },
        handlers: {
          'first.*': (_event, { emit }) => emit({ type: 'once.more', id: 'one', data: 1 }),
          'once.more': (_event, { emit }) => emit({ type: 'at.last', id: 'two', data: 1 }),
          round: (_event, { emit }) => {
            try {
              emit({ type: 'round', data: 1 })
            } catch {
              // A handler that takes every error for its own does not continue the loop.
            }
          },
        },
      },
    }),
  )
  const detail = async (id: number): Promise<Detail> =>
    (await (await service.fetch(`/events/${id}`)).json()) as Detail
  const numberOf = async (eventId: string, direction: 'received' | 'emitted'): Promise<number> =>
    (await eventually(() => findRow(service, 'events', { event_id: eventId, direction }))).id

  test('the chain of a webhook leads out, in again and out', async () => {
    await subscribe(service, {
      url: `${service.baseUrl}/webhooks/own`,
      secret,
      eventTypes: ['once.more', 'round'],
    })
    const receiver = await startReceiver(204)
    await subscribe(service, { url: receiver.url, eventTypes: ['at.last'] })
    assert.equal((await postWebhook(service, { id: 'zero', type: 'first.one' })).status, 200)
    const [call] = await receiver.waitFor(1)
    await receiver.close()
    assert.equal(call!.headers['postern-depth'], '3')

    const last = await detail(await numberOf('two', 'emitted'))
    const [incoming, first] = [await numberOf('zero', 'received'), await numberOf('one', 'emitted')]
    const again = await numberOf('one', 'received')
    assert.equal(last.causedBy, again)
    assert.deepEqual(fields(last.causes, 'id', 'direction', 'type'), [
      [again, 'received', 'once.more'],
      [first, 'emitted', 'once.more'],
      [incoming, 'received', 'first.one'],
    ])
    assert.deepEqual(last.headers, { 'postern-depth': '3' })
    const middle = await detail(first)
    assert.deepEqual([middle.causedBy, middle.headers], [incoming, null])
    const [returned] = middle.returned
    assert.deepEqual([returned?.id, returned?.source, returned?.type], [again, 'own', 'once.more'])
    assert.equal((await detail(again)).causedBy, first)
    assert.equal((await detail(incoming)).causedBy, null)
  })

  test('a webhook with the id of an emitted event, but of another sender, has no cause', async () => {
    const { id } = await emit(service, { type: 'of.call', id: 'same', data: 1 })
    await postWebhook(service, { id: 'same', type: 'none' }, { 'webhook-id': 'same' })
    const received = await detail(await numberOf('same', 'received'))
    assert.deepEqual([received.causedBy, received.causes], [null, []])
    assert.deepEqual((await detail(id)).returned, [])
  })

  test('a loop ends after 32 events, without further attempts, and with an alert', async () => {
    const { id } = await emit(service, { type: 'round', data: 1 })
    const failed = await eventually(() => findRow(service, 'event_queue', { status: 'failed' }))
    const end = await detail(failed.event)
    assert.equal(end.processing!.attempts, 1)
    assert.match(end.processing!.failures[0]!.error, /^EventLoop: The chain of events was stopped: 32 events/)
    assert.equal(end.causes.at(-1)!.id, id)
    assert.ok(end.causes.length >= 30 && end.causes.length < 32, String(end.causes.length))
    const attention = await eventually(async () => {
      const { data } = (await (await service.admin('/attention')).json()) as AnswerTo<'GET /attention'>
      return data.find(({ kind }) => kind === 'event-loop')
    })
    assert.match(attention.text, /^Handler round was stopped in a loop: .* 1 event failed/)
  })

  test('a forged depth stops only the event that claims it', async () => {
    for (const [index, depth] of ['-1', '9999', 'x', '1e1'].entries()) {
      const id = `odd-${index}`
      await postWebhook(service, { id, type: 'first.odd' }, { 'postern-depth': depth })
      const { status } = await eventually(async () => {
        const found = await detail(await numberOf(id, 'received'))
        return found.status === 'pending' ? undefined : found
      })
      assert.equal(status, 'processed')
    }
    await postWebhook(service, { id: 'deep', type: 'first.deep' }, { 'postern-depth': '31' })
    await eventually(() => findRow(service, 'event_queue', { event_id: 'deep', status: 'failed' }))
  })

  test('a service that responds to a delivery by POST /events sends the depth back', async () => {
    const call = (depth: string, json: unknown) =>
      service.admin('/events', { method: 'POST', json, headers: { 'postern-depth': depth } })
    const { id } = (await (await call('4', { type: 'by.call', data: 1 })).json()) as { id: number }
    assert.deepEqual((await detail(id)).headers, { 'postern-depth': '6' })
    const refused = await call('31', [{ type: 'by.call', data: 1 }])
    assert.equal(refused.status, 422)
    assert.match(await refused.text(), /The chain of events was stopped/)
  })
})
