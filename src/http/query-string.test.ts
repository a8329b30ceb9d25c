import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress } from './client-address.ts'
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

test('thousands of parameters are cut', () => {
  const text = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&')
  assert.equal(Object.keys(parseQueryString(text)).length, 100)
})

const addresses: [string, string][] = [
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
]
for (const [ip, expected] of addresses) {
  test(`counts ${ip} as ${expected}`, () => assert.equal(clientAddress({ ip } as never), expected))
}
