import type { IncomingEvent } from '../incoming.ts'

const texts = 6
const numbers = 4

/**
 * Events as they go to the thread: few large values instead of many small ones, since each costs a copy. The payloads
 * move as one buffer that is made for it; a request's own buffer is a slice of a larger one that others read from.
 */
export interface BatchMessage {
  /** For each event: source, event id, type, media type, headers, order key. */
  readonly texts: readonly (string | null)[]
  /** For each event: time of receipt, due time, 1 when it waits for a handler, bytes of payload. */
  readonly numbers: Float64Array
  readonly payloads: Uint8Array<ArrayBuffer>
}

/** The message, and what is to be transferred with it. */
export function packBatch(events: readonly IncomingEvent[]): {
  message: BatchMessage
  transfer: ArrayBuffer[]
} {
  let bytes = 0
  for (const { payload } of events) bytes += payload.length
  const message = {
    texts: [] as (string | null)[],
    numbers: new Float64Array(events.length * numbers),
    payloads: new Uint8Array(bytes),
  }
  let offset = 0
  for (const [index, event] of events.entries()) {
    const { source, eventId, type, contentType, headers, receivedAt, dueAt, status, payload, orderKey } =
      event
    message.texts.push(source, eventId, type, contentType, headers, orderKey)
    message.numbers.set([receivedAt, dueAt, status === 'pending' ? 1 : 0, payload.length], index * numbers)
    message.payloads.set(payload, offset)
    offset += payload.length
  }
  return { message, transfer: [message.payloads.buffer, message.numbers.buffer] }
}

export function unpackBatch(message: BatchMessage): IncomingEvent[] {
  const events: IncomingEvent[] = []
  let offset = 0
  for (let index = 0; index * numbers < message.numbers.length; index += 1) {
    const [source, eventId, type, contentType, headers, orderKey] = message.texts.slice(index * texts)
    const [receivedAt, dueAt, pending, length] = message.numbers.subarray(index * numbers)
    events.push({
      source: source!,
      eventId: eventId!,
      type: type!,
      contentType: contentType!,
      headers: headers!,
      receivedAt: receivedAt!,
      dueAt: dueAt!,
      orderKey: orderKey ?? null,
      status: pending === 1 ? 'pending' : 'processed',
      payload: message.payloads.subarray(offset, offset + length!),
    })
    offset += length!
  }
  return events
}
