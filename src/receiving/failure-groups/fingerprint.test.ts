import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprintOf, maskMessage } from './tally.ts'

const masked: [string, string][] = [
  ['order 4711 is gone', 'order … is gone'],
  ['no invoice in_1Qx3 at 2026-11-24T01:02:03.004Z', 'no invoice … at …'],
  ['user 0c5e1c1e-8f3a-4b9e-9e1f-1f2a3b4c5d6e not found', 'user … not found'],
  ['column "name" of relation `orders`', 'column “…” of relation “…”'],
  ["the shop can't open", "the shop can't open"],
  ['first line 1\nsecond line', 'first line …'],
  ['', ''],
]
for (const [message, expected] of masked)
  test(`masks ${JSON.stringify(message)}`, () => assert.equal(maskMessage(message), expected))

function fails(number: number): Error {
  return new RangeError(`order ${number} has no customer`)
}

test('another handler, name, message or place is another group', () => {
  const base = fingerprintOf('order.*', fails(1)).id
  const renamed = fails(1)
  renamed.name = 'ShopError'
  const moved = fails(1)
  moved.stack = `RangeError: x\n    at handle (/somewhere/else.ts:1:2)`
  const others = [
    fingerprintOf('*', fails(1)),
    fingerprintOf('order.*', new RangeError('something else')),
    fingerprintOf('order.*', renamed),
    fingerprintOf('order.*', moved),
  ]
  assert.equal(new Set([base, ...others.map(({ id }) => id)]).size, 5)
  assert.equal(others[3]!.frame?.startsWith('handle ('), true)
})

test('the frame is that of the user’s code, without its line', () => {
  const error = new Error('x')
  error.stack = [
    'Error: x',
    '    at node:internal/process/task_queues:105:5',
    `    at query (${process.cwd()}/node_modules/pg/lib/client.js:1:1)`,
    `    at async Object.handle (file://${process.cwd()}/handlers/order.ts:12:3)`,
  ].join('\n')
  assert.equal(fingerprintOf('*', error).frame, 'Object.handle (handlers/order.ts)')
})

test('whatever is thrown has a group', () => {
  for (const thrown of ['closed', undefined, null, 4, { code: 'E1' }, new Error('')])
    assert.match(fingerprintOf('*', thrown).id, /^[0-9a-f]{24}$/)
  assert.equal(fingerprintOf('*', 'no order 3').message, 'no order …')
})

test('an error with fields of other types, or that cannot be read, has a group', () => {
  const unreadable = (name: string): Error =>
    Object.defineProperty(new Error('x'), name, {
      get() {
        throw new Error('not now')
      },
    })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const groups = [{ message: { code: 1 } }, { message: undefined }, { name: 404 }, { stack: ['a line'] }].map(
    (fields) => fingerprintOf('*', Object.assign(new Error('x'), fields)),
  )
  for (const thrown of [unreadable('message'), unreadable('stack'), proxy])
    groups.push(fingerprintOf('*', thrown))
  for (const { id } of groups) assert.match(id, /^[0-9a-f]{24}$/)
  assert.equal(groups[0]!.message, '{ code: … }')
  assert.equal(groups[2]!.name, '404')
})
