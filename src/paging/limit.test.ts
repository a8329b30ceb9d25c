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
  ['1e3', 20],
  ['5.5', 20],
  ['.5', 20],
  ['5.', 20],
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
]

test('a limit that is no whole number or zero becomes the default, others are clamped', () => {
  for (const [text, limit] of limits)
    assert.equal(readLimit(text, { default: 20, max: 100 }), limit, `limit=${text}`)
})

const pages: [text: string | undefined, page: number][] = [
  [undefined, 1],
  ['', 1],
  ['abc', 1],
  ['2.5', 1],
  ['0', 1],
  ['-4', 1],
  ['1', 1],
  ['3', 3],
  [' 3', 3],
]

test('a page that is no whole number or below 1 becomes 1', () => {
  for (const [text, page] of pages) assert.equal(readPage(text), page, `page=${text}`)
})

test('a huge page stays one whose offset is exact', () => {
  const page = readPage('9'.repeat(400))
  assert.ok(Number.isSafeInteger(page * 100))
})
