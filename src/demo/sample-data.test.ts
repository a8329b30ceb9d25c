import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalTime } from '../paging/time.ts'
import { sampleData } from './sample-data.ts'

const now = Date.parse('2026-03-01T10:00:00Z')

test('samples are the same for the same day, distinct, and not from the future', () => {
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

test('they show what the lists can do: ties in price and time, things out of stock, several categories', () => {
  const { products } = sampleData(now)
  assert.ok(new Set(products.map(({ price }) => price)).size < products.length)
  assert.ok(new Set(products.map(({ created_at }) => created_at)).size < products.length)
  assert.ok(products.some(({ stock }) => stock === 0))
  assert.ok(new Set(products.map(({ category }) => category)).size >= 4)
})
