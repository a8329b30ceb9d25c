import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, startReceiver } from '../harness/index.ts'
import { postWebhook } from '../receiving/harness.ts'
import { dataOf, emit, startEmitting, subscribe, until } from './harness.ts'

const types = ['order.eu.paid', 'order.paid', 'user.created', 'user.created.late']

onEachEngine('patterns of event types', (engine) => {
  test('subscribers, handlers and the log take wildcards anywhere', async () => {
    await using receiver = await startReceiver()
    const handled: string[] = []
    await using service = await startEmitting(engine, {
      receiving: {
        handlers: {
          '*.created': ({ type }) => void handled.push(`*.created ${type}`),
          'order.*.paid': ({ type }) => void handled.push(`order.*.paid ${type}`),
          'broken.*.x': () => {
            throw new Error('broken')
          },
        },
      },
      env: { HANDLER_RETRY_SCHEDULE: '0' },
    })
    await subscribe(service, { url: receiver.url, eventTypes: ['*.created', 'order.*.paid'] })
    for (const type of types) await emit(service, { type, data: 1 })
    const calls = await receiver.waitFor(2)
    const sent = calls.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
    assert.deepEqual(sent.toSorted(), ['order.eu.paid', 'user.created'])
    for (const [index, type] of [...types, 'broken.a.x', 'broken.b'].entries())
      await postWebhook(service, { id: `in-${index}`, type, data: 1 })
    const found = async (path: string): Promise<string[]> =>
      (await dataOf<{ type: string }>(service, path)).map(({ type }) => type).toSorted()
    await until(async () => (await found('/events?status=failed')).length === 1, 'one failed')
    await until(async () => handled.length === 2, 'two were handled')
    assert.deepEqual(handled.toSorted(), ['*.created user.created', 'order.*.paid order.eu.paid'])
    const received = '/events?direction=received&type='
    assert.deepEqual(await found(`${received}*.created`), ['user.created'])
    assert.deepEqual(await found(`${received}order.*.paid`), ['order.eu.paid'])
    assert.deepEqual(await found(`${received}*.created.*`), ['user.created.late'])
    assert.deepEqual(await found(`${received}*.Created`), [])
    assert.deepEqual(await found('/events/failed?type=*.x'), ['broken.a.x'])
    assert.deepEqual(await found('/events/failed?handler=broken.*.x'), ['broken.a.x'])
  })
})
