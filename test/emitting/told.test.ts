// Two processes on one PostgreSQL: what one of them changes about a subscriber, the other goes by at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { onPostgres, postgres as engine, startReceiver } from '../harness/index.ts'
import { change, emit, startEmitting, subscribe, until } from './harness.ts'

test('a subscriber that another process changed is read again at once', onPostgres, async () => {
  // What was read a second ago is read again: for this process a second never passes.
  const now = Date.now()
  const still: Clock = { now: () => now, after: (ms, callback) => systemClock.after(ms, callback) }
  await using owner = await startEmitting(engine!, { parts: { clock: still } })
  await using before = await startReceiver()
  await using behind = await startReceiver()
  const { id } = await subscribe(owner, { url: before.url, eventTypes: ['a'] })
  await emit(owner, { type: 'a', data: {} })
  await before.waitFor(1)
  // It owns the queue, because it was alone.
  await using other = await startEmitting(engine!, { databaseUrl: owner.databaseUrl })
  await until(async () => {
    // A notification may be lost, which costs a second of a clock that moves: so it is sent again.
    await change(other, id, { url: behind.url })
    await emit(owner, { type: 'a', data: {} })
    return behind.calls.length > 0
  }, 'the owner of the queue sends to the new address')
  assert.ok(before.calls.length >= 1)
})
