// Arrays of PostgreSQL are shown as JSON. SQLite has none: there, JSON is a text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { listService } from './service.ts'

const rows = [
  [1, '["a", "b \\"c\\", é"]', '[[1, 2], [3, null]]'],
  [2, '[]', null],
] as const

onEachEngine('lists over arrays', (engine) => {
  const isPostgres = engine.name === 'postgres'
  const things = list({
    path: '/things',
    table: 'things',
    access: 'public',
    fields: { id: { type: 'integer' }, tags: { type: 'json' }, grid: { type: 'json' } },
    key: 'id',
    filters: { empty: { kind: 'null', field: 'grid' } },
    exports: true,
  })
  const values = isPostgres
    ? [`(1, array['a', 'b "c", é'], array[[1, 2], [3, null]])`, `(2, '{}', null)`]
    : rows.map(([id, tags, grid]) => `(${id}, '${tags}', ${grid === null ? 'null' : `'${grid}'`})`)
  const opened = listService(
    engine,
    [things],
    [
      ...(isPostgres
        ? [
            'create domain grid as int[]',
            'create table things (id int primary key, tags text[] not null, grid grid)',
          ]
        : ['create table things (id integer primary key, tags text not null, grid text)']),
      `insert into things values ${values.join(', ')}`,
    ],
  )

  const expected = rows.map(([id, tags, grid]) => ({
    id,
    tags: JSON.parse(tags) as unknown,
    grid: grid === null ? null : (JSON.parse(grid) as unknown),
  }))
  const read = async (path: string): Promise<unknown> => (await opened.service.fetch(path)).json()

  test('a page shows them as arrays', async () => {
    assert.deepEqual(((await read('/things')) as { data: unknown }).data, expected)
  })

  test('a filter finds those that are null', async () => {
    const { data } = (await read('/things?empty=true')) as { data: unknown[] }
    assert.deepEqual(data, [expected[1]])
  })

  test('an export shows the same', async () => {
    const lines = (await (await opened.service.fetch('/things.ndjson')).text()).trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      expected,
    )
  })
})
