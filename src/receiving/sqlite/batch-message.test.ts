import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IncomingEvent } from '../incoming.ts'
import { packBatch, unpackBatch } from './batch-message.ts'

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
