import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needlesOf } from './body-search.ts'

const needles = (query: Parameters<typeof needlesOf>[0]): string[] => needlesOf(query).map(String)

test('all parts of a query are looked for, because a name is often in every body', () => {
  assert.deepEqual(needles({ path: ['data', 'customer'], value: 'c_17' }), ['customer', 'c_17'])
  assert.deepEqual(needles({ path: ['lines', '0', 'sku'] }), ['sku'])
  assert.deepEqual(needles({ text: 'Straße 12, links' }), ['links', 'Stra', '12', 'e'])
  assert.deepEqual(needles({ text: '„…“' }), [])
})

test('a text with spaces is looked for by its words, because forms write spaces otherwise', () => {
  assert.deepEqual(needles({ text: 'at the door' }), ['door', 'the', 'at'])
})

test('a number that bodies spell otherwise is not looked for', () => {
  assert.deepEqual(needles({ path: ['amount'], value: '1.0' }), ['amount'])
  assert.deepEqual(needles({ path: ['amount'], value: '1.5' }), ['amount', '1', '5'])
})
