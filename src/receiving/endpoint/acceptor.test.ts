import assert from 'node:assert/strict'
import { test } from 'node:test'
import { incomingEvent as event } from '#test/receiving/incoming-event.ts'
import { Problem } from '../../errors.ts'
import { createAcceptor } from './endpoint.ts'

test('a problem of the store, such as a full spool, concerns all events and is not retried', async () => {
  let calls = 0
  const full = new Problem('overloaded', { retryAfter: 1 })
  const acceptor = createAcceptor(
    () => {
      calls += 1
      return Promise.reject(full)
    },
    (error) => assert.fail(String(error)),
  )
  const results = await Promise.allSettled(['a', 'b', 'c'].map((id) => acceptor.add([event(id)])))
  assert.ok(results.every((result) => result.status === 'rejected' && result.reason === full))
  assert.equal(calls, 1)
})

test('headers count towards the size like the body, and refused events get Retry-After', async () => {
  const acceptor = createAcceptor(
    async () => undefined,
    () => undefined,
    { waitingBytes: 50_000 },
  )
  const headers = 'x'.repeat(16_000)
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => acceptor.add([{ ...event(`${index}`), headers }])),
  )
  const refused = results.filter((result) => result.status === 'rejected')
  assert.equal(refused.length, 8)
  for (const { reason } of refused as { reason: Problem }[])
    assert.deepEqual([reason.code, reason.extras.retryAfter], ['overloaded', 1])
  assert.equal(acceptor.waitingBytes, 0)
})
