import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buffersOf, packRows, unpackRows } from './packed-rows.ts'

const values = fc.oneof(
  fc.constant(null),
  fc.double({ noNaN: true }),
  fc.bigInt(),
  fc.string({ unit: 'binary' }),
  fc.uint8Array(),
)

test('rows survive the transfer to a thread', () => {
  const rows = fc
    .integer({ min: 1, max: 6 })
    .chain((width) => fc.array(fc.array(values, { minLength: width, maxLength: width })))
  fc.assert(
    fc.property(rows, (all) => {
      const packed = packRows(all)
      assert.deepEqual(unpackRows(structuredClone(packed, { transfer: buffersOf(packed) })), all)
    }),
  )
})

test('a lone surrogate survives', () => {
  assert.deepEqual(unpackRows(structuredClone(packRows([['\ud83d'], ['\ude00']]))), [['\ud83d'], ['\ude00']])
})

test('an empty list of rows survives', () => {
  assert.deepEqual(unpackRows(packRows([])), [])
})
