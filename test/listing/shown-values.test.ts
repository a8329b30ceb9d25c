// A filter accepts a value in the form in which an item shows it, and compares it as the column does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const entries = list({
  path: '/entries',
  strict: false,
  table: 'entries',
  access: 'public',
  fields: { id: { type: 'integer' }, name: { type: 'text' }, at: { type: 'timestamp' } },
  key: 'id',
  filters: {
    name: 'equals',
    begins: { kind: 'prefix', field: 'name' },
    at: 'equals',
    since: { kind: 'atLeast', field: 'at' },
    before: { kind: 'below', field: 'at' },
  },
})

const labels = list({
  path: '/labels',
  strict: false,
  table: 'labels',
  access: 'public',
  fields: {
    id: { type: 'integer' },
    name: { type: 'text' },
    state: { type: 'enum', values: ['on', 'on, off'] },
  },
  key: 'id',
  filters: {
    names: { kind: 'in', field: 'name' },
    states: { kind: 'in', field: 'state' },
    ids: { kind: 'in', field: 'id' },
  },
})
const names = ['A', 'B', 'A,B', ' B ', '', 'say "no"', '"A', 'a"b', 'A\\']

onEachEngine('filters by values', (engine) => {
  const postgres = engine.name === 'postgres'
  const opened = listService(engine, [labels, entries], async (database, run) => {
    await run(
      'create table labels (id int not null primary key, name text not null, state text not null)',
      ...(postgres ? ['create extension citext'] : []),
      `create table entries (id int not null primary key, name ${postgres ? 'citext' : 'text collate nocase'} not null,
        at ${postgres ? 'timestamp' : 'text'} not null)`,
      `insert into entries values (1, 'Zoe', '2026-01-31 08:30:00.000000'),
        (2, 'zed', '2026-01-31 08:30:00.000137'), (3, '@at', '2026-02-01 00:00:00.000000'),
        (4, '_under', '2026-02-02 00:00:00.000000'), (5, 'Éva', '2026-02-03 00:00:00.000000')`,
    )
    await database.transaction(async (tx) => {
      for (const [id, name] of names.entries())
        await sql`insert into labels values (${id}, ${name}, ${id % 2 === 0 ? 'on' : 'on, off'})`.execute(tx)
    })
  })
  const found = async (query: string): Promise<unknown[]> =>
    (await readList(opened.service, `/labels?${query}`)).data.map(({ id }) => id)
  const named = (text: string): Promise<unknown[]> => found(`names=${encodeURIComponent(text)}`)

  test('a value with a comma stands in double quotes', async () => {
    assert.deepEqual(await named('"A,B"'), [2])
    assert.deepEqual(await named('B,"A,B",A'), [0, 1, 2])
    assert.deepEqual(await named(' "A,B" , A'), [0, 2])
    assert.deepEqual(await named('A,B'), [0, 1])
    assert.deepEqual(await found('states="on, off"'), [1, 3, 5, 7])
    assert.deepEqual(
      await found('states="on, off",on'),
      names.map((_, id) => id),
    )
    // Every value can be named.
    for (const [id, name] of names.entries()) {
      const quoted = `"${name.replaceAll('"', '""')}"`
      assert.deepEqual(await named(quoted), [id], name)
      assert.deepEqual((await named(`${quoted},A`)).includes(id), true, name)
    }
  })

  test('quotes within a value, and a quote that is not closed, are part of it', async () => {
    assert.deepEqual(await named('say "no"'), [5])
    assert.deepEqual(await named('"A'), [6])
    assert.deepEqual(await named('"A,B'), [1, 6])
    assert.deepEqual(await named('a"b'), [7])
  })

  test('a repeated parameter has the values of each, whatever they end with', async () => {
    for (const query of ['names=%22A&names=B', 'names=B&names=%22A', 'names[]=%22A&names=B'])
      assert.deepEqual(await found(query), [1, 6], query)
    for (const query of ['names=A%5C&names=B', 'names=B&names=A%5C'])
      assert.deepEqual(await found(query), [1, 8], query)
    assert.deepEqual(await found('names=%22A,B%22&names=%22A'), [2, 6])
    assert.deepEqual(await found('names=A%5C,B&names=A%5C'), [2, 8])
  })

  test('blanks around values and empty values do not count; the empty parameter is the empty text', async () => {
    assert.deepEqual(await named('A, B'), [0, 1])
    assert.deepEqual(await named('A,B,'), [0, 1])
    assert.deepEqual(await named(',,A,'), [0])
    assert.deepEqual(await named(''), [4])
    assert.deepEqual(await named('""'), [4])
    assert.deepEqual(await named(','), [])
    assert.deepEqual(await found('ids=1, 2,'), [1, 2])
    assert.deepEqual(await found('ids='), [])
    assert.deepEqual(await found('states=on ,'), [0, 2, 4, 6, 8])
  })

  test('fifty values are accepted, however many commas are between them', async () => {
    const values = Array.from({ length: 50 }, () => 'A').join(',,')
    assert.deepEqual(await named(`${values},`), [0])
    for (const path of ['/labels', '/labels?limit=1&'])
      assert.equal((await opened.service.fetch(`${path}?names=${values},B`.replace('&?', '&'))).status, 400)
  })

  const ids = async (parameter: string, value: string): Promise<unknown[]> => {
    const { data } = await readList(opened.service, `/entries?${parameter}=${encodeURIComponent(value)}`)
    return data.map(({ id }) => id)
  }

  test('a time without a zone', async () => {
    const { data } = await readList(opened.service, '/entries')
    assert.equal(data[1]!['at'], '2026-01-31T08:30:00.000137')
    for (const { id, at } of data) assert.deepEqual(await ids('at', String(at)), [id])
    assert.deepEqual(await ids('since', '2026-01-31T08:30:00.000137'), [2, 3, 4, 5])
    assert.deepEqual(await ids('before', '2026-02-01 00:00:00'), [1, 2])
    assert.deepEqual(await ids('before', '2026-02-01'), [1, 2])
    assert.deepEqual(await ids('before', '2026-02-01T00:00:00Z'), [1, 2])
    assert.deepEqual(
      await ids('since', '2026-01-31T08:30:00.0001375'),
      [1, 2, 3, 4, 5],
      'finer than a microsecond',
    )
  })

  test('the beginning of a text', async () => {
    assert.deepEqual(await ids('begins', 'Zo'), [1])
    assert.deepEqual(await ids('begins', '@'), [3])
    assert.deepEqual(await ids('begins', 'É'), [5])
    // Texts of the type citext, and of the collation nocase, are equal in upper and lower case.
    assert.deepEqual(await ids('begins', 'Z'), [1, 2])
    assert.deepEqual(await ids('begins', 'ZO'), [1])
    assert.deepEqual(await ids('begins', '_U'), [4])
    assert.deepEqual(await ids('name', 'ZOE'), [1])
    assert.deepEqual(await ids('begins', 'é'), postgres ? [5] : [])
  })
})
