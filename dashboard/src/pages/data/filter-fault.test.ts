import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filterFault } from './filter-fault.ts'
import type { ListFilter } from './lists.ts'

const filter = (operator: ListFilter['operator'], type: ListFilter['type']): ListFilter =>
  ({ parameter: 'x', field: 'x', operator, type }) as ListFilter

describe('the fault of a filter value', () => {
  test('none for an empty value, or for text that may be anything', () => {
    assert.equal(filterFault(filter('atLeast', 'integer'), ''), undefined)
    assert.equal(filterFault(filter('prefix', 'integer'), 'abc'), undefined)
  })

  test('each part of a list is checked', () => {
    assert.equal(filterFault(filter('in', 'integer'), '1, 2'), undefined)
    assert.equal(filterFault(filter('in', 'integer'), '1,b'), 'Enter a number.')
  })

  test('dates and UUIDs have a form', () => {
    assert.match(filterFault(filter('equals', 'date'), '2026-02-31x')!, /date/)
    assert.match(filterFault(filter('equals', 'uuid'), '1')!, /UUID/)
  })
})
