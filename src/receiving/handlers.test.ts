import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Handlers } from './handlers.ts'

const named = (keys: readonly string[]) => {
  const entries = keys.map((key) => [key, Object.assign(() => undefined, { key })] as const)
  const handlers = new Handlers(Object.fromEntries(entries))
  return (type: string, actions = false) =>
    handlers.of(type, actions).map((handler) => (handler as unknown as { key: string }).key)
}

const cases: [type: string, actions: boolean, expected: string[]][] = [
  ['order.paid', false, ['order.paid', 'order.*', '*']],
  ['order.paid.late', false, ['order.paid.*', 'order.*', '*']],
  ['order', false, ['*']],
  ['orders.paid', false, ['*']],
  ['issues', false, ['issues', '*']],
  ['issues.opened', false, ['*']],
  ['issues.opened', true, ['issues', '*']],
  ['issues', true, ['issues', '*']],
  ['__proto__', false, ['*']],
  ['constructor', false, ['*']],
]

test('the handlers of a type, the most particular first', () => {
  const of = named(['*', 'order.*', 'order.paid', 'order.paid.*', 'issues'])
  // Twice: the second answer comes from memory.
  for (const [type, actions, expected] of [...cases, ...cases])
    assert.deepEqual(of(type, actions), expected, type)
})

test('keys that are no type and no pattern are refused, all at once', () => {
  assert.throws(
    () =>
      new Handlers({
        '': () => undefined,
        'a*': () => undefined,
        '*.paid': () => undefined,
        b: 'no function' as never,
      }),
    (error: Error) => ['""', '"a*"', '"*.paid"', '["b"]'].every((part) => error.message.includes(part)),
  )
})
