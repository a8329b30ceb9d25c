import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalTime } from '../paging/time.ts'
import { sampleData } from './sample-data.ts'

const now = Date.parse('2026-03-01T10:00:00Z')

test('sample data is the same for one day, distinct, and not from the future', () => {
  const { products, posts } = sampleData(now)
  assert.deepEqual(sampleData(now + 3_600_000), { products, posts })
  assert.ok(products.length >= 24 && posts.length >= 24)
  for (const rows of [products, posts]) {
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
    for (const { created_at } of rows) {
      assert.equal(canonicalTime(created_at), created_at)
      assert.ok(Date.parse(created_at) < now)
    }
  }
})

test('sample data has ties in price and time, items out of stock, and several categories', () => {
  const { products } = sampleData(now)
  assert.ok(new Set(products.map(({ price }) => price)).size < products.length)
  assert.ok(new Set(products.map(({ created_at }) => created_at)).size < products.length)
  assert.ok(products.some(({ stock }) => stock === 0))
  assert.ok(new Set(products.map(({ category }) => category)).size >= 4)
})
