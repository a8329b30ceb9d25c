import assert from 'node:assert/strict'
import { test } from 'node:test'
import { list, type RowAccess } from './config.ts'
import { readLists } from './declaration.ts'
import { readRowAccess } from './items.ts'

const readBy = (where: () => unknown) => {
  const fields = { id: { type: 'integer' }, owner: { type: 'text' } } as const
  const options = { path: '/a', table: 'a', key: 'id', fields, where: where as RowAccess } as const
  return readRowAccess(readLists({ lists: [list(options)] })[0]!, undefined)
}

test('only a plain object of conditions lets rows pass; anything else is an error', () => {
  assert.equal(readBy(() => ({})).empty, false)
  assert.equal(readBy(() => ({ owner: 'ada' })).applied.length, 1)
  assert.equal(readBy(() => false).empty, true)
  assert.equal(readBy(() => ({ owner: undefined })).empty, true)
  for (const answer of [Promise.resolve({ owner: 'ada' }), [], new Map(), new Date(0), undefined, null, true])
    assert.throws(() => readBy(() => answer), TypeError)
})
