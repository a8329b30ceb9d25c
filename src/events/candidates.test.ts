import assert from 'node:assert/strict'
import { test } from 'node:test'
import { candidatesOf } from './search.ts'

test('failed and retrying events of a source are received ones: no index of deliveries is read for them', () => {
  for (const status of ['failed', 'retrying'] as const) {
    assert.equal(candidatesOf('sqlite', { status }).length, 2)
    assert.equal(candidatesOf('sqlite', { status, source: 'shop' }).length, 1)
  }
})

test('filters that no event fulfils have no candidates', () => {
  assert.deepEqual(candidatesOf('postgres', { status: 'delivered', source: 'shop' }), [])
  assert.deepEqual(candidatesOf('postgres', { status: 'blocked', direction: 'emitted' }), [])
  assert.deepEqual(candidatesOf('postgres', { direction: 'emitted', orderKey: 'k' }), [])
})
