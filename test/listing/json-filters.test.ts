// Filters by members of JSON and by elements of arrays, whatever the rows hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { onEachEngine } from '../harness/engines.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const things = list({
  path: '/documents',
  table: 'documents',
  access: 'public',
  fields: {
    id: { type: 'integer' },
    data: { type: 'json' },
    tags: { type: 'json' },
    numbers: { type: 'json' },
  },
  key: 'id',
  limit: { max: 100 },
  filters: {
    city: { kind: 'equals', field: 'data', member: 'address.city' },
    cities: { kind: 'in', field: 'data', member: 'address.city' },
    elsewhere: { kind: 'not', field: 'data', member: 'address.city' },
    homeless: { kind: 'null', field: 'data', member: 'address.city' },
    size: { kind: 'equals', field: 'data', member: 'size' },
    on: { kind: 'equals', field: 'data', member: 'on' },
    element: { kind: 'has', field: 'data' },
    tag: { kind: 'has', field: 'tags' },
    number: { kind: 'has', field: 'numbers' },
  },
})
const documents: unknown[] = [
  { address: { city: 'Bern' }, size: 5, on: true },
  { address: { city: "O'Fallon" }, size: '5', on: 'true' },
  { address: { city: null } },
  { address: 'Bern' },
  ['Bern', 5],
  'Bern',
  null,
  {},
]

onEachEngine('filters by JSON', (engine) => {
  const isSqlite = engine.name === 'sqlite'
  const opened = listService(engine, [things], async (database, run) => {
    const [json, texts, numbers] = isSqlite ? ['text', 'text', 'text'] : ['jsonb', 'text[]', 'integer[]']
    await run(
      `create table documents (id integer primary key, data ${json}, tags ${texts}, numbers ${numbers})`,
    )
    await database.transaction(async (tx) => {
      for (const [id, document] of documents.entries()) {
        const tags = isSqlite ? JSON.stringify(['a,b', String(id)]) : `{"a,b","${id}"}`
        const own = isSqlite ? JSON.stringify([id, 7]) : `{${id},7}`
        await sql`insert into documents values (${id}, ${JSON.stringify(document)}, ${tags}, ${own})`.execute(
          tx,
        )
      }
    })
    // SQLite also keeps what is no JSON.
    const odd = isSqlite ? "'{broken'" : 'null'
    await run(`insert into documents values (8, ${odd}, ${odd}, null)`)
  })
  const ids = async (query: string): Promise<unknown[]> =>
    (await readList(opened.service, `/documents?fields=id&${query}`)).data.map(({ id }) => id)

  test('members are compared as texts; a missing one is null', async () => {
    const all = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert.deepEqual(await ids('city=Bern'), [0])
    assert.deepEqual(await ids("city=O'Fallon"), [1])
    assert.deepEqual(await ids("cities=Bern&cities=O'Fallon&cities=x"), [0, 1])
    assert.deepEqual(await ids('elsewhere=Bern'), all.slice(1))
    assert.deepEqual(await ids('homeless=true'), all.slice(2))
    assert.deepEqual(await ids('homeless=false'), [0, 1])
    assert.deepEqual(await ids('size=5'), [0, 1])
    assert.deepEqual(await ids('on=true'), [0, 1])
    assert.deepEqual(await ids("city=' or 1=1--"), [])
  })

  test('GET /lists describes a member as text, as it is compared', async () => {
    type Described = AnswerTo<'GET /lists'>['data'][number]
    const { data } = (await (await opened.service.admin('/lists')).json()) as { data: Described[] }
    const { filters } = data.find(({ path }) => path === '/documents')!
    const typeOf = (name: string) => filters.find(({ parameter }) => parameter === name)!.type
    assert.deepEqual(['size', 'homeless', 'element'].map(typeOf), ['text', 'text', 'json'])
  })

  test('elements of arrays', async () => {
    assert.deepEqual(await ids('element=Bern'), [4])
    assert.deepEqual(await ids('tag=a,b'), [0, 1, 2, 3, 4, 5, 6, 7])
    assert.deepEqual(await ids('tag=3'), [3])
    assert.deepEqual(await ids('number=7&limit=100'), [0, 1, 2, 3, 4, 5, 6, 7])
    assert.deepEqual(await ids('number=3'), [3])
    for (const text of ['x', '99999999999999999999', '{', '"', '%5C'])
      assert.deepEqual(await ids(`number=${text}`), [])
    assert.equal((await opened.service.fetch('/documents?tag=%00')).status, 400)
  })

  test('an element is found however the JSON is written', async () => {
    const written = [
      String.raw`'["\u0042ern", 1e3]'`,
      isSqlite ? `jsonb('["Bern", true]')` : `'["Bern", true]'`,
      `'[ "Bern" , ["Bern",  1] ]'`,
      `'["in Bern", {"Bern": 1}]'`,
    ]
    await opened.run(
      ...written.map((json, index) => `insert into documents (id, data) values (${index + 20}, ${json})`),
    )
    assert.deepEqual(await ids('element=Bern'), [4, 20, 21, 22])
    // PostgreSQL compares only strings here.
    assert.deepEqual(await ids('element=true'), isSqlite ? [21] : [])
    await opened.run('delete from documents where id >= 20')
  })

  test('the advised indexes are taken by the database, and then not advised again', async () => {
    const { database } = opened.service
    const declared = readLists({ lists: [things] })[0]!
    const { missing } = await checkList(database, declared)
    const ofJson = missing.filter(({ queries }) => !queries.includes(''))
    assert.ok(ofJson.length >= (isSqlite ? 3 : 5), JSON.stringify(missing))
    await opened.run(...ofJson.map(({ statement }) => statement.replace('concurrently ', '')))
    assert.deepEqual((await checkList(database, declared)).missing, [])
  })
})

test('invalid members of JSON stop the start', () => {
  const fault = (filter: object) => {
    try {
      readLists({ lists: [{ ...things, filters: { x: filter } } as never] })
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  for (const member of ["a'b", 'a..b', '', '$', 'a"', 'a b', '{a}'])
    assert.match(fault({ kind: 'equals', field: 'data', member }), /`member` that is not names/, member)
  assert.match(fault({ kind: 'equals', field: 'id', member: 'a' }), /which only a json field has/)
  assert.match(fault({ kind: 'search', field: 'data', member: 'a' }), /needs a text field|only equals/)
  assert.match(fault({ kind: 'has', field: 'id' }), /needs a json field/)
  assert.match(fault({ kind: 'equals', field: 'data' }), /only the kinds `null` and `has`/)
})
