import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { Client } from 'pg'
import { LimitedSession } from './claim-session.ts'

/** A session with one statement in flight, at its limit. */
async function atLimit() {
  const timers: (() => void)[] = []
  const turns: (() => void)[] = []
  const answer = Promise.withResolvers<{ rows: number[] }>()
  const client = Object.assign(new EventEmitter(), {
    connect: () => Promise.resolve(),
    query: () => answer.promise,
  }) as unknown as Client
  let broken = 0
  const scheduler = {
    after: (_ms: number, callback: () => void) => {
      timers.push(callback)
      return () => undefined
    },
    soon: (callback: () => void) => void turns.push(callback),
  }
  const session = new LimitedSession(client, () => (broken += 1), scheduler)
  const result = session.query({ text: 'select 1' })
  result.catch(() => undefined)
  while (timers.length === 0) await Promise.resolve()
  for (const fire of timers) fire()
  return { answer, result, turn: () => turns.forEach((callback) => callback()), isBroken: () => broken > 0 }
}

test('a session without an answer at its limit is broken', async () => {
  const { result, turn, isBroken } = await atLimit()
  turn()
  await assert.rejects(result, /no answer within 2000 ms/)
  assert.ok(isBroken())
})

test('an answer that was there while the process was blocked keeps the session', async () => {
  const { answer, result, turn, isBroken } = await atLimit()
  answer.resolve({ rows: [1] })
  assert.deepEqual((await result).rows, [1])
  turn()
  assert.ok(!isBroken())
})
