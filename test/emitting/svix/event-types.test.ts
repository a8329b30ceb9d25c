// v1.event-type.* and v1.environment.*, together with Postern's own API.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineConfig } from '../../../src/index.ts'
import { onEachEngine, started, fields, each } from '../../harness/index.ts'
import { dataOf, startEmitting } from '../harness.ts'

interface Type {
  name: string
  description: string
  archived: boolean
  schemas: Record<string, Record<string, unknown>> | null
  groupName: string | null
  featureFlags: string[] | null
  featureFlag: string | null
}
interface Page {
  data: Type[]
  iterator: string
  prevIterator: string
  done: boolean
}

const yaml = `
openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
webhooks:
  pet.new:
    post:
      requestBody:
        description: A new pet
        content:
          application/json:
            schema: { $ref: "#/components/schemas/Pet" }
            example: { id: 7 }
  pet.gone:
    $ref: "#/components/pathItems/gone"
components:
  pathItems:
    gone:
      post: { summary: A pet left, deprecated: true }
  schemas:
    Pet:
      type: object
      required: [id]
      properties:
        id: { type: integer, minimum: 0, exclusiveMinimum: true }
        friends: { type: array, items: { $ref: "#/components/schemas/Pet" } }
`
const declared = { description: 'Declared.', schema: { type: 'object' }, samples: [{ a: 1 }] }

