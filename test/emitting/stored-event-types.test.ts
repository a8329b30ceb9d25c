// Event types that are created through the API, in addition to those that the configuration declares.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { each } from '../harness/fields.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { emitLines, dataOf, emit, expectJson, startEmitting } from './harness.ts'

type Service = Awaited<ReturnType<typeof startEmitting>>
type Shown = AnswerTo<'GET /event-types'>['data'][number]

const put = (service: Service, status: number, type: string, json: object) =>
  expectJson<Record<string, unknown>>(service, status, `/event-types/${type}`, { method: 'PUT', json })
const shownBy = async (service: Service): Promise<Shown[]> => {
  const { data } = (await (await service.fetch('/event-types')).json()) as { data: Shown[] }
  return data.filter(({ stored }) => stored)
}
const typesOf = (all: readonly { type: string }[]): string[] => all.map(({ type }) => type)

onEachEngine('stored event types', (engine) => {
  test('event types are created, replaced, listed and deleted, with audit entries', async () => {
    await using service = await startEmitting(engine)
    const schemas = {
      9: { type: 'object', examples: [{ old: true }] },
      10: { type: 'object', properties: { id: { type: 'integer' } }, examples: [{ id: 7 }] },
    }
    const made = await put(service, 201, 'order.paid', { description: 'Paid.', schemas, group: 'order' })
    assert.deepEqual(
      [made.type, made.description, made.schemas, made.group, made.archived],
      ['order.paid', 'Paid.', schemas, 'order', false],
    )
    await put(service, 201, 'a%2Fb', { featureFlags: ['beta'] })
    await put(service, 201, 'Old', { archived: true })
    const shown = await shownBy(service)
    assert.deepEqual(typesOf(shown), ['order.paid'], 'no archived type, and none behind a flag')
    assert.deepEqual([shown[0]!.schema, shown[0]!.samples], [schemas[10], [{ id: 7 }]], 'the newest version')
    assert.deepEqual(typesOf(await dataOf(service, '/stored-event-types')), ['Old', 'a/b', 'order.paid'])
    const found = await expectJson<object>(service, 200, '/search?q=order.pa')
    assert.match(JSON.stringify(found), /"event-type"/)

    const replaced = await put(service, 200, 'order.paid', { description: 'Paid in full.' })
    assert.deepEqual([replaced.schemas, replaced.group], [null, null])
    assert.equal(replaced.createdAt, made.createdAt)
    await put(service, 200, 'order.paid', { description: 'Paid in full.' })
    assert.equal((await service.admin('/event-types/order.paid', { method: 'DELETE' })).status, 204)
    assert.equal((await service.admin('/event-types/order.paid', { method: 'DELETE' })).status, 404)
    const audit = await dataOf<{ action: string; target: string; detail: unknown }>(
      service,
      '/audit?q=event_type:order.paid',
    )
    assert.deepEqual(
      audit.filter(({ target }) => target === 'event_type:order.paid').map(({ action }) => action),
      ['event_type.deleted', 'event_type.changed', 'event_type.created'],
      'a request that changes nothing leaves no entry',
    )
  })

  test('invalid fields and declared types are rejected with a reason', async () => {
    const config = defineConfig({ emitting: { eventTypes: { declared: {} } } })
    await using service = await startEmitting(engine, { config })
    const refused: [number, string, object, RegExp][] = [
      [400, 'a', { schemas: { 1: { properties: { id: { readOnly: 15 } } } } }, /\/properties\/id\/readOnly/],
      [400, 'a', { schemas: { 1: 'text' } }, /Version 1 of the schema of a/],
      [400, 'a', { schemas: { 1: { title: 'x'.repeat(262_144) } } }, /262144 characters/],
      [
        400,
        'a',
        { schemas: { 1: { x: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown } } },
        /100 levels/,
      ],
      [400, 'a', { description: 'a\u0000b' }, /control character/],
      [400, 'a', { featureFlags: [] }, /featureFlags/],
      [400, 'a b', {}, /type/],
      [409, 'declared', {}, /declares declared/],
      [409, 'postern.test', {}, /declares postern\.test/],
    ]
    for (const [status, type, json, reason] of refused) {
      const problem = await put(service, status, encodeURIComponent(type), json)
      assert.match(JSON.stringify(problem), reason)
    }
    assert.deepEqual(await dataOf(service, '/stored-event-types'), [])
  })

  test('a stored type counts as declared at once; an archived one does not', async () => {
    const config = defineConfig({
      emitting: { eventTypes: { declared: {} }, undeclaredTypes: 'refuse' },
    })
    await using service = await startEmitting(engine, { config })
    const send = async (body: object): Promise<[number, string]> => {
      const response = await service.admin('/events', { method: 'POST', json: body })
      return [response.status, await response.text()]
    }
    const event = { type: 'order.paid', data: { any: 'data' } }
    const [status, text] = await send(event)
    assert.deepEqual([status, /order\.paid is not declared/.test(text)], [400, true])
    await put(service, 201, 'order.paid', { schemas: { 1: { type: 'string' } } })
    await emit(service, event)
    const many = [{ type: 'declared', data: 1 }, event]
    assert.equal((await send(many))[0], 202)
    const lines = `${JSON.stringify(event)}\n${JSON.stringify({ type: 'other', data: 1 })}\n`
    assert.deepEqual(each(await emitLines(service, lines), 'status'), [202, 400])
    await put(service, 200, 'order.paid', { archived: true })
    assert.equal((await send(event))[0], 400)
  })
})
