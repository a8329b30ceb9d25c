import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../errors.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import { Acceptor, type InsertEvents } from './acceptor.ts'
import type { IncomingEvent } from './incoming.ts'

const event = (eventId: string, bytes = 10): IncomingEvent => ({
  source: 's',
  eventId,
  type: 't',
  contentType: 'application/json',
  payload: new Uint8Array(bytes),
  headers: '{}',
  receivedAt: 0,
  status: 'pending',
  orderKey: null,
  dueAt: 0,
})

const unexpected = (error: unknown): never => assert.fail(String(error))

function batches() {
  const inserted: string[][] = []
  const insert: InsertEvents = async (events) => void inserted.push(events.map(({ eventId }) => eventId))
  return { inserted, insert }
}

test('what comes in one turn of the loop shares a commit', async () => {
  const { inserted, insert } = batches()
  const acceptor = new Acceptor(insert, unexpected)
  await Promise.all(['a', 'b', 'c'].map((id) => acceptor.accept(event(id))))
  await acceptor.accept(event('d'))
  assert.deepEqual(inserted, [['a', 'b', 'c'], ['d']])
})

test('a commit is bounded in number and in bytes', async () => {
  const { inserted, insert } = batches()
  const acceptor = new Acceptor(insert, unexpected, { batch: 2, batchBytes: 2_100 })
  await Promise.all(
    [event('a'), event('b'), event('c'), event('large', 1_100), event('d')].map((one) =>
      acceptor.accept(one),
    ),
  )
  assert.deepEqual(inserted, [['a', 'b'], ['c'], ['large'], ['d']])
})

test('while all commits are under way, events gather for the next', async () => {
  const inserted: string[][] = []
  const ends: (() => void)[] = []
  const acceptor = new Acceptor(
    (events) => {
      inserted.push(events.map(({ eventId }) => eventId))
      return new Promise((resolve) => ends.push(resolve))
    },
    unexpected,
    { commits: 1 },
  )
  const first = acceptor.accept(event('a'))
  while (inserted.length === 0) await new Promise(setImmediate)
  const rest = Promise.all(['b', 'c'].map((id) => acceptor.accept(event(id))))
  await new Promise(setImmediate)
  assert.deepEqual(inserted, [['a']])
  ends.shift()!()
  await first
  while (ends.length === 0) await new Promise(setImmediate)
  ends.shift()!()
  await rest
  assert.deepEqual(inserted, [['a'], ['b', 'c']])
})

test('a commit that takes long lets another begin, one that does not keeps it waiting', async () => {
  for (const [maxWait, expected] of [
    [0, [['a'], ['b']]],
    [Infinity, [['a']]],
  ] as const) {
    const inserted: string[][] = []
    const insert: InsertEvents = (events) => {
      inserted.push(events.map(({ eventId }) => eventId))
      return new Promise(() => undefined)
    }
    const acceptor = new Acceptor(insert, unexpected, { commits: 2, maxWait })
    void acceptor.accept(event('a'))
    while (inserted.length === 0) await new Promise(setImmediate)
    void acceptor.accept(event('b'))
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    assert.deepEqual(inserted, expected)
  }
})

test('above the bound requests are refused with Retry-After, and taken again later', async () => {
  const acceptor = new Acceptor(async () => undefined, unexpected, { waiting: 2, waitingBytes: 5_000 })
  const waiting = [acceptor.accept(event('a')), acceptor.accept(event('b'))]
  await assert.rejects(
    acceptor.accept(event('c')),
    (error: Problem) => error.code === 'overloaded' && error.extras.retryAfter === 1,
  )
  await Promise.all(waiting)
  const small = acceptor.accept(event('c'))
  await assert.rejects(acceptor.accept(event('large', 4_000)), { code: 'overloaded' })
  await small
  await acceptor.accept(event('larger than all that may wait', 6_000))
})

test('when the database is away all of a batch are told so', async () => {
  const acceptor = new Acceptor(() => Promise.reject(new StorageUnavailable(new Error('gone'))), unexpected)
  const results = await Promise.allSettled(['a', 'b'].map((id) => acceptor.accept(event(id))))
  assert.ok(
    results.every((result) => result.status === 'rejected' && result.reason instanceof StorageUnavailable),
  )
})

test('a full store tells all of a batch so, in one attempt and without a warning for each', async () => {
  let calls = 0
  const acceptor = new Acceptor(() => {
    calls += 1
    return Promise.reject(new Problem('overloaded', { retryAfter: 1 }))
  }, unexpected)
  const all = Array.from({ length: 500 }, (_, index) => acceptor.accept(event(String(index))))
  const results = await Promise.allSettled(all)
  assert.ok(
    results.every(
      (result) => result.status === 'rejected' && (result.reason as Problem).code === 'overloaded',
    ),
  )
  assert.equal(calls, 1)
})

test('an event that the database refuses takes none with it, and is found by halving', async () => {
  const errors: unknown[] = []
  let calls = 0
  const acceptor = new Acceptor(
    async (events) => {
      calls += 1
      if (events.some(({ eventId }) => eventId === '333')) throw new Error('refused')
    },
    (error) => errors.push(error),
  )
  const all = Array.from({ length: 500 }, (_, index) => acceptor.accept(event(String(index))))
  const results = await Promise.allSettled(all)
  assert.deepEqual(
    results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
    [333],
  )
  assert.ok(calls <= 19, `${calls} commits for one bad event among 500`)
  assert.equal(errors.length, 2, 'the first error and the one of the event')
})

test('close refuses new events and waits for those that are there', async () => {
  let stored = false
  const acceptor = new Acceptor(async () => {
    await new Promise(setImmediate)
    stored = true
  }, unexpected)
  const waiting = acceptor.accept(event('a'))
  const closed = acceptor.close()
  await assert.rejects(acceptor.accept(event('b')), { code: 'stopping' })
  await closed
  assert.ok(stored)
  await waiting
})

test('headers count as much as the body: many small events with large headers do not fill the memory', async () => {
  const acceptor = new Acceptor(async () => undefined, unexpected, { waitingBytes: 50_000 })
  const headers = 'x'.repeat(16_000)
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => acceptor.accept({ ...event(`${index}`), headers })),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
  assert.equal(acceptor.waitingBytes, 0)
})
