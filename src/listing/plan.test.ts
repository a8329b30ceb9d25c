import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFilters } from './filters.ts'
import type { ListDeclaration } from './list.ts'
import { readOrder } from './order.ts'
import { planCount, planPage, type QueryShape } from './plan.ts'
import { posts } from './resources/posts.ts'
import { products } from './resources/products.ts'
import { users } from './resources/users.ts'

function shape(
  list: ListDeclaration,
  from: QueryShape['from'],
  parameters: Record<string, string> = {},
): QueryShape {
  const { applied } = readFilters(list, parameters)
  return { list, filters: applied, order: readOrder(list, parameters['sort']), rows: 3, from }
}

test('keys of one direction compare as a row value', () => {
  const { sql, slots } = planPage(shape(posts, 'key'), 'sqlite')
  assert.equal(
    sql,
    'select "id", "title", "body", "created_at" from "posts" where ("created_at", "id") < (?, ?) ' +
      'order by "created_at" desc, "id" desc limit 3',
  )
  assert.deepEqual(slots, [0, 1])
})

test('mixed directions become one range for each change of direction, each with a limit', () => {
  const parameters = { sort: 'price,-name,-createdAt', category: 'x', inStock: 'true' }
  const { sql, slots } = planPage(shape(products, 'key', parameters), 'postgres')
  const columns =
    '"id" as postern_c0, "category" as postern_c1, "price" as postern_c2, "stock" as postern_c3, "name" as postern_c4, "created_at" as postern_c5, ' +
    '"price" as postern_k0, "name" as postern_k1, "created_at" as postern_k2, "id" as postern_k3'
  const order = 'order by "price", "name" desc, "created_at" desc, "id" desc limit 3'
  const within = '"price" = $2 and ("name", "created_at", "id") < ($3, $4, $5)'
  assert.equal(
    sql,
    'select postern_c0, postern_c1, postern_c2, postern_c3, postern_c4, postern_c5 from (' +
      `select * from (select ${columns} from "products" where "category" = $1 and "stock" > 0 and ${within} ${order}) as postern_range0` +
      ` union all select * from (select ${columns} from "products" where "category" = $6 and "stock" > 0 and "price" > $7 ${order}) as postern_range1` +
      ') as postern_page order by postern_k0, postern_k1 desc, postern_k2 desc, postern_k3 desc limit 3',
  )
  // The filter's value first, then those of the key; the second range begins with the filter again.
  assert.deepEqual(slots, [0, 1, 2, 3, 4, 0, 1])
})

test('no plan contains an OR', () => {
  for (const sort of ['price', '-price,name', 'price,-name,createdAt', 'name,-price,createdAt']) {
    assert.doesNotMatch(planPage(shape(products, 'key', { sort }), 'sqlite').sql, / or /i)
  }
})

test('plans an offset page and a count', () => {
  assert.match(planPage(shape(users, 'offset'), 'postgres').sql, / order by "id" limit 3 offset \$1$/)
  const { filters } = shape(products, 'start', { minPrice: '2' })
  assert.equal(
    planCount(products, filters, 'sqlite').sql,
    'select count(*) as total from "products" where "price" >= ?',
  )
})

test('different statements have different names', () => {
  const names = ['price', '-price', 'name', 'price,name'].map(
    (sort) => planPage(shape(products, 'key', { sort }), 'postgres').name,
  )
  assert.equal(new Set(names).size, names.length)
  // PostgreSQL cuts names at 63 bytes.
  assert.ok(names.every((name) => name.length <= 63))
})
