// What a view shows may change while nothing is written.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { onEachEngine } from '../harness/engines.ts'
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
  const opened = listService(engine, [lotsList, offers], async (database) => {
    // A clock would do as well; this one moves at once.
    const chance = engine.name === 'sqlite' ? 'random()' : 'gen_random_uuid()'
    await database.transaction(async (tx) => {
      await sql`create table offers (id int not null primary key)`.execute(tx)
      await sql`insert into offers values (1)`.execute(tx)
      await sql.raw(`create view lots as select id, cast(${chance} as text) as lot from offers`).execute(tx)
    })
  })

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
  const opened = listService(engine, [sums], (database) =>
    database.transaction(async (tx) => {
      if (engine.name === 'sqlite') {
        await sql`create table sums (id int not null primary key, size int)`.execute(tx)
        await sql`insert into sums values (1, 7), (2, null), (3, 7)`.execute(tx)
        return
      }
      await sql`create materialized view sums (id, size) as values (1, 7), (2, null), (3, 7)`.execute(tx)
      await sql`create unique index sums_key on sums (id)`.execute(tx)
    }),
  )

  test('a unique index makes a key, though no column is known to be without nulls', async () => {
    const pages = await walk(opened.service, '/sums?sort=size&limit=1')
    const expected = engine.name === 'sqlite' ? [2, 1, 3] : [1, 3, 2]
    assert.deepEqual(
      pages.flat().map((item) => item['id']),
      expected,
    )
  })

  test('it cannot have triggers that maintain counts', async () => {
    if (engine.name === 'sqlite') return
    const kept = { path: '/sums', table: 'sums', key: 'id', fields, pages: ['offset'], keep: true } as const
    const { faults } = await checkList(opened.service.database, readLists({ lists: [list(kept)] })[0]!)
    assert.deepEqual(faults, ['`keep` needs a table: a view cannot have triggers'])
  })
})
