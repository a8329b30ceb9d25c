import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bySpecificity, isTypeOrPattern, matchesPattern } from './type-pattern.ts'

const cases: [pattern: string, matching: string[], others: string[]][] = [
  ['*', ['order.paid', 'a'], []],
  ['order.paid', ['order.paid'], ['order.paid.late', 'ORDER.paid']],
  ['order.*', ['order.paid', 'order.paid.late'], ['order', 'orders.paid']],
  ['*.created', ['user.created', 'a.b.created'], ['created', 'user.created.late', 'usercreated']],
  ['order.*.paid', ['order.eu.paid', 'order.eu.de.paid'], ['order.paid', 'order.eu.paid.late']],
  ['*.order.*', ['eu.order.paid'], ['order.paid', 'eu.order']],
  ['a.*.b.*.b', ['a.x.b.y.b', 'a.b.b.b.b'], ['a.x.b', 'a.b.b']],
]

test('a wildcard stands for any text between full stops', () => {
  for (const [pattern, matching, others] of cases) {
    for (const type of matching) assert.ok(matchesPattern(pattern, type), `${pattern} ${type}`)
    for (const type of others) assert.ok(!matchesPattern(pattern, type), `${pattern} ${type}`)
    assert.ok(isTypeOrPattern(pattern), pattern)
  }
})

test('a wildcard that is no whole part is rejected', () => {
  for (const pattern of ['a*', '*a', 'a.b*', 'a.**', '**', 'a.*b.c', '']) {
    assert.ok(!isTypeOrPattern(pattern), pattern)
  }
})

test('many wildcards take linear time', () => {
  const begun = process.cpuUsage()
  assert.ok(!matchesPattern(`${'*.a.'.repeat(60)}b`, 'a.'.repeat(100_000)))
  assert.ok(process.cpuUsage(begun).user < 2_000_000)
})

test('patterns are sorted by what they say', () => {
  const given = ['*', '*.created', 'order.*', 'order.*.paid', 'order.paid.*']
  assert.deepEqual(given.toSorted(bySpecificity), [
    'order.paid.*',
    'order.*.paid',
    'order.*',
    '*.created',
    '*',
  ])
})
