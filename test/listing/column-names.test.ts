// Tables and columns of users that are called as something in our statements is: what is meant is always theirs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { CountsWriter } from '../../src/listing/counts/writer.ts'
import { each, onEachEngine } from '../harness/index.ts'
import { allWalks, readList } from './seed.ts'
import { listService } from './service.ts'

const text = { type: 'text' } as const
const integer = { type: 'integer' } as const
const lists = ['counted', 'moved', 'page', 'order'].map((table) =>
  list({
    path: `/${table}`,
    table,
    access: 'public',
    fields: { id: integer, total: integer, c0: integer, k0: integer, k1: text, size: integer, n: integer },
    key: 'id',
    order: ['total'],
    sort: ['total', 'c0', 'k0', 'k1', 'size', 'n'],
    pages: ['cursor', 'offset'],
    exports: true,
    keep: true,
    expand: {
      own: {
        table,
        from: 'id',
        key: 'n',
        fields: { c1: { type: 'integer', column: 'c0' }, c0: { type: 'integer', column: 'k0' } },
        many: { order: ['c0', 'c1'] },
      },
    },
  }),
)
const rows = 60

onEachEngine('names in statements', (engine) => {
  const opened = listService(engine, lists, async (database, run) => {
    const values = Array.from(
      { length: rows },
      (_, id) =>
        `(${id}, ${(id * 7) % 11}, ${id % 3 === 0 ? 'null' : (id * 5) % 13}, ${id % 4 === 0 ? 'null' : (id * 11) % 17}, '${(id * 3) % 7}', ${(id * 13) % 5}, ${id % 2})`,
    ).join(', ')
    for (const { table } of lists)
      await run(
        `create table "${table}" (id integer primary key, total integer not null, c0 integer, k0 integer, k1 text,
          size integer not null, n integer not null)`,
        `insert into "${table}" values ${values}`,
      )
    for (const declared of readLists({ lists })) await new CountsWriter(database, declared).create()
  })

  for (const { path, table } of lists) {
    test(`a table called ${table}: every order, by cursor and by number, and an expansion`, async () => {
      for (const sort of ['total', 'size,k0', 'k1,-c0', '-n,k0,-c0']) {
        const all = (await readList(opened.service, `${path}?limit=100&sort=${sort}`)).data
        assert.equal(all.length, rows)
        for (const [index, next] of all.slice(1).entries()) {
          const one = all[index]!
          const differing = sort
            .split(',')
            .find((key) => one[key.replace('-', '')] !== next[key.replace('-', '')])
          if (differing === undefined) continue
          const [before, behind] = [one[differing.replace('-', '')], next[differing.replace('-', '')]]
          if (before === null || behind === null) continue
          assert.equal(before! < behind!, !differing.startsWith('-'), `sort=${sort} at ${index}`)
        }
        const walks = await allWalks(opened.service, path, `sort=${sort}`, 7)
        for (const [way, ids] of Object.entries(walks))
          assert.deepEqual(ids, each(all, 'id'), `sort=${sort}: ${way}`)
      }
      assert.equal((await readList(opened.service, `${path}?limit=7&page=1`)).pagination.total, rows)
      const { data } = await readList(opened.service, `${path}?expand=own&limit=2&sort=n`)
      const own = (data[0]!['own'] as { data: { c0: number | null; c1: number | null }[] }).data
      const ordered = own.filter(({ c0 }) => c0 !== null).map(({ c0 }) => c0!)
      assert.deepEqual(
        ordered,
        ordered.toSorted((one, other) => one - other),
      )
    })

    test(`a table called ${table}: maintained counts are checked`, async () => {
      const [declared] = readLists({ lists: lists.filter((one) => one.table === table) })
      const keeping = new CountsWriter(opened.service.database, declared!)
      await opened.run(`delete from "${table}" where id = 3`)
      assert.deepEqual(await keeping.check(), { total: rows - 1, faults: [] })
      await keeping.rebuild()
      assert.deepEqual(await keeping.check(), { total: rows - 1, faults: [] })
    })
  }
})
