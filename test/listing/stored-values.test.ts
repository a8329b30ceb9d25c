// Values that JSON has no form for, or JavaScript none that is exact.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const digits =
  '{"id":9007199254740993,"exact":[0.1000000000000000055,-1.50,12345678901.2345678],"huge":1e999,"small":1}'

onEachEngine('values as they are stored', (engine) => {
  const sqlite = engine.name === 'sqlite'
  const stored = list({
    path: '/stored',
    table: 'stored',
    access: 'public',
    fields: { id: { type: 'integer' }, ratio: { type: 'number' }, extra: { type: 'json' } },
    key: 'id',
    exports: true,
  })
  const loose = list({
    path: '/loose',
    table: 'loose',
    access: 'public',
    fields: { id: { type: 'integer' }, size: { type: 'bigint' } },
    key: 'id',
    sort: ['size'],
    filters: { size: 'equals', from: { kind: 'atLeast', field: 'size' } },
  })
  const owned = list({
    path: '/owned-by-number',
    table: 'owned',
    access: 'public',
    fields: { id: { type: 'integer' }, tenant: { type: 'text' }, size: { type: 'bigint' } },
    key: 'id',
    where: () => ({ tenant: 5, size: [7, 8] }),
  })
  const opened = listService(
    engine,
    [stored, loose, owned],
    [
      `create table stored (id int not null primary key, ratio double precision not null, extra ${sqlite ? 'text' : 'json'} not null)`,
      `insert into stored values (1, ${sqlite ? '9e999' : `'Infinity'`}, '${digits}'), (2, 0.5, '{"price":1.50}')`,
      `create table loose (id int not null primary key, size ${sqlite ? 'numeric' : 'bigint'} not null)`,
      'insert into loose values (1, 2), (2, 9007199254740993), (3, 9223372036854775807)',
      ...(sqlite
        ? [
            `insert into stored values (3, 0.5, '{broken')`,
            'insert into loose values (4, 2.5), (5, 0.1 + 0.2), (6, 1e19)',
          ]
        : []),
      'create table owned (id int not null primary key, tenant text not null, size bigint not null)',
      `insert into owned values (1, '5', 7), (2, '50', 7), (3, '5', 9), (4, '5', 8)`,
    ],
  )

  test('the numbers within JSON keep their digits, in pages and exports', async () => {
    const page = await (await opened.service.fetch('/stored?fields=extra&limit=1')).text()
    assert.ok(page.startsWith(`{"data":[{"extra":${digits}}]`), page)
    const lines = (await (await opened.service.fetch('/stored.ndjson?fields=extra')).text()).split('\n')
    assert.equal(lines[0], `{"extra":${digits}}`)
    // No long number tells that this one has a digit to lose.
    assert.equal(lines[1], '{"extra":{"price":1.50}}')
    const [, line] = (await (await opened.service.fetch('/stored.csv?fields=extra')).text()).split('\r\n')
    assert.equal(line, `"${digits.replaceAll('"', '""')}"`)
  })

  test('invalid JSON is shown as text and does not fail the page', async () => {
    if (engine.name === 'postgres') return
    const { data } = await readList(opened.service, '/stored?fields=extra')
    assert.equal(data[2]!['extra'], '{broken')
  })

  test('NaN and infinities are null, as documented', async () => {
    // Every answer of a test is held against the description.
    const { data } = await readList(opened.service, '/stored?fields=id,ratio&limit=2')
    assert.deepEqual(data, [
      { id: 1, ratio: null },
      { id: 2, ratio: 0.5 },
    ])
  })

  const ids = (items: readonly Record<string, unknown>[]): unknown[] => items.map(({ id }) => id)

  test('filters find fractions and numbers beyond 2^53 that SQLite keeps in a column of whole numbers', async () => {
    assert.deepEqual(ids((await readList(opened.service, '/loose?size=9007199254740993')).data), [2])
    assert.deepEqual(
      ids((await readList(opened.service, '/loose?fields=id&sort=size&from=9007199254740993')).data),
      sqlite ? [2, 3, 6] : [2, 3],
    )
  })

  test('`where` compares a text with the digits of a number', async () => {
    assert.deepEqual(ids((await readList(opened.service, '/owned-by-number')).data), [1, 4])
  })
})
