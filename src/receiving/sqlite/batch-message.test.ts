import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IncomingEvent } from '../incoming.ts'
import { decodeBatch, encodeBatch, packBatch, unpackBatch } from './batch-message.ts'

const event = (changes: Partial<IncomingEvent> = {}): IncomingEvent => ({
  source: 'shop',
  eventId: 'evt_1',
  type: 'order.paid',
  contentType: 'application/json',
  headers: '{}',
  payload: new Uint8Array([1, 2, 3]),
  receivedAt: 1_700_000_000_001,
  dueAt: 1_700_000_000_002,
  status: 'pending',
  orderKey: null,
  ...changes,
})

test('a batch comes out as it went in', () => {
  const events = [
    event(),
    event({ eventId: '', type: '💶\ud800', orderKey: '', payload: new Uint8Array(0) }),
    event({ headers: '{"a":"é\0"}', orderKey: 'order.*\n=7', status: 'processed' }),
    event({ source: 'x'.repeat(10_000), payload: new Uint8Array(70_000).fill(7) }),
  ]
  const { message, transfer } = packBatch(events)
  assert.deepEqual(unpackBatch(structuredClone(message, { transfer })), events)
})

test('an empty batch is one', () => {
  assert.deepEqual(unpackBatch(packBatch([]).message), [])
})

test('a batch as bytes comes out as it went in, from any place of a buffer', () => {
  const events = [
    event(),
    event({ eventId: 'é💶', orderKey: '', payload: new Uint8Array(0) }),
    event({ headers: '{"a":"é"}', orderKey: 'order.*\n=7', status: 'processed' }),
    event({ source: 'x'.repeat(10_000), payload: new Uint8Array(70_000).fill(7) }),
  ]
  const bytes = encodeBatch(events)
  assert.deepEqual(decodeBatch(bytes), events)
  const shifted = new Uint8Array(bytes.length + 3)
  shifted.set(bytes, 3)
  assert.deepEqual(decodeBatch(shifted.subarray(3)), events)
  assert.deepEqual(decodeBatch(encodeBatch([])), [])
})

test('other bytes are no batch', () => {
  const bytes = encodeBatch([event(), event({ eventId: 'evt_2' })])
  for (let length = 0; length < bytes.length; length += 1)
    assert.throws(() => decodeBatch(bytes.subarray(0, length)), Error, String(length))
  const newer = new Uint8Array(bytes)
  newer[0] = 2
  assert.throws(() => decodeBatch(newer), /form/)
})
