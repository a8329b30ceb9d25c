import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { DisplayName } from './schemas.ts'

const schema = Compile(DisplayName)

test('a name is a text that is not blank and that databases can store', () => {
  for (const name of ['a', ' a b ', 'Night shift 🌙', '\u00a0é'])
    assert.ok(schema.Check(name), JSON.stringify(name))
  for (const name of ['', ' ', '\u00a0\n', 'a\0', '\0 a', ' \ud800', 'a\udfff', 'a'.repeat(101)])
    assert.ok(!schema.Check(name), JSON.stringify(name))
})

test('a name that is far too long is refused in linear time', () => {
  for (const part of ['a', ' ', ' a']) {
    const begun = process.cpuUsage()
    schema.Errors(`${part.repeat(150_000)}\0`)
    const passed = process.cpuUsage(begun).user / 1_000
    assert.ok(passed < 2_000, `${Math.round(passed)} ms`)
  }
})
