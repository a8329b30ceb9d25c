import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestCached, Payloads } from './queue-reader.ts'
import type { EventPayload } from '../store.ts'

const payload = (nonce: number | null, text: string): EventPayload => ({
  event_id: text,
  type: 'a',
  payload: Buffer.from(text),
  audience: null,
  nonce,
  headers: null,
})

/** The log by numbers. Tells what was read of it. */
function over(log: Record<number, EventPayload>) {
  const reads: number[][] = []
  const payloads = new Payloads({
    readPayloads: async (events, longest = Infinity) => {
      reads.push([...events])
      const found = events.filter((event) => log[event] && log[event].payload.length <= longest)
      return new Map(found.map((event) => [event, log[event]!]))
    },
  })
  return { log, reads, payloads }
}

test('payloads are cached by id and nonce of their event', async () => {
  const { reads, payloads } = over({ 1: payload(11, 'one'), 2: payload(12, 'two') })
  const delivery = { event: 1, nonce: 11 }
  const of = await payloads.small([delivery, delivery, { event: 2, nonce: 12 }])
  assert.equal(of(delivery)?.event_id, 'one')
  assert.equal((await payloads.one(delivery))?.event_id, 'one')
  assert.deepEqual(reads, [[1, 2]])
})

test('an id that now belongs to another event is read again', async () => {
  const { log, payloads } = over({ 1: payload(11, 'one') })
  await payloads.small([{ event: 1, nonce: 11 }])
  log[1] = payload(99, 'another one')
  const delivery = { event: 1, nonce: 99 }
  assert.equal((await payloads.one(delivery))?.event_id, 'another one')
  assert.equal((await payloads.small([delivery]))(delivery)?.event_id, 'another one')
})

test('a delivery whose event id now belongs to another event gets no payload', async () => {
  const { payloads } = over({ 1: payload(99, 'another one') })
  const delivery = { event: 1, nonce: 11 }
  assert.equal(await payloads.one(delivery), undefined)
  assert.equal((await payloads.small([delivery]))(delivery), undefined)
})

test('events without a nonce (older versions) are not cached', async () => {
  const { log, reads, payloads } = over({ 1: payload(null, 'one') })
  const delivery = { event: 1, nonce: null }
  assert.equal((await payloads.one(delivery))?.event_id, 'one')
  log[1] = payload(null, 'another one')
  assert.equal((await payloads.small([delivery]))(delivery)?.event_id, 'another one')
  assert.deepEqual(reads, [[1], [1]])
})

test('long payloads and invalidated payloads are not cached', async () => {
  const long = payload(11, 'x'.repeat(longestCached + 1))
  const { reads, payloads } = over({ 1: long, 2: payload(12, 'two') })
  const delivery = { event: 1, nonce: 11 }
  assert.equal((await payloads.small([delivery]))(delivery), undefined)
  assert.equal(await payloads.one(delivery), long)
  payloads.add(payload(12, 'two'))
  payloads.forgetAll()
  await payloads.one({ event: 2, nonce: 12 })
  assert.deepEqual(reads, [[1], [1], [2]])
})

test('a removed payload is not sent, even if a delivery in memory still has it', async () => {
  const { log, payloads } = over({ 1: payload(11, 'one') })
  const delivery = { event: 1, nonce: 11 }
  const held = (await payloads.small([delivery]))(delivery)
  assert.equal((await payloads.one(delivery, held))?.event_id, 'one')
  log[1] = payload(null, 'rest')
  payloads.forget(11)
  assert.equal(await payloads.one(delivery, held), undefined)
  assert.equal((await payloads.small([delivery]))(delivery), undefined)
})
