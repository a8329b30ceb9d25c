// Where rows without a value come. declared-model.ts compares the walks of all places with a plain sort.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list } from '../../src/index.ts'
import { checkList } from '../../src/listing/checking/check.ts'
import { explainList } from '../../src/listing/checking/explain.ts'
import { readLists } from '../../src/listing/declaration.ts'
import { readOrder } from '../../src/listing/order.ts'
import { planPage } from '../../src/listing/plan.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const lists = (['first', 'last'] as const).map((nulls) =>
  list({
    path: `/${nulls}`,
    table: 'spread',
    access: 'public',
    fields: { id: { type: 'integer' }, a: { type: 'integer' }, b: { type: 'text' } },
    key: 'id',
    sort: [{ field: 'a', nulls }, { field: 'b', nulls: nulls === 'last' ? 'first' : 'last' }, 'id'],
    order: ['-a'],
  }),
)

onEachEngine('the place of nulls', (engine) => {
  const rows = Array.from({ length: 23 }, (_, id) => `(${id}, ${id % 3 === 0 ? 'null' : id % 4}, null)`)
  const opened = listService(engine, lists, [
    'create table spread (id integer primary key, a integer, b text)',
    `insert into spread values ${rows.join(', ')}`,
  ])
  test('the advised indexes serve every order, and no page sorts', async () => {
    const { database } = opened.service
    const declared = readLists({ lists })[1]!
    const { missing } = await checkList(database, declared)
    await opened.run(...missing.map(({ statement }) => statement.replace('concurrently ', '')))
    const checked = await checkList(database, declared)
    assert.deepEqual(checked.missing, [])
    // SQLite merges the few rows of each range, which its plan calls a sort.
    for (const { query, steps } of await explainList(database, checked.list))
      assert.doesNotMatch(steps.join(), /Sort|Seq Scan|SCAN/, `${query}: ${steps.join('; ')}`)
    if (database.engine !== 'sqlite') return
    for (const sort of ['a', '-a', 'b', '-b', 'id']) {
      const order = readOrder(checked.list, sort)
      const plan = planPage({ list: checked.list, filters: [], order, rows: 21, from: 'start' }, 'sqlite')
      const steps = database.readConnection.all<{ detail: string }>(`explain query plan ${plan.sql}`, [])
      const text = steps.map(({ detail }) => detail).join()
      assert.doesNotMatch(text, /TEMP B-TREE/, `${sort}: ${text}`)
    }
  })

  test('a cursor is bound to the place of nulls', async () => {
    const { pageInfo } = await readList(opened.service, '/first?limit=2&sort=a')
    assert.equal((await opened.service.fetch(`/first?sort=a&cursor=${pageInfo.nextCursor}`)).status, 200)
    assert.equal((await opened.service.fetch(`/last?sort=a&cursor=${pageInfo.nextCursor}`)).status, 400)
  })
})

test('another place of nulls than first and last stops the start', () => {
  const wrong = { ...lists[0]!, sort: [{ field: 'a', nulls: 'middle' }] }
  assert.throws(() => readLists({ lists: [wrong as never] }), /nulls: 'first' or 'last'/)
})
