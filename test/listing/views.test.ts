// What a view shows may change while nothing is written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { asAdmin, each, onEachEngine } from '../harness/index.ts'
import { walk } from './seed.ts'
import { listService } from './service.ts'

const text = { type: 'text' } as const
const id = { type: 'integer' } as const

onEachEngine('lists over views', (engine) => {
  const lots = { table: 'lots', fields: { id, lot: text } } as const
  const lotsList = list({ ...lots, path: '/lots', access: 'public', key: 'id' })
  const offers = list({
    path: '/offers',
    table: 'offers',
    access: 'public',
    key: 'id',
    fields: { id },
    expand: { lot: { ...lots, from: 'id', many: { order: ['id'] } } },
  })
  // A clock would do as well; this one moves at once.
  const chance = engine.name === 'sqlite' ? 'random()' : 'gen_random_uuid()'
  const opened = listService(
    engine,
    [lotsList, offers],
    [
      'create table offers (id int not null primary key)',
      'insert into offers values (1)',
      `create view lots as select id, cast(${chance} as text) as lot from offers`,
    ],
  )

  const ask = (path: string, tag?: string) =>
    opened.service.fetch(path, tag === undefined ? {} : { headers: { 'if-none-match': tag } })

  test('a view is read at each request, because its rows may change without a write', async () => {
    for (const path of ['/lots', '/offers?expand=lot']) {
      const first = await ask(path)
      let tag = first.headers.get('etag')!
      let said = await first.text()
      for (let time = 0; time < 3; time += 1) {
        const next = await ask(path, tag)
        assert.equal(next.status, 200, path)
        const text = await next.text()
        assert.notEqual(text, said)
        said = text
        tag = next.headers.get('etag')!
      }
    }
  })

  test('an unchanged response of a view gets 304', async () => {
    const first = await ask('/lots?fields=id')
    const again = await ask('/lots?fields=id', first.headers.get('etag')!)
    assert.deepEqual([again.status, await again.text()], [304, ''])
  })
})

onEachEngine('a list over a materialized view, which is a table on SQLite', (engine) => {
  const fields = { id, size: { type: 'integer' } } as const
  const sums = list({ path: '/sums', table: 'sums', access: 'public', key: 'id', sort: ['size'], fields })
  const rows = '(1, 7), (2, null), (3, 7)'
  const opened = listService(
    engine,
    [sums],
    engine.name === 'sqlite'
      ? ['create table sums (id int not null primary key, size int)', `insert into sums values ${rows}`]
      : [
          `create materialized view sums (id, size) as values ${rows}`,
          'create unique index sums_key on sums (id)',
        ],
  )

  test('a unique index makes a key, though no column is known to be without nulls', async () => {
    const pages = await walk(opened.service, '/sums?sort=size&limit=1')
    const expected = engine.name === 'sqlite' ? [2, 1, 3] : [1, 3, 2]
    assert.deepEqual(each(pages.flat(), 'id'), expected)
  })

  test('it cannot have triggers that maintain counts', async () => {
    if (engine.name === 'sqlite') return
    const kept = { path: '/sums', table: 'sums', key: 'id', fields, pages: ['offset'], keep: true } as const
    const { faults } = await checkList(opened.service.database, readLists({ lists: [list(kept)] })[0]!)
    assert.deepEqual(faults, ['`keep` needs a table: a view cannot have triggers'])
  })
})

onEachEngine('lists over partitioned tables', (engine) => {
  if (engine.name === 'sqlite') return
  const fields = { id, day: { type: 'date' }, size: { type: 'integer' } } as const
  const common = { access: 'public', fields, sort: ['size'] } as const
  const hashed = list({ ...common, path: '/hashed', table: 'hashed', key: 'id' })
  const ranged = list({
    ...common,
    path: '/ranged',
    table: 'ranged',
    key: ['day', 'id'],
    filters: { day: 'equals' },
    expand: { same: { table: 'hashed', from: 'size', key: 'size', fields: { id }, many: { order: ['id'] } } },
  })
  const rows = `select n, date '2026-01-01' + n % 40, n % 3 from generate_series(1, 100) n`
  const opened = listService(
    engine,
    [hashed, ranged],
    [
      'create table hashed (id int primary key, day date not null, size int) partition by hash (id)',
      ...[0, 1, 2].map(
        (n) => `create table h${n} partition of hashed for values with (modulus 3, remainder ${n})`,
      ),
      'create table ranged (id int, day date, size int, primary key (day, id)) partition by range (day)',
      `create table january partition of ranged for values from ('2026-01-01') to ('2026-02-01')`,
      'create table later partition of ranged default',
      ...['hashed', 'ranged'].map((table) => `insert into ${table} ${rows}`),
    ],
  )

  test('walks go through all partitions, and the advised indexes can be created', async () => {
    const { database } = opened.service
    for (const declared of [hashed, ranged]) {
      const [of] = readLists({ lists: [declared] })
      const { faults, missing } = await checkList(database, of!)
      assert.deepEqual(faults, [])
      assert.ok(missing.length > 0)
      for (const { statement } of missing) await asAdmin(opened.home.url, statement)
      assert.deepEqual((await checkList(database, of!)).missing, [])
      for (const query of ['limit=7', 'limit=7&sort=size', 'limit=7&sort=-size']) {
        const items = (await walk(opened.service, `${declared.path}?${query}`)).flat()
        assert.equal(new Set(items.map((item) => item['id'])).size, 100, query)
        assert.equal(items.length, 100, query)
      }
    }
  })
})
