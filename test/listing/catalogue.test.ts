import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { measurements, tablesOf } from './declared.ts'
import { listService } from './service.ts'

type Described = AnswerTo<'GET /lists'>['data'][number]

onEachEngine('GET /lists', (engine) => {
  const declared = list({
    ...measurements,
    access: 'admin',
    filters: {
      state: 'in',
      minSmall: { kind: 'atLeast', field: 'small' },
      of: { kind: 'equals', field: 'owner' },
    },
    pages: ['offset', 'cursor'],
    exports: true,
    expand: {
      twin: { table: 'measurements', from: 'id', fields: { text: { type: 'text', column: 'a_text' } } },
    },
  })
  const personal = list({ ...measurements, path: '/mine', name: 'mine', access: 'user' })
  const { service } = listService(engine, [declared, personal], tablesOf(engine))

  const keyWith = async (...scopes: string[]): Promise<string> => {
    const response = await service.admin('/keys', { method: 'POST', json: { name: 'k', scopes } })
    assert.equal(response.status, 201)
    return ((await response.json()) as { key: string }).key
  }
  const listsOf = async (key: string): Promise<Map<string, Described>> => {
    const response = await service.fetch('/lists', { headers: { authorization: `Bearer ${key}` } })
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: Described[] }
    return new Map(data.map((one) => [one.path, one]))
  }

  test('describes a declared list, and names no hidden field', async () => {
    const lists = await listsOf(await keyWith('lists:read'))
    const { fields, filters, ...rest } = lists.get('/measurements')!
    assert.deepEqual(
      fields.find(({ name }) => name === 'state'),
      { name: 'state', type: 'enum', nullable: false, values: ['new', 'done', 'odd'], description: '' },
    )
    assert.equal(fields.find(({ name }) => name === 'small')!.nullable, true)
    assert.ok(!fields.some(({ name }) => name === 'owner'))
    assert.deepEqual(
      filters.map(({ parameter, operator, field, type }) => [parameter, operator, field, type]),
      [
        ['state', 'in', 'state', 'enum'],
        ['minSmall', 'atLeast', 'small', 'integer'],
        ['of', 'equals', null, 'text'],
      ],
    )
    assert.doesNotMatch(JSON.stringify(rest) + JSON.stringify(filters), /owner/)
    assert.deepEqual(
      { key: rest.key, order: rest.order, pages: rest.pages, exports: rest.exports, access: rest.access },
      {
        key: ['id'],
        order: ['-at'],
        pages: ['offset', 'cursor'],
        exports: ['ndjson', 'csv'],
        access: 'admin',
      },
    )
    assert.deepEqual(rest.sorts, measurements.sort)
    assert.deepEqual(
      rest.expansions.map(({ name, many, fields }) => [name, many, fields.map((field) => field.name)]),
      [['twin', false, ['text']]],
    )
  })

  test('the sorts and filters that it names are those of the list', async () => {
    const lists = await listsOf(await keyWith('lists:read'))
    for (const { path, sorts, filters } of lists.values()) {
      const document = (await (await service.fetch('/openapi.json')).json()) as {
        paths: Record<string, { get: { parameters?: { name: string }[] } }>
      }
      const named = document.paths[path]!.get.parameters ?? []
      const parameters = new Set(named.map(({ name }) => name))
      assert.equal(parameters.has('sort'), sorts.length > 0, path)
      for (const { parameter } of filters) assert.ok(parameters.has(parameter), `${path} ${parameter}`)
    }
  })

  test('shows a caller only the lists that it may read, and the writes that it may make', async () => {
    const reading = await listsOf(await keyWith('lists:read'))
    assert.deepEqual([...reading.keys()].toSorted(), ['/api/posts', '/measurements', '/mine', '/products'])
    assert.equal(reading.get('/products')!.writes, null)
    assert.deepEqual([...(await listsOf(await keyWith('users:read'))).keys()].toSorted(), [
      '/api/posts',
      '/products',
      '/users',
    ])
    const writing = await listsOf(await keyWith('lists:read', 'lists:write'))
    const { writes } = writing.get('/products')!
    assert.equal(writes!.delete, true)
    const create = writes!.create as { properties: object; required: string[] }
    assert.deepEqual(create.required.toSorted(), ['category', 'name', 'price', 'stock'])
    assert.deepEqual(Object.keys(create.properties), [
      'id',
      'category',
      'price',
      'stock',
      'name',
      'createdAt',
    ])
    assert.equal(writing.get('/measurements')!.writes, null)
    const refused = await keyWith('lists:write')
    const response = await service.fetch('/lists', { headers: { authorization: `Bearer ${refused}` } })
    assert.equal(response.status, 403)
    assert.equal((await service.fetch('/lists')).status, 401)
  })
})
