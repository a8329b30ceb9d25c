import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consequenceOf, disablesAt } from './disabling.ts'

const day = 86_400_000
const week = { after: 7 * day }

test('a subscriber that does not fail is not disabled, nor any when the policy is off', () => {
  assert.equal(disablesAt({ failingSince: null, warnedAt: null }, week), null)
  assert.equal(disablesAt({ failingSince: 0, warnedAt: null }, { after: Infinity }), null)
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: 0 }, { after: Infinity }, 1e15), undefined)
})

test('it is told a day ahead, and disabled by a failure after the week', () => {
  const failing = { failingSince: 0, warnedAt: null }
  assert.equal(consequenceOf(failing, week, 6 * day - 1), undefined)
  assert.equal(consequenceOf(failing, week, 6 * day), 'warn')
  const warned = { failingSince: 0, warnedAt: 6 * day }
  assert.equal(consequenceOf(warned, week, 7 * day - 1), undefined)
  assert.equal(consequenceOf(warned, week, 7 * day), 'disable')
})

test('who fails for the first time long after the week is told first, and has the whole notice', () => {
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: null }, week, 30 * day), 'warn')
  const warned = { failingSince: 0, warnedAt: 30 * day }
  assert.equal(disablesAt(warned, week), 31 * day)
  assert.equal(consequenceOf(warned, week, 31 * day - 1), undefined)
  assert.equal(consequenceOf(warned, week, 31 * day), 'disable')
})

test('of a short span half is the notice', () => {
  const short = { after: day }
  assert.equal(consequenceOf({ failingSince: 0, warnedAt: null }, short, day / 2), 'warn')
})
