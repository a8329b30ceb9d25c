import assert from 'node:assert/strict'
import { test } from 'node:test'
import { each, onEachEngine, rowIn, startedService } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

type Detail = AnswerTo<'GET /events/{id}'>

onEachEngine('GET /events/{id}', (engine) => {
  const service = startedService(engine, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0,0', EMIT_RETRY_SCHEDULE: '0,3600', ALLOW_PRIVATE_NETWORK: 'true' },
    handlers: {
      telling: (event, { emit }) => {
        emit({ type: 'order.told', data: { id: event.id } })
      },
      failing: (event) => {
        throw new Error(`no \0 good: ${event.id} \ud800 ${'x'.repeat(20_000)}`)
      },
    },
  }))

  const numberOf = async (eventId: string): Promise<number> => {
    const row = await rowIn(service, 'events', { event_id: eventId })
    return row.id
  }

  test('it shows what a handler emitted, and the attempts to deliver that', async () => {
    // Nothing listens there.
    const json = { url: 'http://127.0.0.1:9/hook', eventTypes: ['order.told'], description: 'Tells' }
    const { id: subscriberId } = (await (
      await service.admin('/subscribers', { method: 'POST', json })
    ).json()) as { id: string }
    await postWebhook(service, { id: 'order-1', type: 'telling' })
    const id = await numberOf('order-1')
    const shown = await eventually(async () => {
      const detail = (await (await service.admin(`/events/${id}`)).json()) as Detail
      return detail.emittedDeliveries[0]?.attemptLog.length ? detail : undefined
    })
    const [emitted] = shown.emitted
    const [delivery] = shown.emittedDeliveries
    assert.equal(emitted!.type, 'order.told')
    assert.ok(emitted!.createdAt !== null && emitted!.status !== null)
    assert.equal(delivery!.event, emitted!.id)
    assert.equal(delivery!.subscriberId, subscriberId)
    assert.equal(delivery!.subscriberHost, '127.0.0.1:9')
    assert.equal(delivery!.subscriberDescription, 'Tells')
    assert.equal(delivery!.attemptLog[0]!.number, 1)
    assert.equal(delivery!.attemptLog[0]!.failure, 'refused')
  })

  test('the payload is unchanged: large numbers, \\u0000, spaces and repeated names', async () => {
    const body =
      '{"id":"exact","type":"t", "n":123456789012345678901234567890, "f":1.10, "z":"\\u0000\\ud800", "a":1,"a":2}'
    await postWebhook(service, body)
    const response = await service.fetch(`/events/${await numberOf('exact')}`)
    const text = await response.text()
    assert.equal(response.status, 200)
    assert.ok(text.endsWith(`"payload":${body}}`), text)
    assert.doesNotThrow(() => JSON.parse(text))
  })

  test('it shows a bounded number of attempts and failures, and no headers with credentials', async () => {
    await postWebhook(
      service,
      { id: 'fails', type: 'failing' },
      { authorization: 'Bearer mine-alone', 'x-request-source': 'test' },
    )
    const id = await numberOf('fails')
    const detail = await eventually(async () => {
      const found = (await (await service.fetch(`/events/${id}`)).json()) as Detail
      return found.status === 'failed' ? found : undefined
    }, 'the event failed')
    assert.equal(detail.processing!.attempts, 2)
    assert.equal(detail.processing!.processedAt, null)
    assert.deepEqual(each(detail.processing!.failures, 'number'), [1, 2])
    const { error } = detail.processing!.failures[0]!
    assert.match(error, /^Error: no {2}good: fails/)
    assert.ok(Buffer.byteLength(error) <= 8 * 1024)
    assert.equal(detail.headers!['x-request-source'], 'test')
    assert.equal(JSON.stringify(detail).includes('mine-alone'), false)
    assert.equal('x-signature' in detail.headers!, false)
  })

  test('an unknown or invalid id is 404', async () => {
    for (const id of ['999999', 'abc', '1.5', '-1', '0', '01', '99999999999999999999', '1%00']) {
      assert.equal((await service.fetch(`/events/${id}`)).status, 404, id)
    }
  })

  test('reprocess: 404 for an unknown event, 409 for one that has not failed or was emitted, 401 without a key', async () => {
    await postWebhook(service, { id: 'fine', type: 'nobody' })
    const id = await numberOf('fine')
    const emitted = (await (
      await service.admin('/events', { method: 'POST', json: { type: 'out', data: {} } })
    ).json()) as { id: number }
    assert.equal((await service.admin('/events/999999/reprocess', { method: 'POST' })).status, 404)
    assert.equal((await service.admin('/events/abc/reprocess', { method: 'POST' })).status, 404)
    assert.equal((await service.admin(`/events/${id}/reprocess`, { method: 'POST' })).status, 409)
    assert.equal((await service.admin(`/events/${emitted.id}/reprocess`, { method: 'POST' })).status, 409)
    assert.equal((await service.fetch(`/events/${id}/reprocess`, { method: 'POST' })).status, 401)
  })

  test('an emitted event is in the log with its deliveries', async () => {
    const { id } = (await (
      await service.admin('/events', { method: 'POST', json: { type: 'out', data: { n: 1 } } })
    ).json()) as { id: number }
    const detail = (await (await service.fetch(`/events/${id}`)).json()) as Detail
    assert.equal(detail.direction, 'emitted')
    assert.equal(detail.status, 'unsubscribed')
    assert.equal(detail.processing, null)
    assert.deepEqual((detail.payload as { data?: unknown }).data, { n: 1 })
  })
})
