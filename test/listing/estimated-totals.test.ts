// A total that the planner estimates from statistics that are older than the rows.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { list } from '../../src/index.ts'
import { onEachEngine } from '../harness/engines.ts'
import { readList } from './seed.ts'
import { listService } from './service.ts'

const counted = list({
  path: '/counted',
  table: 'counted',
  access: 'public',
  fields: { id: { type: 'integer' } },
  key: 'id',
  pages: ['offset'],
  count: 'estimate',
})

onEachEngine('an estimated total', (engine) => {
  const opened = listService(
    engine,
    [counted],
    ['create table counted (id int not null primary key)', 'insert into counted values (1), (2), (3)'],
  )
  before(async () => {
    // The planner keeps to three rows until the next ANALYZE or another block of the table.
    await opened.run('analyze counted', 'insert into counted values (4), (5), (6), (7), (8), (9), (10)')
  })

  test('is not below the rows that a page shows to be there', async () => {
    const estimated = engine.name === 'postgres'
    const page = async (number: number) =>
      (await readList(opened.service, `/counted?limit=2&page=${number}`)).pagination
    for (const [number, least] of [
      [1, 3],
      [2, 5],
      [4, 9],
      [5, 10],
    ] as const) {
      const total = estimated ? least : 10
      const totalPages = Math.ceil(total / 2)
      const expected = { page: number, limit: 2, total, totalPages, hasNext: number < 5, estimated }
      assert.deepEqual(await page(number), expected)
    }
    assert.equal((await page(6)).total, estimated ? 3 : 10, 'a page without rows shows nothing')
  })
})
