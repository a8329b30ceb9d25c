import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queriesOf } from './query.ts'
import { products } from './resources/products-and-posts.ts'

const request = (url: string) => ({ url, caller: undefined })

test('requests with the same URL share their query, unless the URL is long: the cache is bounded in characters', () => {
  const queries = queriesOf(products, [])
  const urlOf = (length: number): string => '/products?category='.padEnd(length, 'x')
  for (const length of [30, 1_000])
    assert.equal(queries(request(urlOf(length))), queries(request(urlOf(length))))
  assert.notEqual(queries(request(urlOf(1_001))), queries(request(urlOf(1_001))))
  assert.deepEqual(queries(request(urlOf(1_001))).values, [urlOf(1_001).slice('/products?category='.length)])
})

test('a list whose rows depend on the caller reads each request', () => {
  const queries = queriesOf({ ...products, where: () => ({}) }, [])
  assert.notEqual(queries(request('/products')), queries(request('/products')))
})
