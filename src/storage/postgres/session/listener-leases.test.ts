import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ListenerLeases, Wait } from './revocations.ts'

const lease = 2_000
const end = (now: number): number => now + lease + 100

test('a listener that has begun a statement since the last query has a whole lease', () => {
  const leases = new ListenerLeases(lease)
  assert.deepEqual(leases.of([{ pid: 7, lastStatement: 'a' }], 1_000), new Map([[7, end(1_000)]]))
  assert.deepEqual(leases.of([{ pid: 7, lastStatement: 'b' }], 2_000), new Map([[7, end(2_000)]]))
})

test('a listener without a new statement is waited for until its lease expires, once', () => {
  const leases = new ListenerLeases(lease)
  const listener = { pid: 7, lastStatement: 'a' }
  leases.of([listener], 1_000)
  assert.deepEqual(leases.of([listener], 2_500), new Map([[7, end(1_000)]]))
  assert.deepEqual(leases.of([listener], end(1_000)), new Map())
  assert.deepEqual(leases.of([listener], 60_000), new Map())
  assert.deepEqual(leases.of([{ ...listener, lastStatement: 'b' }], 70_000), new Map([[7, end(70_000)]]))
})

test('the result of an older query does not shorten the wait', () => {
  const leases = new ListenerLeases(lease)
  leases.of([{ pid: 7, lastStatement: 'a' }], 1_000)
  leases.of([{ pid: 7, lastStatement: 'b' }], 2_000)
  // This answer was delayed.
  assert.deepEqual(leases.of([{ pid: 7, lastStatement: 'a' }], 4_000), new Map([[7, end(4_000)]]))
  assert.deepEqual(leases.of([{ pid: 7, lastStatement: 'b' }], 5_000), new Map([[7, end(5_000)]]))
})

test('a listener whose statements are invisible is waited for each time', () => {
  const leases = new ListenerLeases(lease)
  for (const now of [1_000, 60_000])
    assert.deepEqual(leases.of([{ pid: 7, lastStatement: null }], now), new Map([[7, end(now)]]))
})

test('a wait ends when each has confirmed, or its lease has ended', async () => {
  const now = performance.now()
  const wait = new Wait(
    new Map([
      [1, now + 60_000],
      [2, now + 50],
    ]),
  )
  wait.confirmed(3)
  wait.confirmed(1)
  await wait.over
  assert.ok(performance.now() >= now + 50)
})
