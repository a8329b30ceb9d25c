import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLimit, readPage } from './limit.ts'

const limits: [text: string | undefined, limit: number][] = [
  [undefined, 20],
  ['', 20],
  [' ', 20],
  ['abc', 20],
  ['5;drop', 20],
  ['5 6', 20],
  ['0x10', 20],
  ['1e', 20],
  ['1_0', 20],
  ['1,5', 20],
  ['.', 20],
  // A number loses its fraction; what is then zero is zero.
  ['5.5', 5],
  ['2.7', 2],
  ['99.9', 99],
  ['100.9', 100],
  ['5.', 5],
  ['.5', 20],
  ['0.9', 20],
  ['-0.9', 20],
  ['-2.7', 1],
  ['1e1', 10],
  ['1E1', 10],
  ['2.5e+1', 25],
  ['50e-1', 5],
  ['1e-9', 20],
  ['1e9', 100],
  ['-1e9', 1],
  // Beyond what a double holds.
  ['1e999', 100],
  ['-1e999', 1],
  ['1e99999999999999999999', 100],
  ['٥', 20],
  ['NaN', 20],
  ['Infinity', 20],
  ['--3', 20],
  ['5\n', 20],
  ['0', 20],
  ['-0', 20],
  ['000', 20],
  ['-3', 1],
  ['-99999999999999999999999999', 1],
  ['1', 1],
  ['007', 7],
  ['+7', 7],
  // A plus sign in a query string is a space.
  [' 7', 7],
  ['100', 100],
  ['101', 100],
  ['9'.repeat(400), 100],
  ['9'.repeat(401), 20],
  [`${'0'.repeat(15_500)}E`, 20],
]

test('a limit of zero or that is not a number becomes the default; others are clamped', () => {
  for (const [text, limit] of limits)
    assert.equal(readLimit(text, { default: 20, max: 100 }), limit, `limit=${text}`)
})

const pages: [text: string | undefined, page: number][] = [
  [undefined, 1],
  ['', 1],
  ['abc', 1],
  ['2.5', 2],
  ['0.5', 1],
  ['1e1', 10],
  ['-1e999', 1],
  ['0x10', 1],
  ['0', 1],
  ['-4', 1],
  ['1', 1],
  ['3', 3],
  [' 3', 3],
]

test('a page below 1 or that is not a number becomes 1', () => {
  for (const [text, page] of pages) assert.equal(readPage(text), page, `page=${text}`)
})

test('a huge page is reduced to one whose offset is exact', () => {
  for (const text of ['9'.repeat(400), '1e999', '9007199254740993'])
    assert.ok(Number.isSafeInteger(readPage(text) * 100), text)
})