onEachEngine("Svix's event types", (engine) => {
  const service = started(() =>
    startEmitting(engine, { config: defineConfig({ emitting: { eventTypes: { 'm.declared': declared } } }) }),
  )

  async function call<T>(
    method: string,
    path: string,
    status: number,
    json?: unknown,
    token?: string,
  ): Promise<T> {
    const options = { method, json, ...(token && { headers: { authorization: `Bearer ${token}` } }) }
    const response = token
      ? await service.fetch(`/api/v1${path}`, options)
      : await service.admin(`/api/v1${path}`, options)
    const text = await response.text()
    assert.equal(response.status, status, `${method} ${path}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }
  const names = ({ data }: Page): string[] => data.map(({ name }) => name)
  const taskOf = (id: string) =>
    call<{ status: string; data: { spec: { webhooks: object } } }>('GET', `/background-task/${id}`, 200)

  test('pages go both ways through stored and declared types', async () => {
    for (const name of ['l.1', 'l.2', 'n.1', 'n.2'])
      await call('POST', '/event-type', 201, { name, description: name, groupName: 'l' })
    await service.admin('/event-types/l.3', { method: 'PUT', json: { description: 'By the other API' } })
    const first = await call<Page>('GET', '/event-type?limit=3', 200)
    assert.deepEqual([names(first), first.done], [['l.1', 'l.2', 'l.3'], false])
    const second = await call<Page>(
      'GET',
      `/event-type?limit=3&iterator=${first.iterator}&with_content=true`,
      200,
    )
    assert.deepEqual([names(second), second.done], [['m.declared', 'n.1', 'n.2'], true])
    assert.deepEqual(second.data[0]!.schemas, { 1: { type: 'object', examples: [{ a: 1 }] } })
    const back = await call<Page>('GET', `/event-type?limit=2&iterator=${second.prevIterator}`, 200)
    assert.deepEqual(names(back), ['l.2', 'l.3'])
    const last = await call<Page>('GET', '/event-type?limit=2&order=descending', 200)
    assert.deepEqual(names(last), ['n.2', 'n.1'])
    const refused = await call<{ code: string; detail: string }>('PATCH', '/event-type/m.declared', 409, {
      description: 'Another',
    })
    assert.match(refused.detail, /declares m\.declared/)
    await call('POST', '/event-type', 409, { name: 'm.declared', description: 'x' })
    await call('DELETE', '/event-type/m.declared', 409)
    for (const name of ['l.1', 'l.2', 'l.3', 'n.1', 'n.2'])
      await call('DELETE', `/event-type/${name}?expunge=true`, 204)
  })

  test('both names of feature flags work, and tokens see the types of their own flags', async () => {
    await call('POST', '/event-type', 201, { name: 'f.one', description: '', featureFlag: 'one' })
    const both = { description: '', featureFlags: ['one', 'two'], groupName: 'f' }
    const made = await call<Type>('PUT', '/event-type/f.both', 201, both)
    assert.deepEqual([made.featureFlag, made.featureFlags, made.groupName], ['one', ['one', 'two'], 'f'])
    await call('POST', '/event-type', 201, { name: 'f.none', description: '' })
    await call('POST', '/app', 201, { name: 'Acme', uid: 'flagged' })
    for (const [featureFlags, seen] of [
      [undefined, ['f.none', 'm.declared']],
      [['two'], ['f.both', 'f.none', 'm.declared']],
      [
        ['one', 'other'],
        ['f.both', 'f.none', 'f.one', 'm.declared'],
      ],
    ] as const) {
      const { token } = await call<{ token: string }>('POST', '/auth/app-portal-access/flagged', 200, {
        featureFlags,
      })
      assert.deepEqual(names(await call<Page>('GET', '/event-type', 200, undefined, token)), seen)
      await call('GET', '/event-type/f.one', featureFlags?.[0] === 'one' ? 200 : 404, undefined, token)
      await call('POST', '/event-type', 403, { name: 'f.x', description: '' }, token)
    }
    const cleared = await call<Type>('PATCH', '/event-type/f.both', 200, { featureFlags: null })
    assert.deepEqual([cleared.featureFlag, cleared.featureFlags, cleared.groupName], [null, null, 'f'])
    await call('PUT', '/event-type/f.both', 422, { description: '', groupName: 7 })
    await call('PUT', '/event-type/f.both', 422, { description: 'x'.repeat(10_001) })
    await call('PUT', '/event-type/f.both', 422, { description: 'a\u0001' })
    for (const name of ['f.one', 'f.both', 'f.none'])
      await call('DELETE', `/event-type/${name}?expunge=true`, 204)
  })

  test('an OpenAPI document is imported and exported, and the export is imported again', async () => {
    const body = { specRaw: yaml }
    const found = await call<{ data: { modified: string[]; to_modify: Type[] } }>(
      'POST',
      '/event-type/import/openapi',
      200,
      { ...body, dryRun: true },
    )
    assert.deepEqual(found.data.modified, [])
    assert.deepEqual(fields(found.data.to_modify, 'name', 'description'), [
      ['pet.new', 'A new pet'],
      ['pet.gone', 'A pet left'],
    ])
    await call('GET', '/event-type/pet.new', 404)
    await call('POST', '/event-type', 201, { name: 'pet.old', description: '' })
    await call('POST', '/event-type', 201, { name: 'pet.new', description: '', archived: true })
    await call('POST', '/event-type/import/openapi', 200, { ...body, replaceAll: true })
    const pet = await call<Type>('GET', '/event-type/pet.new', 200)
    assert.deepEqual([pet.archived, pet.schemas!['1']!['examples']], [false, [{ id: 7 }]])
    const friends = { type: 'array', items: { $ref: '#/definitions/Pet' } }
    const { properties } = pet.schemas!['1'] as { properties: { friends: object } }
    assert.deepEqual(properties.friends, friends)
    assert.deepEqual(Object.keys(pet.schemas!['1']!['definitions'] as object), ['Pet'])
    assert.equal((await call<Type>('GET', '/event-type/pet.old', 200)).archived, true)
    assert.equal((await call<Type>('GET', '/event-type/m.declared', 200)).archived, false)

    const task = await call<{ id: string; task: string }>('POST', '/event-type/export/openapi', 202)
    assert.equal(task.task, 'sdk.generate')
    const { spec } = (await taskOf(task.id)).data
    assert.deepEqual(Object.keys(spec.webhooks), ['m.declared', 'pet.gone', 'pet.new'])
    const again = await call<{ data: { modified: string[] } }>('POST', '/event-type/import/openapi', 200, {
      spec,
    })
    assert.deepEqual(again.data.modified, ['pet.gone', 'pet.new'], 'the declared one stays')
    const after = await call<{ schemas: Record<string, object> }>('GET', '/event-type/pet.new', 200)
    assert.match(JSON.stringify(after.schemas), /"items":\{"\$ref":"#\/definitions\/pet\.new\.Pet"\}/)
    assert.deepEqual((await taskOf(task.id)).data.spec, spec)
    for (const name of ['pet.new', 'pet.old', 'pet.gone'])
      await call('DELETE', `/event-type/${name}?expunge=true`, 204)
  })

  test('an invalid OpenAPI document is rejected with the reason, and changes nothing', async () => {
    const webhook = (schema: unknown) => ({
      spec: {
        webhooks: { ok: { post: {} }, bad: { post: { requestBody: { content: { 'a/b': { schema } } } } } },
      },
    })
    let nested: unknown = {}
    for (let level = 0; level < 5_000; level += 1) nested = { a: nested }
    // The parser compares each key with all others.
    const slow = Array.from({ length: 90_000 }, (_, n) => `k${n}: 1\n`).join('')
    // Each reference is another text, and names the same part.
    const name = '~'.repeat(7)
    const references = Array.from({ length: 100 }, (_, n) => {
      const text = Array.from(name, (tilde, bit) => (Math.floor(n / 2 ** bit) % 2 ? `${tilde}0` : tilde))
      return { $ref: `#/${text.join('')}` }
    })
    const copied = {
      ...webhook({ allOf: references }).spec,
      [name]: { enum: Array.from({ length: 5_000 }, () => 'x') },
    }
    const refused: [number, object, RegExp][] = [
      [400, {}, /either/],
      [400, { spec: {}, specRaw: '{}' }, /either/],
      [422, { specRaw: 'a: [' }, /Not a document/],
      [422, { specRaw: '- a' }, /must be an object/],
      [422, { spec: { webhooks: { 'a b': { post: {} } } } }, /not a valid event type/],
      [422, { spec: { webhooks: { a: {} } } }, /no operation/],
      [422, { spec: { webhooks: { a: { $ref: '#/webhooks/a' } } } }, /circular reference/],
      [422, webhook({ $ref: '#/components/schemas/None' }), /not in the document/],
      [422, webhook({ type: 'none' }), /schema of bad/],
      [422, webhook(nested), /Not a document/],
      [422, { specRaw: slow }, /takes too long/],
      [422, { dryRun: true, spec: copied }, /more than 262144 characters/],
    ]
    for (const [status, body, reason] of refused)
      assert.match(JSON.stringify(await call('POST', '/event-type/import/openapi', status, body)), reason)
    await call('GET', '/event-type/ok', 404)
  })

  test('a document that its parser warns of is imported, and nothing of it is printed', async () => {
    const printed: string[] = []
    const onWarning = (warning: Error): void => void printed.push(String(warning))
    process.on('warning', onWarning)
    const specRaw = '%SECRET a\n---\nwebhooks: !secret\n  warned:\n    post:\n      ? [secret]\n      : 1\n'
    const found = await call<{ data: { to_modify: Type[] } }>('POST', '/event-type/import/openapi', 200, {
      specRaw,
      dryRun: true,
    })
    process.off('warning', onWarning)
    assert.deepEqual(fields(found.data.to_modify, 'name'), [['warned']])
    assert.deepEqual(printed, [])
  })

  test('an exported environment can be imported, but not with settings', async () => {
    await call('POST', '/event-type', 201, {
      name: 'e.old',
      description: 'Old',
      archived: true,
      featureFlags: ['x'],
    })
    const exported = await call<{ eventTypes: Type[] }>('POST', '/environment/export', 200)
    assert.deepEqual(each(exported.eventTypes, 'name'), ['e.old', 'm.declared'])
    await call('DELETE', '/event-type/e.old?expunge=true', 204)
    const imported: unknown = await call('POST', '/environment/import', 204, exported)
    assert.equal(imported, undefined)
    const [stored] = await dataOf<Record<string, unknown>>(service, '/stored-event-types')
    assert.deepEqual([stored!['type'], stored!['archived'], stored!['featureFlags']], ['e.old', true, ['x']])
    // Few of them would be stored: the entries are counted, because each is written.
    const eventTypes = Array.from({ length: 1_001 }, (_, n) => ({ name: `e.${n % 10}`, description: '' }))
    await call('POST', '/environment/import', 409, { eventTypes })
    await call('POST', '/environment/import', 400, { settings: { customColor: '#ffffff' } })
    await call('DELETE', '/event-type/e.old?expunge=true', 204)
    const settings = await call<{ enableChannels: boolean }>('GET', '/environment/settings', 200)
    assert.equal(settings.enableChannels, true)
  })

  test('a type has no retry schedule of its own', async () => {
    const path = '/event-type/m.declared/retry-schedule'
    assert.deepEqual(await call('GET', path, 200), { retrySchedule: null })
    assert.deepEqual(await call('PUT', path, 200, {}), { retrySchedule: null })
    const refused = await call('PUT', path, 400, { retrySchedule: [{ secs: 5, nanos: 0 }] })
    assert.match(JSON.stringify(refused), /setting of an endpoint/)
    await call('GET', '/event-type/none/retry-schedule', 404)
  })

  test('samples of a declared type without a schema are its examples', async () => {
    const eventTypes = { sampled: { samples: [{ a: 1 }] }, bare: {} }
    await using other = await startEmitting(engine, { config: defineConfig({ emitting: { eventTypes } }) })
    const data = await dataOf<Type>(other, '/api/v1/event-type?with_content=true')
    assert.deepEqual(each(data, 'schemas'), [null, { 1: { examples: [{ a: 1 }] } }])
  })
})
