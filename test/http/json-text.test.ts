// How the dashboard writes the payload of an event, which anybody may have sent who may send events.
import assert from 'node:assert/strict'
import { test } from 'node:test'

// A script for browsers, which has no types.
const script = new URL('../../src/http/pages/assets/dashboard/json-text.js', import.meta.url).href
const { indented } = (await import(script)) as { indented: (text: string) => string }

test('members and items are on separate lines, and numbers keep their digits', () => {
  const text = '{"a":[1,{"b":12345678901234567890}],"c":{},"d":[],"e":"x,{]"}'
  assert.equal(
    indented(text),
    `{
  "a": [
    1,
    {
      "b": 12345678901234567890
    }
  ],
  "c": {},
  "d": [],
  "e": "x,{]"
}`,
  )
})

test('the result is bounded and equal JSON for any depth and length', () => {
  const nested = (open: string, close: string, depth: number): string =>
    `${open.repeat(depth)}1${close.repeat(depth)}`
  for (const text of [
    nested('[', ']', 10_000),
    nested('[', ']', 500_000),
    nested('{"a":', '}', 150_000),
    `${'['.repeat(35)}${'1,'.repeat(400_000)}1${']'.repeat(35)}`,
    `[${`${nested('[', ']', 30)},`.repeat(10_000)}1]`,
  ]) {
    const result = indented(text)
    assert.ok(result.length <= 2 * text.length + 500_200, `${text.length} became ${result.length}`)
    assert.equal(result.replaceAll(/\s/g, ''), text)
  }
})

test('deeper levels stay on one line', () => {
  const lines = indented(`${'['.repeat(60)}1,2${']'.repeat(60)}`).split('\n')
  assert.equal(lines.length, 81)
  assert.equal(lines[40], `${' '.repeat(80)}[[[[[[[[[[[[[[[[[[[[1,2]]]]]]]]]]]]]]]]]]]]`)
})
