import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQueryString } from './query-string.ts'

const cases: [string, Record<string, string>][] = [
  ['', {}],
  ['a=1&b=2', { a: '1', b: '2' }],
  ['a=1&a=2', { a: '1' }],
  ['a', { a: '' }],
  ['a=b=c', { a: 'b=c' }],
  ['a=x+y%20z', { a: 'x y z' }],
  ['a=%', { a: '%' }],
  ['a=%ff', { a: '%ff' }],
  ['__proto__=x', { ['__proto__']: 'x' }],
  ['&&a=1&', { a: '1' }],
]
for (const [text, expected] of cases) {
  test(`reads ${JSON.stringify(text)}`, () =>
    assert.deepEqual(Object.entries(parseQueryString(text)), Object.entries(expected)))
}

test('parameters beyond the limit are ignored', () => {
  const text = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&')
  assert.equal(Object.keys(parseQueryString(text)).length, 100)
})
