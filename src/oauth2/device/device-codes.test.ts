import assert from 'node:assert/strict'
import { test } from 'node:test'
import { displayUserCode, newUserCode, readUserCode } from './device-codes.ts'

test('codes have 8 letters without vowels, and are read in any writing', () => {
  const codes = Array.from({ length: 1_000 }, newUserCode)
  for (const code of codes) assert.match(code, /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/)
  assert.equal(new Set(codes).size, codes.length)
  assert.equal(displayUserCode('WDJBMJHT'), 'WDJB-MJHT')
  for (const typed of ['WDJB-MJHT', 'wdjbmjht', ' wdjb mjht ', 'w.d.j.b-m.j.h.t'])
    assert.equal(readUserCode(typed), 'WDJBMJHT')
  for (const typed of ['', 'WDJB-MJH', 'WDJB-MJHTX', 'WDJB-MJHA', 'WDJB-MJH0', '×'.repeat(8)])
    assert.equal(readUserCode(typed), undefined, typed)
})
