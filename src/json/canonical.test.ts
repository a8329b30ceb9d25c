import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from './exact.ts'

const same = (a: string, b: string): boolean => canonicalJson(a) === canonicalJson(b)

/** The same value with the keys of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

test('equal values give one text for any order of keys; different values give different texts', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
      const [a, b] = [JSON.stringify(first), JSON.stringify(second)]
      assert.ok(same(a, JSON.stringify(reversed(first))))
      if (a !== b) assert.equal(same(a, b), JSON.stringify(sorted(first)) === JSON.stringify(sorted(second)))
    }),
  )
})

/** An order of keys made in another way, to compare with. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const names = Object.keys(value).toSorted()
  return { members: names.map((name) => [name, sorted((value as Record<string, unknown>)[name])]) }
}

test('numbers of equal value give the same text', () => {
  for (const [a, b] of [
    ['1', '1.0'],
    ['1', '10e-1'],
    ['100', '1e2'],
    ['100', '1E+2'],
    ['-0.050', '-5e-2'],
    ['0', '-0.00e7'],
    ['12345678901234567890', '1234567890123456789e1'],
    ['1e400', '10e399'],
  ] as const)
    assert.ok(same(a, b), `${a} ${b}`)
  for (const [a, b] of [
    ['12345678901234567890', '12345678901234567891'],
    ['1', '-1'],
    ['1', '"1"'],
    ['1e400', '1e401'],
    ['1e9999999999999999999', '1e9999999999999999998'],
    ['0.1', '0.10000000000000000001'],
    ['10', '1'],
  ] as const)
    assert.ok(!same(a, b), `${a} ${b}`)
})

test('many zeros take linear time', () => {
  const digits = `${'10'.repeat(200_000)}${'0'.repeat(400_000)}1`
  assert.ok(same(digits, `${digits}.0`))
})

test('__proto__ is an ordinary key', () => {
  assert.ok(same('{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'))
  assert.ok(!same('{"__proto__":1}', '{"__proto__":2}'))
  assert.ok(!same('{"__proto__":{"a":1}}', '{"a":1}'))
})
