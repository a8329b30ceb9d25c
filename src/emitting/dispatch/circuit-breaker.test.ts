import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CircuitBreaker } from './subscriber-pace.ts'

test('a subscriber that is down is probed at least once a minute, whatever the jitter is', () => {
  const breaker = new CircuitBreaker(() => 1 - Number.EPSILON)
  let now = 0
  for (; !breaker.open; now += 5_000) breaker.failed(now, false)
  const waits = Array.from({ length: 8 }, () => {
    const wait = breaker.waitTime(now)!
    now += wait
    breaker.started()
    breaker.failed(now, true)
    return wait
  })
  assert.ok(
    waits.every((wait) => wait <= 60_000),
    waits.join(),
  )
  assert.ok(waits.at(-1)! > 55_000, waits.join())
})
