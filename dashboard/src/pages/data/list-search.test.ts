import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filtersOf, readListSearch, rowQuery } from './list-search.ts'

describe('the address of a list', () => {
  const search = readListSearch({
    'f.price': '12',
    'f.sku': '007',
    'f.open': 'true',
    'f.none': '',
    sort: '-price',
    page: '2',
    other: 'x',
  })

  test('keeps what it knows, with numbers only where they read the same', () => {
    const expected = { 'f.price': 12, 'f.sku': '007', 'f.open': true, sort: '-price', page: 2 }
    assert.deepEqual(search, expected)
  })

  test('has filters by their parameter, and the query of the rows', () => {
    const filters = { price: '12', sku: '007', open: 'true' }
    assert.deepEqual(filtersOf(search), filters)
    assert.deepEqual(rowQuery(search), { ...filters, sort: '-price' })
  })
})
