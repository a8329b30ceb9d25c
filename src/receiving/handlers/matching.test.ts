import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHandlers } from './declared-handlers.ts'
import { matchHandlers } from '../plan-handling.ts'

const named = (keys: readonly string[]) => {
  const of = matchHandlers(readHandlers(Object.fromEntries(keys.map((key) => [key, () => undefined])), 1))
  return (type: string, actions = false) => of(type, actions).map(({ key }) => key)
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

test('finds the handlers of a type, the most specific first', () => {
  const of = named(['*', 'order.*', 'order.paid', 'order.paid.*', 'issues'])
  // Twice: the second answer comes from memory.
  for (const [type, actions, expected] of [...cases, ...cases])
    assert.deepEqual(of(type, actions), expected, type)
})

test('invalid patterns and handlers are refused, all at once', () => {
  const handle = (): undefined => undefined
  const wrong = {
    '': handle,
    'a*': handle,
    '*paid': handle,
    b: 'no function' as never,
    c: {} as never,
    d: { handle, concurrency: 0 },
    e: { handle, concurrency: 1.5 },
    f: { handle, timeout: Number.NaN },
    g: { handle, timeout: 3601 },
    h: { handle, providerTokens: ['github'] },
  }
  assert.throws(
    () => readHandlers(wrong, 1),
    (error: Error) =>
      [
        '""',
        '"a*"',
        '"*paid"',
        ...Object.keys(wrong)
          .slice(3)
          .map((key) => `["${key}"]`),
      ].every((part) => error.message.includes(part)),
  )
})

test('a declared schema needs to be one, and a handler of the same key', () => {
  const schema = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const
  const eventTypes = { a: { schema: {} as typeof schema }, b: { schema } }
  assert.throws(
    () => readHandlers({ a: () => undefined }, 1, undefined, eventTypes),
    /eventTypes\["a"\] has no schema that follows Standard Schema[^]*eventTypes\["b"\] has no handler/,
  )
})

test('a handler has its declared limits in milliseconds, or the defaults', () => {
  const handle = (): undefined => undefined
  const [plain, bounded] = readHandlers({ a: handle, b: { handle, concurrency: 2, timeout: 0.5 } }, 30_000)
  assert.deepEqual(plain, {
    key: 'a',
    id: 'a',
    handle,
    timeout: 30_000,
    concurrency: undefined,
    orderBy: undefined,
  })
  assert.deepEqual(bounded, { key: 'b', id: 'b', handle, timeout: 500, concurrency: 2, orderBy: undefined })
})
