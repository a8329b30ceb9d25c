// Types of events that the configuration declares: checked at emit, shown in the catalogue.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig, type PosternConfig } from '../../src/index.ts'
import { engines, onEachEngine } from '../harness/engines.ts'
import { each } from '../harness/fields.ts'
import { started } from '../harness/started.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { emitLines, dataOf, expectJson, emit, startEmitting, subscribe, deliveries } from './harness.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'

const paid = {
  description: 'An order was paid.',
  schema: {
    $defs: { money: { type: 'integer', minimum: 1 } },
    type: 'object',
    required: ['amount'],
    properties: { amount: { $ref: '#/$defs/money' }, note: { type: 'string', maxLength: 5 } },
    additionalProperties: false,
  },
  samples: [{ amount: 12 }],
}
const emitting = {
  eventTypes: { 'order.paid': paid, 'order.seen': { schema: { type: 'string' }, samples: ['x'] } },
} satisfies PosternConfig['emitting']

const standard = {
  version: 1,
  vendor: 'test',
  validate: (value: unknown) =>
    typeof value === 'string' ? { value } : { issues: [{ message: 'is no text' }] },
} as const
const jsonSchema = { input: () => ({ type: 'string' }) }
const ofAnotherLibrary = {
  plain: { schema: { '~standard': standard } },
  shown: { schema: { '~standard': { ...standard, jsonSchema } } },
}

onEachEngine('event types', (engine) => {
  const service = started(() =>
    startEmitting(engine, {
      env: { HANDLER_RETRY_SCHEDULE: '0' },
      config: defineConfig({
        emitting: { eventTypes: { ...emitting.eventTypes, ...ofAnotherLibrary } },
        receiving: {
          handlers: {
            good: (_event, { emit }) => emit({ type: 'order.paid', data: { amount: 1 } }),
            bad: (_event, { emit }) => emit({ type: 'order.paid', data: { amount: 0 } }),
          },
        },
      }),
    }),
  )

  test('events must match their declared schema, however they are emitted', async () => {
    const { id } = await subscribe(service, { url: 'http://127.0.0.1:9/' })
    await emit(service, { type: 'order.paid', data: { amount: 3, note: 'a' } })
    await emit(service, { type: 'undeclared', data: 'anything' })
    const bad = [
      {},
      { amount: 0 },
      { amount: '3' },
      { amount: 3, more: 1 },
      { amount: 3, note: 'too long' },
      null,
    ]
    for (const data of bad) {
      const response = await service.admin('/events', { method: 'POST', json: { type: 'order.paid', data } })
      const problem = (await response.json()) as { code: string; source: { pointer: string } }
      assert.equal(response.status, 400, JSON.stringify(data))
      assert.deepEqual([problem.code, problem.source.pointer], ['invalid-body', '/data'])
    }
    // A number with more digits than a double has is a number all the same.
    const great = await service.admin('/events', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"type":"order.paid","data":{"amount":12345678901234567890}}',
    })
    assert.equal(great.status, 202)
    const lines = '{"type":"order.paid","data":{}}\n{"type":"order.paid","data":{"amount":1}}\n'
    assert.deepEqual(each(await emitLines(service, lines), 'status'), [400, 202])
    const before = (await deliveries(service, id)).length
    await postWebhook(service, { id: 'r-1', type: 'bad' })
    await postWebhook(service, { id: 'r-2', type: 'good' })
    const { data } = await eventually(async () => {
      const path = '/events?limit=100'
      const log = await expectJson<{ data: { eventId: string; status: string; id: number }[] }>(
        service,
        200,
        path,
      )
      const of = (eventId: string) => log.data.find((event) => event.eventId === eventId)?.status
      return of('r-1') === 'failed' && of('r-2') === 'processed' ? log : undefined
    })
    const failed = data.find(({ eventId }) => eventId === 'r-1')!
    assert.match(
      JSON.stringify(await expectJson(service, 200, `/events/${failed.id}`)),
      /schema of order\.paid/,
    )
    assert.equal((await deliveries(service, id)).length, before + 1)
  })

  test('a schema of another library validates, and shows its JSON Schema if it has one', async () => {
    await emit(service, { type: 'plain', data: 'a' })
    const response = await service.admin('/events', { method: 'POST', json: { type: 'plain', data: 1 } })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /schema of plain: it is no text/)
    const data = await dataOf<{ type: string; schema: unknown }>(service, '/event-types')
    const schemaOf = (wanted: string): unknown => data.find(({ type }) => type === wanted)!.schema
    assert.equal(schemaOf('plain'), null)
    assert.deepEqual(schemaOf('shown'), { type: 'string' })
  })

  test('undeclared types are refused if configured, except those of the service', async () => {
    const config = defineConfig({
      emitting: { ...emitting, undeclaredTypes: 'refuse' },
      login: { events: true },
    })
    await using strict = await startEmitting(engine, { config })
    const response = await strict.admin('/events', { method: 'POST', json: { type: 'order.payd', data: 1 } })
    assert.equal(response.status, 400)
    assert.match(await response.text(), /order\.payd is not declared/)
    await emit(strict, { type: 'order.seen', data: 'x' })
    const catalogue = await expectJson<{ data: { type: string }[] }>(strict, 200, '/event-types')
    assert.ok(
      catalogue.data.some(({ type }) => type === 'user.created'),
      'they are switched on',
    )
    const { id } = await subscribe(strict, { url: 'http://127.0.0.1:9/' })
    await expectJson(strict, 202, `/subscribers/${id}/test`, { method: 'POST' })
  })

  test('the catalogue and the API reference show them with samples', async () => {
    const response = await service.fetch('/event-types')
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as AnswerTo<'GET /event-types'>
    const shown = data.find(({ type }) => type === 'order.paid')!
    const others = { builtIn: false, stored: false, deprecated: false, group: null }
    assert.deepEqual(shown, { type: 'order.paid', ...others, ...paid })
    assert.ok(data.some(({ type }) => type === 'postern.test'))
    assert.ok(!data.some(({ type }) => type === 'user.created'), 'they are off')
    const path = '/openapi.json'
    const document = await expectJson<{
      webhooks: Record<string, { post: { requestBody: { content: Record<string, { examples: unknown }> } } }>
    }>(service, 200, path)
    const { examples } = document.webhooks['order.paid']!.post.requestBody.content['application/json']!
    assert.match(JSON.stringify(examples), /"data":\{"amount":12\}/)
  })
})

test('an invalid declaration stops the start with a message that names it', async () => {
  const wrong: [NonNullable<PosternConfig['emitting']>, RegExp][] = [
    [{ eventTypes: { 'a b': {} } }, /"a b"/],
    [{ eventTypes: { 'postern.test': {} } }, /an event of the service itself/],
    [{ eventTypes: { a: { schema: { type: 'string' }, samples: [7] } } }, /sample 1 of a/],
    [{ eventTypes: { a: { schema: { pattern: '(' } } } }, /schema of a/],
    [{ undeclaredTypes: 'never' as 'refuse' }, /undeclaredTypes/],
    [{ eventTypes: { a: 'text' as never } }, /of a/],
  ]
  for (const [config, message] of wrong)
    await assert.rejects(startEmitting(engines[0]!, { config: { emitting: config } }), message)
})
