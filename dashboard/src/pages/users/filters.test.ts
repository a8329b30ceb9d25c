import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { userFilters } from './filters.ts'

describe('the filters of users', () => {
  test('leave out what was not chosen', () => {
    assert.deepEqual(userFilters({}), { sort: '-id' })
    assert.deepEqual(userFilters({ q: '', role: 'admin', blocked: 'no', sort: 'email', seen: 'nonsense' }), {
      sort: 'email',
      role: 'admin',
      blocked: 'false',
    })
  })

  test('count days back from the end of this hour', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-03-10T10:20:30Z') })
    assert.deepEqual(userFilters({ seen: '1d' }), { sort: '-id', lastSeenSince: '2026-03-09T11:00:00.000Z' })
    assert.deepEqual(userFilters({ seen: 'not-30d' }), {
      sort: '-id',
      lastSeenUntil: '2026-02-08T11:00:00.000Z',
    })
  })
})
