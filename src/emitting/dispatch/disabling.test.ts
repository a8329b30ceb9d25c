import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consequenceOf, disablesAt } from './operational-events.ts'

const day = 86_400_000
const week = 7 * day

test('a subscriber is not disabled without failures, or when the policy is off', () => {
  assert.equal(disablesAt({ failingSince: null, warnedAt: null }, week), null)
  assert.equal(disablesAt({ failingSince: 0, warnedAt: null }, Infinity), null)
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: 0 }, Infinity, 1e15), undefined)
})

test('a subscriber whose next failure comes long after the week is warned first, with the full notice period', () => {
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: null }, week, 30 * day), 'warn')
  const warned = { failingSince: 0, warnedAt: 30 * day }
  assert.equal(disablesAt(warned, week), 31 * day)
  assert.equal(consequenceOf(warned, week, 31 * day - 1), undefined)
  assert.equal(consequenceOf(warned, week, 31 * day), 'disable')
})

test('for a short period the notice is half of it', () => {
  const short = day
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: null }, short, day / 2), 'warn')
})
