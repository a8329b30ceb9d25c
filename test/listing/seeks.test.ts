// A page at the far end costs what the first one costs only if the index is sought: SQLite's plan says whether it is.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFilters } from '../../src/listing/filters.ts'
import type { ListDeclaration } from '../../src/listing/list.ts'
import { readOrder } from '../../src/listing/order.ts'
import { planPage } from '../../src/listing/plan.ts'
import { posts, products } from '../../src/listing/resources/products-and-posts.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'
import { onEachEngine, started } from '../harness/index.ts'

onEachEngine('seeks', (engine) => {
  if (engine.name !== 'sqlite') return

  const home = started(() => engine.createMigratedDatabase())
  const database = started(async () => openSqlite(home.url.slice('sqlite:'.length)))

  const explain = (
    list: ListDeclaration,
    from: 'start' | 'key',
    parameters: Record<string, string>,
  ): string[] => {
    const { applied: filters } = readFilters(list, parameters)
    const order = readOrder(list, parameters['sort'])
    const { sql, slots } = planPage({ list, filters, order, rows: 21, from }, 'sqlite')
    const rows = database.readConnection.all<{ detail: string }>(
      `explain query plan ${sql}`,
      slots.map(() => null),
    )
    return rows.map(({ detail }) => detail)
  }

  for (const [list, parameters] of [
    [posts, {}],
    [products, {}],
    [products, { sort: '-createdAt' }],
    [products, { sort: 'price' }],
    [products, { sort: '-price' }],
    [products, { sort: '-name' }],
    [products, { category: 'x' }],
    [products, { category: 'x', sort: '-price' }],
    [products, { category: 'x', sort: 'price', minPrice: '3' }],
    [products, { minPrice: '3', sort: 'price' }],
  ] as const) {
    test(`${list.path} ${JSON.stringify(parameters)} uses an index, without scan or sort`, () => {
      for (const from of ['start', 'key'] as const) {
        const plan = explain(list, from, parameters).join('\n')
        assert.doesNotMatch(plan, /TEMP B-TREE/, plan)
        if (from === 'key') assert.match(plan, /^SEARCH \w+ USING INDEX \S+ \(/m, plan)
        if (from === 'key') assert.doesNotMatch(plan, /SCAN/, plan)
      }
    })
  }

  test('a mixed order seeks each of its ranges', () => {
    const plan = explain(products, 'key', { sort: 'price,-createdAt' })
    assert.equal(
      plan.filter((line) => line.startsWith('SEARCH products USING INDEX')).length,
      2,
      plan.join('\n'),
    )
  })
})
