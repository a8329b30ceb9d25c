import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseQueryString, readFields, readFormBody, withQuery } from './parameters.ts'

const cases: [string, Record<string, string>][] = [
  ['', {}],
  ['a=1&b=2', { a: '1', b: '2' }],
  ['a=1&a=2', { a: '1' }],
  ['a', { a: '' }],
  ['a=b=c', { a: 'b=c' }],
  ['a=x+y%20z', { a: 'x y z' }],
  ['a=%', { a: '%' }],
  ['a=%ff', { a: '\ufffd' }],
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

describe('fields of a form', () => {
  // Node.js reads no text correctly that has both characters beyond ASCII and invalid escapes.
  const ascii = fc.oneof(
    fc.constantFrom('&', '=', '+', '%', '?', '%4', '%41', '%e4%bd%a0', '%ff', '%00', '__proto__'),
    fc.string(),
  )
  const wide = fc.constantFrom('&', '=', '+', '%41', '%e4%bd%a0', 'é', '你', '😀', 'a')
  const text = fc
    .oneof(fc.array(ascii, { maxLength: 30 }), fc.array(wide, { maxLength: 30 }))
    .map((pieces) => `a${pieces.join('')}`)

  test('are those that URLSearchParams reads', () => {
    fc.assert(
      fc.property(text, (form) => {
        const expected = [...new URLSearchParams(form)]
        assert.deepEqual(readFields(form), expected)
        assert.deepEqual(readFields(Buffer.from(form)), expected)
      }),
    )
  })

  test('keep the order of repeated names; one value is a text, several are an array', () => {
    assert.deepEqual(
      { ...readFormBody('b=2&a=1&b=1&__proto__=x') },
      { b: ['2', '1'], a: '1', ['__proto__']: 'x' },
    )
  })

  test('are a thousand at most, unless the sender is verified', () => {
    const form = (count: number): string => Array.from({ length: count }, (_, index) => `f${index}`).join('&')
    assert.equal(readFields(form(1_000)).length, 1_000)
    assert.throws(() => readFields(form(1_001)), {
      code: 'bad-request',
      message: 'The form has more than 1,000 fields.',
    })
    assert.equal(Object.keys(readFormBody(form(5_000))).length, 5_000)
  })

  for (const [name, unit] of [
    ['names without =', () => 'a&'],
    ['different names', (index: number) => `k${index}=1&`],
    ['repeated names', (index: number) => `k${index % 1_000}=1&`],
    ['broken escapes', () => '%&'],
  ] as const)
    test(`of a verified sender are read in linear time: ${name}`, () => {
      const form = (count: number): string =>
        Array.from({ length: count }, (_, index) => unit(index)).join('')
      const [short, long] = [form(10_000), form(80_000)]
      const cost = (text: string): number => {
        const before = process.cpuUsage().user
        readFormBody(text)
        return process.cpuUsage().user - before
      }
      const least = (text: string): number => Math.min(...Array.from({ length: 7 }, () => cost(text)))
      const [one, eight] = [least(short), least(long)]
      // Linear time gives a factor of 8, quadratic time one of 64. Other work of the machine can double or triple a measurement.
      assert.ok(eight <= 24 * one || eight < 50_000, `${one} µs, eight times the length ${eight} µs`)
    })
})

test('the own query of an address stays as it is written', () => {
  const added = [
    ['code', 'a b'],
    ['iss', 'https://gate.example.com'],
  ] as const
  const written = 'code=a+b&iss=https%3A%2F%2Fgate.example.com'
  for (const [uri, expected] of [
    ['https://app.example.com/cb', `https://app.example.com/cb?${written}`],
    ['https://app.example.com', `https://app.example.com/?${written}`],
    ['https://app.example.com/cb?', `https://app.example.com/cb?${written}`],
    ['https://app.example.com/cb?flag', `https://app.example.com/cb?flag&${written}`],
    ['https://app.example.com/cb?a=1&', `https://app.example.com/cb?a=1&${written}`],
    ['https://app.example.com/cb?to=/a%20b(c)*', `https://app.example.com/cb?to=/a%20b(c)*&${written}`],
    ['com.example.app:/cb', `com.example.app:/cb?${written}`],
  ] as const)
    assert.equal(withQuery(uri, added), expected)
  assert.equal(withQuery('https://app.example.com/cb?to=/a%20b', []), 'https://app.example.com/cb?to=/a%20b')
})
