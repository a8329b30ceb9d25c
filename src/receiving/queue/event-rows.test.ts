import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serialize } from 'node:v8'
import { incomingEvent } from '#test/receiving/incoming-event.ts'
import { decodeEvents, encodeEvents, type IncomingEvent, packEvents, unpackEvents } from './store.ts'

const event = (changes: Partial<IncomingEvent> = {}): IncomingEvent =>
  incomingEvent('evt_1', {
    payload: new Uint8Array([1, 2, 3]),
    receivedAt: 1_700_000_000_001,
    dueAt: 1_700_000_000_002,
    ...changes,
  })

test('events survive the transfer to a thread', () => {
  const events = [
    event(),
    event({ eventId: '', type: '💶\ud800', orderKey: '', payload: new Uint8Array(0) }),
    event({ headers: '{"a":"é\0"}', orderKey: 'order.*\n=7', status: 'processed' }),
    event({ source: 'x'.repeat(10_000), payload: new Uint8Array(70_000).fill(7) }),
  ]
  const packed = packEvents(events)
  assert.deepEqual(unpackEvents(structuredClone(packed, { transfer: [packed.payloads.buffer] })), events)
  assert.deepEqual(unpackEvents(packEvents([])), [])
})

test('events survive encoding, at any offset of a buffer', () => {
  const events = [
    event(),
    event({ eventId: 'é💶', orderKey: '', payload: new Uint8Array(0) }),
    event({ headers: '{"a":"é"}', orderKey: 'order.*\n=7', status: 'processed' }),
    event({ source: 'x'.repeat(10_000), payload: new Uint8Array(70_000).fill(7) }),
  ]
  const bytes = encodeEvents(events)
  assert.deepEqual(decodeEvents(bytes), events)
  const shifted = new Uint8Array(bytes.length + 3)
  shifted.set(bytes, 3)
  assert.deepEqual(decodeEvents(shifted.subarray(3)), events)
  assert.deepEqual(decodeEvents(encodeEvents([])), [])
})

test('truncated bytes and other formats are refused', () => {
  const bytes = encodeEvents([event(), event({ eventId: 'evt_2' })])
  for (let length = 0; length < bytes.length; length += 1)
    assert.throws(() => decodeEvents(bytes.subarray(0, length)), Error, String(length))
  assert.throws(() => decodeEvents(serialize([2, []])), /format/)
})
