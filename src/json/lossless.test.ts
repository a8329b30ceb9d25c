import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hasLongNumber,
  parseLossless,
  parseToExactValues,
  rememberNumbers,
  stringifyExactly,
} from './exact.ts'

const through = (text: string): string => JSON.stringify(parseLossless(Buffer.from(text)))

test('numbers are written as they were read', () => {
  const numbers = [
    '9007199254740993',
    '12345678901234567890',
    '-0',
    '1.0',
    '1.10',
    '0.1',
    '1e3',
    '1E400',
    '-1.5e-7',
    '0.0000001',
    '123456789012345.6789',
    '3.141592653589793238',
    '100',
    '0',
    '1000000000000000000000',
  ]
  for (const number of numbers) {
    assert.equal(through(number), number)
    assert.equal(through(`{"a":[${number}]}`), `{"a":[${number}]}`)
  }
})

test('every JSON number is written as it was read', () => {
  const digits = fc.stringMatching(/^\d{1,25}$/)
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.stringMatching(/^(0|[1-9]\d{0,25})$/),
      fc.option(digits),
      fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
    )
    .map(
      ([sign, whole, fraction, exponent]) =>
        `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`,
    )
  fc.assert(
    fc.property(number, (text) => {
      for (const json of [`{"n":${text}}`, `[{"a": [1,\n${text}]}]`]) {
        const compact = json.replaceAll(/\s/g, '')
        assert.equal(through(json), compact)
        const value: unknown = JSON.parse(json)
        rememberNumbers(value, json)
        assert.deepEqual(value, JSON.parse(json))
        assert.equal(stringifyExactly(value), compact)
        assert.equal(stringifyExactly(parseToExactValues(json)), compact)
      }
    }),
  )
})

test('a number of 16 characters is found wherever it stands', () => {
  const text = fc.string({ unit: fc.constantFrom('1', '9', '.', '/', ',', '-'), maxLength: 80 })
  fc.assert(
    fc.property(text, (json) => assert.equal(hasLongNumber(Buffer.from(json)), /[\d./]{16}/.test(json))),
    { numRuns: 2_000 },
  )
  for (let at = 0; at < 40; at += 1)
    assert.ok(hasLongNumber(Buffer.from(`${' '.repeat(at)}1234567890123456${' '.repeat(40 - at)}`)))
})

test('exact values are numbers where these are exact, otherwise bigints and raw JSON', () => {
  const [big, price, million, small, huge] = parseToExactValues(
    '[9007199254740993,1.50,1e6,0.12345678901234567890,1e400]',
  ) as unknown[]
  assert.deepEqual([big, price, million], [9007199254740993n, 1.5, 1e6])
  assert.equal((small as { rawJSON: string }).rawJSON, '0.12345678901234567890')
  assert.equal((huge as { rawJSON: string }).rawJSON, '1e400')
})

test('a changed number is written anew, and objects that moved keep theirs', () => {
  const text = '{"a":{"n":9007199254740993},"b":{"n":1.50},"c":[1e400,2]}'
  const value = JSON.parse(text) as { a: { n: number }; b: { n: number }; c: number[] }
  rememberNumbers(value, text)
  value.c[0] = 7
  assert.equal(stringifyExactly([value.b, value.a, value.c]), '[{"n":1.50},{"n":9007199254740993},[7,2]]')
})

test('__proto__ is an ordinary key and pollutes no prototype', () => {
  const text = '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"n":1.0}'
  assert.equal(through(text), text)
  assert.equal(through('{"__proto__":{"admin":true}}'), '{"__proto__":{"admin":true}}')
  assert.equal(({} as { admin?: boolean }).admin, undefined)
})

test('NUL, lone surrogates and characters of every plane survive', () => {
  for (const text of ['"\\u0000"', '"\\ud800"', '"😀é"']) assert.equal(through(text), text)
})

test('invalid UTF-8 and invalid JSON are client errors', () => {
  for (const bytes of [[0xff], [0x22, 0xc3, 0x28, 0x22], [0x7b]]) {
    assert.throws(() => parseLossless(Uint8Array.from(bytes)), { name: 'Problem', code: 'invalid-body' })
  }
  assert.throws(() => parseLossless(Buffer.from('1.0]')), { code: 'invalid-body' })
  assert.equal(parseLossless(Buffer.alloc(0)), undefined)
})
