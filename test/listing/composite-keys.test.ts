// Keys of several columns: pages, rows and expansions find the tenant's row, never another tenant's row with the same number.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { createListClient, keyText } from '../../packages/client/src/api/index.ts'
import { list, type ListOptions } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { typesOfLists } from '../../src/listing/typescript.ts'
import { postern } from '../cli/command.ts'
import { onEachEngine, started, startTestService, temporaryFolder } from '../harness/index.ts'
import { createTables } from './declared.ts'
import { readList, walk } from './seed.ts'

const common = {
  table: 'tickets',
  access: 'public',
  fields: { tenant: { type: 'text' }, id: { type: 'integer' }, size: { type: 'integer' } },
  key: ['tenant', 'id'],
} as const
const odd = {
  table: 'odd',
  access: 'public',
  fields: { name: { type: 'text' }, number: { type: 'bigint' } },
  key: ['name', 'number'],
} as const
const kept = { ...common, path: '/kept', table: 'many', pages: ['offset'], keep: true } as const
const parent = { type: 'integer', nullable: true } as const
const lists = [
  list({
    ...common,
    path: '/tickets',
    sort: ['tenant', 'id', 'size'],
    pages: ['cursor', 'offset'],
    exports: true,
  }),
  list({ ...common, path: '/by-number', order: ['-id'] }),
  list({ ...common, path: '/keyset', pages: ['keyset'] }),
  list({ ...common, path: '/mine', where: () => ({ tenant: 'b' }), one: true }),
  list({ ...odd, path: '/odd', pages: ['keyset'], one: true }),
  list({
    ...common,
    path: '/families',
    fields: { ...common.fields, parent },
    one: true,
    expand: {
      above: {
        table: 'tickets',
        from: ['tenant', 'parent'],
        key: ['tenant', 'id'],
        fields: { id: { type: 'integer' }, size: { type: 'integer' } },
      },
      below: {
        table: 'tickets',
        from: ['id', 'tenant'],
        key: ['parent', 'tenant'],
        fields: { tenant: { type: 'text' }, id: { type: 'integer' } },
        many: { order: ['-id'], limit: 2 },
      },
    },
  }),
  list(kept),
]
const names = ['', ',', '\\', 'a,b', 'a\\,b', 'a\\', 'a/b', '50%', '%2C', 'ü 😀', '"a"', ' a ', 'summary']

interface Ticket {
  tenant: string
  id: number
  size: number
}
/** Tenants share numbers. Their rows are inserted in turn. */
const tickets: Ticket[] = Array.from({ length: 23 }, (_, index) => ({
  tenant: ['b', 'a', 'c'][index % 3]!,
  id: Math.floor(index / 3) + 1,
  size: (index * 7) % 4,
}))

function sorted(order: string): Ticket[] {
  const keys = order.split(',').map((text) => ({
    name: text.replace('-', '') as keyof Ticket,
    sign: text.startsWith('-') ? -1 : 1,
  }))
  return tickets.toSorted((one, other) => {
    const key = keys.find(({ name }) => one[name] !== other[name])
    return key ? (one[key.name] < other[key.name] ? -key.sign : key.sign) : 0
  })
}

/** Orders, completed with the rest of the key. */
const orders = [
  ['', 'tenant,id'],
  ['-size', '-size,-tenant,-id'],
  ['id,-size', 'id,-size,-tenant'],
  ['tenant,id,size', 'tenant,id'],
  ['-size,id', '-size,id,tenant'],
] as const

