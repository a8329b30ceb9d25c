// What a declared list does over HTTP: whose rows, which fields, other tables' rows, pages both ways, totals, streams.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { insertMeasurements, measurements, tablesOf } from './declared.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const rows = 60
const owned = list({
  ...measurements,
  path: '/owned',
  strict: false,
  pages: ['cursor', 'offset'],
  order: ['-day'],
  filters: {
    text: 'equals',
    small: { kind: 'in' },
    after: { kind: 'above', field: 'at' },
    minExact: { kind: 'atLeast', field: 'exact' },
    fine: 'flag',
    state: 'equals',
    unknownText: { kind: 'null', field: 'text' },
    whose: { kind: 'equals', field: 'owner' },
  },
  expand: {
    person: {
      table: 'people',
      from: 'owner',
      key: 'login',
      fields: { name: { type: 'text' }, secret: { type: 'text', hidden: true } },
    },
  },
  exports: true,
})
const people = [
  `create table people (login text primary key, name text not null, secret text not null)`,
  `insert into people values ('ada', 'Ada', 'x')`,
]

type Item = Record<string, unknown>
interface Operation {
  parameters: { name: string; schema: object; description?: string }[]
}

onEachEngine('a declared list', (engine) => {
  const { service } = listService(
    engine,
    [
      owned,
      list({
        ...measurements,
        path: '/mine',
        access: 'user',
        where: (caller) => ({ owner: caller.userId }),
      }),
      list({
        ...measurements,
        path: '/bobs',
        access: 'admin',
        order: ['id'],
        where: () => ({ owner: ['bob'], fine: true, text: null }),
      }),
      list({ ...measurements, path: '/members', access: 'user' }),
      list({ ...measurements, path: '/nobodys', where: () => false }),
      list({
        ...measurements,
        path: '/estimated',
        strict: false,
        pages: ['offset'],
        count: 'estimate',
      }),
    ],
    [...tablesOf(engine), ...people],
  )
  before(() => insertMeasurements(service.database, rows))

  const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    service.fetch(path, { headers })
  const data = async (path: string): Promise<Item[]> => (await readList(service, path)).data

  test('access is enforced in demo mode, too', async () => {
    assert.equal((await get('/owned')).status, 200)
    assert.equal((await get('/bobs')).status, 401)
    assert.equal((await get('/mine')).status, 401)
    assert.equal((await service.admin('/bobs')).status, 200)
  })

  test('an API key with the scope reads a list for users, of which no row is its own', async () => {
    const keyed = async (path: string, scope: string): Promise<Response> => {
      const created = await service.admin('/keys', { method: 'POST', json: { name: 'k', scopes: [scope] } })
      const { key } = (await created.json()) as { key: string }
      return get(path, { authorization: `Bearer ${key}` })
    }
    const mine = await keyed('/mine', 'lists:read')
    assert.equal(mine.status, 200)
    assert.deepEqual(((await mine.json()) as { data: Item[] }).data, [])
    const members = await keyed('/members?limit=100', 'lists:read')
    assert.equal(((await members.json()) as { data: Item[] }).data.length, rows)
    for (const path of ['/mine', '/members']) {
      const refused = await keyed(path, 'events:read')
      assert.equal(refused.status, 403)
      assert.equal(((await refused.json()) as { code: string }).code, 'insufficient-scope')
    }
  })

  test('rows that `where` does not allow are never returned', async () => {
    const all = await data('/bobs?limit=100')
    assert.ok(all.length > 0 && all.length < rows / 2)
    assert.ok(all.every(({ fine, text }) => fine === true && text === null))
    assert.deepEqual(await data('/nobodys'), [])
  })

  test('a hidden field is not shown, sortable or documented', async () => {
    const [item] = await data('/owned?fields=owner&sort=owner&limit=1')
    assert.ok(!('owner' in item!))
    const { paths } = (await (await get('/openapi.json')).json()) as { paths: Record<string, unknown> }
    assert.doesNotMatch(JSON.stringify(paths['/owned']), /"owner"|"secret"/)
    // A filter that the declaration puts on it works.
    assert.equal((await data('/owned?whose=ada&limit=100')).length, rows / 2)
  })

  test('values are shown exactly: integers beyond 2^53, decimals, microseconds, JSON', async () => {
    const items = await data('/owned?limit=100&sort=id')
    assert.equal(items[0]!['id'], '9007199254740993')
    assert.deepEqual(
      new Set(items.map(({ at }) => at)),
      new Set(
        [null, '.000137', '.000274', '.999999', '.000'].map((end) => end && `2026-01-31T08:30:00${end}Z`),
      ),
    )
    assert.deepEqual(items.find(({ extra }) => extra !== null)!['extra'], { a: [1, 'x'] })
    assert.ok(items.some(({ exact }) => exact === '12345678901234567'))
  })

  test('fields: the requested fields in order; a cursor of another selection stays valid', async () => {
    const first = await readList(service, '/owned?fields=state,id,nothing&limit=2&sort=text')
    assert.deepEqual(Object.keys(first.data[0]!), ['id', 'state'])
    const second = await readList(service, `/owned?limit=2&sort=text&cursor=${first.pageInfo.nextCursor}`)
    assert.equal(Object.keys(second.data[0]!).length, 12)
    assert.equal(Object.keys((await data('/owned?fields=,x&limit=1'))[0]!).length, 12)
  })

  test('expand: the other row or null, without hidden fields', async () => {
    const items = await data('/owned?expand=person,nothing&limit=100')
    assert.ok(items.every(({ person }) => person === null || JSON.stringify(person) === '{"name":"Ada"}'))
    assert.equal(items.filter(({ person }) => person !== null).length, rows / 2)
    const [item] = await data('/owned?limit=1')
    assert.ok(!('person' in item!))
  })

  test('count: `none` still has hasNext; a more expensive mode than declared is ignored', async () => {
    const none = await readList(service, '/owned?page=1&limit=50&count=none')
    assert.deepEqual({ ...none.pagination }, { page: 1, limit: 50, hasNext: true })
    assert.equal((await readList(service, '/owned?page=2&limit=50&count=none')).pagination.hasNext, false)
    for (const count of ['exact', 'estimate', '', 'x']) {
      const response = await service.admin(`/estimated?count=${count}&limit=50`)
      const { pagination } = (await response.json()) as { pagination: { total: number; estimated: boolean } }
      assert.equal(pagination.estimated, engine.name === 'postgres')
    }
  })

  test('the OpenAPI document has every parameter with bounds and defaults', async () => {
    const { paths } = (await (await get('/openapi.json')).json()) as {
      paths: Record<string, { get: Operation }>
    }
    const parametersOf = (path: string): Operation['parameters'] => paths[path]!.get.parameters
    const names = (path: string): string[] =>
      parametersOf(path)
        .map(({ name }) => name)
        .toSorted()
    const rowNames = [...Object.keys(owned.filters!), 'expand', 'fields', 'sort']
    const csv = ['bom', 'null']
    assert.deepEqual(names('/owned'), [...rowNames, ...csv, 'count', 'cursor', 'limit', 'page'].toSorted())
    assert.deepEqual(names('/owned.csv'), [...rowNames, ...csv].toSorted())
    assert.deepEqual(names('/owned.ndjson'), rowNames.toSorted())
    assert.deepEqual(names('/estimated'), ['bom', 'count', 'fields', 'limit', 'null', 'page', 'sort'])
    assert.deepEqual(names('/mine'), ['bom', 'cursor', 'fields', 'limit', 'null', 'sort'])
    const schemaOf = (name: string): string =>
      JSON.stringify(parametersOf('/owned').find((parameter) => parameter.name === name)!.schema)
    assert.match(schemaOf('limit'), /"minimum":1.*"maximum":100.*"default":20/)
    assert.match(schemaOf('page'), /"minimum":1.*"default":1/)
    assert.match(schemaOf('sort'), /"default":"-day"/)
    assert.match(schemaOf('count'), /"default":"exact"/)
    assert.match(schemaOf('cursor'), /"minLength":1/)
    const filters = parametersOf('/owned').filter(({ name }) => Object.hasOwn(owned.filters!, name))
    const described = Object.fromEntries(filters.map(({ name, description }) => [name, description]))
    assert.match(described['minExact']!, /^Keeps items whose exact is this or above\./)
    assert.match(described['state']!, /equals the value\. Values: new, done, odd\.$/)
    assert.match(
      described['small']!,
      /one of the values\. Comma-separated or repeated, at most 50; write a comma within a value as `\\,`, or quote the value\.$/,
    )
    assert.equal(described['whose'] ?? '', '', 'a hidden field is not named')
  })

  test('responses are compressed for clients that accept it', async () => {
    const plain = await get('/owned?limit=50', { 'accept-encoding': 'identity' })
    assert.equal(plain.headers.get('content-encoding'), null)
    for (const [accepted, coding] of [
      ['gzip, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, *', 'gzip'],
      ['gzip;q=1.0, br;q=0.1', 'gzip'],
      ['deflate', null],
      ['gzip;q=x', null],
    ] as const) {
      const coded = await get('/owned?limit=50', { 'accept-encoding': accepted })
      assert.equal(coded.headers.get('content-encoding'), coding, accepted)
      assert.match(coded.headers.get('vary')!, /accept-encoding/)
      assert.deepEqual(await coded.json(), await (await get('/owned?limit=50')).json())
    }
  })

  test('exports: all rows as NDJSON and CSV, filtered and sorted, with escaped formulas', async () => {
    const expected = await data('/owned?limit=100&sort=-id&whose=ada&expand=person')
    const ndjson = await get('/owned.ndjson?sort=-id&whose=ada&expand=person', { 'accept-encoding': 'br' })
    assert.equal(ndjson.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    assert.equal(ndjson.headers.get('content-encoding'), 'br')
    const lines = (await ndjson.text()).trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as Item),
      expected,
    )

    const csv = await (await get('/owned.csv?fields=id,small,extra&sort=id')).text()
    const [head, ...body] = csv.trimEnd().split('\r\n')
    assert.equal(head, 'id,small,extra')
    assert.equal(body.length, rows)
    assert.match(csv, /,-2,/, 'a number stays one')
    assert.match(csv, /,'=1\+1\r\n/)
    assert.match(csv, /,"\{""a"":\[1,""x""\]\}"\r\n/)
    assert.equal((await get('/bobs.csv')).status, 404, 'only where they are declared')
  })

  test('HEAD of an export has the headers and reads nothing', async () => {
    const head = await service.fetch('/owned.csv', { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    const whole = await get('/owned.csv', { 'accept-encoding': 'gzip' })
    await whole.text()
    for (const name of ['content-type', 'content-disposition', 'content-encoding', 'cache-control', 'vary'])
      assert.equal(head.headers.get(name), whole.headers.get(name), name)
    assert.equal(head.headers.get('content-length'), null, 'which nobody knows')
  })
})
