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

onEachEngine('filters by values as they are shown', (engine) => {
  const postgres = engine.name === 'postgres'
  const opened = listService(engine, [entries], (database) =>
    database.transaction(async (tx) => {
      for (const statement of [
        ...(postgres ? ['create extension citext'] : []),
        `create table entries (id int not null primary key, name ${postgres ? 'citext' : 'text'} not null,
          at ${postgres ? 'timestamp' : 'text'} not null)`,
        `insert into entries values (1, 'Zoe', '2026-01-31 08:30:00.000000'),
          (2, 'zed', '2026-01-31 08:30:00.000137'), (3, '@at', '2026-02-01 00:00:00.000000'),
          (4, '_under', '2026-02-02 00:00:00.000000'), (5, 'Éva', '2026-02-03 00:00:00.000000')`,
      ])
        await sql.raw(statement).execute(tx)
    }),
  )
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
    // Texts of the type citext are equal in upper and lower case.
    assert.deepEqual(await ids('begins', 'Z'), postgres ? [1, 2] : [1])
    assert.deepEqual(await ids('begins', 'ZO'), postgres ? [1] : [])
    assert.deepEqual(await ids('begins', '_U'), postgres ? [4] : [])
    assert.deepEqual(await ids('name', 'ZOE'), postgres ? [1] : [])
  })
})