onEachEngine('keys of several columns', (engine) => {
  const folder = temporaryFolder()
  const home = started(() => engine.createMigratedDatabase())
  const service = started(async () => {
    await createTables(home.url, [
      'create table tickets (tenant text not null, id integer not null, size integer not null, parent integer, primary key (tenant, id))',
      'create index tickets_by_parent on tickets (parent, tenant, id)',
      'create table odd (name text not null, number bigint not null, primary key (name, number))',
      'create table many (tenant text not null, id integer not null, size integer not null, primary key (tenant, id))',
      'create table bare (tenant text not null, id integer, size integer not null, unique (tenant), unique (id, tenant, size))',
    ])
    await writeFile(
      join(folder, 'postern.config.ts'),
      `import { defineConfig, list } from 'postern'\nexport default defineConfig({ listing: { lists: [list(${JSON.stringify(kept)})] } })`,
    )
    const made = await postern(folder, ['lists', 'keep', '/kept'], { DATABASE_URL: home.url })
    assert.match(made.stdout, /^\/kept: counts created/m, made.stderr)
    return startTestService(engine, { databaseUrl: home.url, config: { listing: { lists } } })
  })
  const run = (statement: ReturnType<typeof sql>) =>
    service.database.transaction((tx) => statement.execute(tx))
  const insert = (rows: readonly Ticket[]) =>
    run(
      sql`insert into tickets (tenant, id, size, parent) values ${sql.join(
        rows.map(
          ({ tenant, id, size }) => sql`(${tenant}, ${id}, ${size}, ${id === 1 ? null : Math.floor(id / 2)})`,
        ),
      )}`,
    )
  before(async () => {
    await insert(tickets)
    await run(
      sql`insert into odd values ${sql.join(names.map((name) => sql`(${name}, ${'9007199254740993'})`))}`,
    )
  })
  const get = async (path: string) => {
    const response = await service.fetch(path)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const oddPath = (key: unknown) => `/odd/${encodeURIComponent(keyText(key))}`

  test('pages of every kind have each row once, in every order', async () => {
    for (const limit of [1, 3, 7]) {
      for (const [sort, order] of orders) {
        const query = `/tickets?limit=${limit}${sort && `&sort=${sort}`}`
        const expected = sorted(order)
        assert.deepEqual((await walk(service, query)).flat(), expected, query)
        assert.deepEqual(await walkBack(query), expected, `${query} back`)
        const numbered = []
        for (let page = 1; page <= Math.ceil(expected.length / limit); page += 1)
          numbered.push(...(await readList(service, `${query}&page=${page}`)).data)
        assert.deepEqual(numbered, expected, `${query} by number`)
      }
      assert.deepEqual((await walk(service, `/by-number?limit=${limit}`)).flat(), sorted('-id,-tenant'))
      assert.deepEqual(await walkKeyset(`/keyset?limit=${limit}`), sorted('tenant,id'))
    }
    for (const [sort, order] of orders) {
      const lines = await (await service.fetch(`/tickets.ndjson${sort && `?sort=${sort}`}`)).text()
      assert.deepEqual(
        lines
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Ticket),
        sorted(order),
      )
    }
  })

  async function walkBack(query: string): Promise<object[]> {
    type Page = { data: object[]; pageInfo: Record<'nextCursor' | 'previousCursor', string | null> }
    const read = async (path: string) => (await get(path)).body as unknown as Page
    const first = await read(query.replace(/limit=\d+/, 'limit=22'))
    let page = await read(`${query.replace(/limit=\d+/, 'limit=22')}&cursor=${first.pageInfo.nextCursor}`)
    const found = [...page.data]
    while (page.pageInfo.previousCursor !== null) {
      page = await read(`${query}&cursor=${page.pageInfo.previousCursor}`)
      found.unshift(...page.data)
    }
    return found
  }
  async function walkKeyset(query: string): Promise<object[]> {
    const found: object[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const at: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { body } = await get(`${query}${at}`)
      found.push(...(body['data'] as object[]))
      cursor = body['nextCursor'] as string | null
      assert.ok(found.length <= 30, `${query} does not end`)
    }
    return found
  }

  test('a row is found by its key, and a wrong number of values finds nothing', async () => {
    for (const { tenant, id, size } of tickets)
      assert.deepEqual((await get(`/families/${tenant},${id}?fields=tenant,id,size`)).body, {
        tenant,
        id,
        size,
      })
    for (const key of [
      'a',
      'a,',
      'a,1,',
      'a,1,2',
      ',1',
      '1,a',
      'a,x',
      'a,1.5',
      'a,99',
      'a\\,1',
      'b,1%00',
      "a,1' or 1=1--",
    ])
      assert.equal((await get(`/families/${encodeURIComponent(key)}`)).status, 404, key)
    assert.equal((await get('/mine/b,1')).status, 200)
    assert.equal((await get('/mine/a,1')).status, 404, 'the caller sees no row of another tenant')
    const response = await service.fetch('/families/a,1')
    const headers = { 'if-none-match': response.headers.get('etag')! }
    assert.equal((await service.fetch('/families/a,1', { headers })).status, 304)
  })

  test('values may have commas, backslashes and any other character', async () => {
    const number = '9007199254740993'
    for (const name of names)
      assert.deepEqual((await get(oddPath([name, number]))).body, { name, number }, JSON.stringify(name))
    const { rows } = await sql<{ name: string }>`select name from odd order by name, number`.execute(
      service.database.reader,
    )
    assert.deepEqual(
      await walkKeyset('/odd?limit=1'),
      rows.map(({ name }) => ({ name, number })),
    )
    for (const cursor of ['a', 'a,1,2', 'a,x', 'a,01', 'a,1e3'])
      assert.equal((await get(`/odd?cursor=${cursor}`)).status, 400, cursor)
    assert.deepEqual((await get(`/odd?limit=1&cursor=${encodeURIComponent('a\\,b,1')}`)).body['data'], [
      { name: 'a,b', number },
    ])
  })

  test('expansions compare all values, and null finds nothing', async () => {
    const at = (tenant: string, id: number | null) =>
      tickets.find((other) => other.tenant === tenant && other.id === id)
    const { data } = await readList(service, '/families?limit=100&expand=above,below')
    assert.equal(data.length, tickets.length)
    for (const { tenant, id, parent: up, above, below } of data as (Ticket & Record<string, unknown>)[]) {
      const expected = at(tenant, up as number | null)
      assert.deepEqual(above, expected ? { id: expected.id, size: expected.size } : null)
      const all = [id * 2 + 1, id * 2].flatMap((one) =>
        one > 1 && at(tenant, one) ? [{ tenant, id: one }] : [],
      )
      assert.deepEqual(below, { data: all, hasMore: false })
    }
    const { above } = (await get('/families/c,3?expand=above')).body
    assert.deepEqual(above, { id: 1, size: at('c', 1)!.size })
  })

  test('maintained counts find deep pages, and follow writes', async () => {
    const rows = Array.from({ length: 2_500 }, (_, index) => sql`(${'abc'[index % 3]!}, ${index}, 0)`)
    await run(sql`insert into many values ${sql.join(rows)}`)
    await run(sql`delete from many where id in (1, 5, 2000)`)
    assert.equal((await postern(folder, ['lists', 'repair', '/kept'], { DATABASE_URL: home.url })).code, 0)
    const expected = Array.from({ length: 2_500 }, (_, id) => ({ tenant: 'abc'[id % 3]!, id, size: 0 }))
      .filter(({ id }) => ![1, 5, 2000].includes(id))
      .toSorted((one, other) => one.tenant.localeCompare(other.tenant) || one.id - other.id)
    for (const page of [1, 60, 100, 125]) {
      const { data, pagination } = await readList(service, `/kept?limit=20&page=${page}`)
      assert.deepEqual(data, expected.slice((page - 1) * 20, page * 20))
      assert.equal(pagination.total, expected.length)
    }
    const { stdout } = await postern(folder, ['lists', 'check', '/kept'], { DATABASE_URL: home.url })
    assert.match(stdout, /^\/kept: 2497 rows, counts are correct$/m)
  })

  const check = async (options: ListOptions) =>
    checkList(service.database, readLists({ lists: [options] })[0]!)

  test('no page by cursor and no expansion sorts or reads a whole table', async () => {
    for (const path of ['/tickets', '/by-number', '/families']) {
      const declared = { ...lists.find((one) => one.path === path)!, sort: [] }
      if (path === '/by-number')
        await run(sql`create index tickets_by_number on tickets (id desc, tenant desc)`)
      const checked = await check(declared)
      assert.deepEqual([checked.faults, checked.missing], [[], []])
      for (const { query, steps } of await explainList(service.database, checked.list))
        assert.doesNotMatch(steps.join('\n'), /^$|Seq Scan|Sort|^SCAN|TEMP B-TREE/m, `${path}?${query}`)
    }
  })

  test('startup requires a unique index over exactly these columns, and advises indexes with the whole key', async () => {
    const path = '/bare'
    const { faults } = await check({ ...common, path, table: 'bare' })
    assert.deepEqual(faults, [
      'bare (tenant, id) is the key and is not unique: create unique index "bare_tenant_id_key" on "bare" ("tenant", "id");',
      'bare.id is the key and may be null',
    ])
    const above = { table: 'bare', from: ['tenant', 'id'], key: ['tenant', 'id'], fields: {} } as const
    assert.match(
      (await check({ ...common, path, expand: { above } })).faults.join(),
      /^bare \(tenant, id\) is not unique, and above is expanded by it: create unique/,
    )
    const columns = { from: ['id', 'size'], key: ['id', 'size'] } as const
    const fields = { tenant: { type: 'text' } } as const
    const many = { table: 'bare', ...columns, fields, many: { order: ['tenant'] } } as const
    assert.deepEqual(
      (await check({ ...common, path, sort: ['size'], expand: { many } })).missing.map(({ statement }) =>
        statement.replace(' concurrently', ''),
      ),
      [
        'create index "tickets_by_size_tenant_id" on "tickets" ("size", "tenant", "id");',
        'create index "bare_by_id_size_tenant" on "bare" ("id", "size", "tenant");',
      ],
    )
  })

  test('on SQLite, rows with a null in their key are reported', async () => {
    if (engine.name === 'postgres') return
    await run(
      sql`create table loose (tenant text, id integer, size integer not null, primary key (tenant, id))`,
    )
    const options = { ...common, path: '/loose', table: 'loose' }
    await run(sql`insert into loose values ('a', 1, 0)`)
    assert.equal((await check(options)).nullKeys, undefined)
    await run(sql`insert into loose values ('a', null, 0), (null, 1, 0)`)
    const { faults, nullKeys, list: checked } = await check(options)
    assert.deepEqual([faults, nullKeys, checked.fields['id']!.nullable], [[], true, true])
  })

  test('the client, its types, the catalogue and the OpenAPI document have the key', async () => {
    interface Lists {
      '/odd': {
        row: { name: string; number: string }
        expansions: object
        filters: object
        sorts: never
        pages: 'keyset'
        key: readonly [string, string | bigint]
        one: true
      }
    }
    const client = createListClient<Lists>({ url: service.baseUrl })
    assert.equal((await client.one('/odd', ['a\\,b', 9007199254740993n])).name, 'a\\,b')
    const found = []
    for await (const { name } of client.list('/odd', { limit: 2 })) found.push(name)
    assert.deepEqual(found.toSorted(), names.toSorted())
    assert.match(
      typesOfLists(readLists({ lists })),
      /'\/odd': \{[^}]*\}[^]*?key: readonly \[string, string \| bigint\]\n {4}one: true/,
    )
    const { data } = (await (await service.admin('/lists')).json()) as { data: Record<string, unknown>[] }
    const described = data.find((one) => one['path'] === '/families')!
    assert.deepEqual(described['key'], ['tenant', 'id'])
    const { body } = await get('/openapi.json')
    assert.match(
      JSON.stringify((body['paths'] as Record<string, unknown>)['/odd/{key}']),
      /The name,number \(its values joined by commas/,
    )
  })
})
