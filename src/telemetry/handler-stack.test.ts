import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { endStackAtHandler } from './log.ts'

const stack = (frames: readonly string[]): string => frames.map((frame) => `\n    at ${frame}`).join('')
const handler = 'order.paid (file:///shop/postern.config.ts:8:15)'
const service = [
  'runHandlers (file:///postern/attempt.ts:152:13)',
  'work (file:///postern/attempt.ts:81:27)',
  '/x.js:1:2',
]

test('the stack of an error ends at the handler', () => {
  const whole = `Error: no stock${stack([handler, ...service])}`
  assert.equal(endStackAtHandler(whole), `Error: no stock${stack([handler])}`)
  const awaited = `Error: no stock${stack([handler, `async ${service[0]!}`])}`
  assert.equal(endStackAtHandler(awaited), `Error: no stock${stack([handler])}`)
})

test('properties and causes of an error stay', () => {
  const cause = Object.assign(new Error('cause'), { stack: `Error: cause${stack([handler, ...service])}` })
  const error = Object.assign(new Error('whole', { cause }), { code: 'NO_STOCK' })
  error.stack = `Error: whole${stack([handler, ...service])}`
  const text = endStackAtHandler(inspect(error))
  assert.doesNotMatch(text, /runHandlers|attempt\.ts|x\.js/)
  assert.match(text, /Error: whole\n {4}at order\.paid \(.*\) \{\n/)
  assert.match(text, /code: 'NO_STOCK'/)
  assert.match(text, /\[cause\]: Error: cause\n\s+at order\.paid/)
})

test('other stacks stay as they are', () => {
  const text = `Error: failed${stack(['work (/a.js:1:1)', 'runHandlersLater (/a.js:2:2)'])}`
  assert.equal(endStackAtHandler(text), text)
})

test('the time for a message with many empty lines is linear', () => {
  const text = `Error: ${'\n'.repeat(100_000)}`
  const begun = process.cpuUsage()
  assert.equal(endStackAtHandler(text), text)
  const passed = process.cpuUsage(begun).user / 1_000
  assert.ok(passed < 2_000, `${Math.round(passed)} ms`)
})
