import type { IncomingEvent } from '../incoming.ts'

/** Of each event: source, event id, type, media type, headers, order key. */
const texts = 6
/** Of each event, before the lengths of its texts: time of receipt, due time, 1 when it waits for a handler, bytes of payload. */
const numbers = 4
const perEvent = numbers + texts

/**
 * Events as they go to the thread: three large values instead of many small ones, since each costs a copy. The payloads
 * move as one buffer that is made for it; a request's own buffer is a slice of a larger one that others read from.
 */
export interface BatchMessage {
  /** All texts, one behind the other. */
  readonly text: string
  /** For each event its numbers, and the length of each text, -1 for none. */
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
  const payloads = new Uint8Array(bytes)
  const packed = new Float64Array(events.length * perEvent)
  let text = ''
  let offset = 0
  let place = 0
  for (const event of events) {
    const { source, eventId, type, contentType, headers, orderKey, payload } = event
    packed[place++] = event.receivedAt
    packed[place++] = event.dueAt
    packed[place++] = event.status === 'pending' ? 1 : 0
    packed[place++] = payload.length
    packed[place++] = source.length
    packed[place++] = eventId.length
    packed[place++] = type.length
    packed[place++] = contentType.length
    packed[place++] = headers.length
    packed[place++] = orderKey === null ? -1 : orderKey.length
    text += source + eventId + type + contentType + headers + (orderKey ?? '')
    payloads.set(payload, offset)
    offset += payload.length
  }
  return { message: { text, numbers: packed, payloads }, transfer: [payloads.buffer, packed.buffer] }
}

export function unpackBatch({ text, numbers: packed, payloads }: BatchMessage): IncomingEvent[] {
  const events: IncomingEvent[] = []
  let at = 0
  let offset = 0
  let place = 0
  const number = (): number => packed[place++]!
  const next = (): string => text.slice(at, (at += number()))
  while (place < packed.length) {
    const receivedAt = number()
    const dueAt = number()
    const status = number() === 1 ? 'pending' : 'processed'
    const payload = payloads.subarray(offset, (offset += number()))
    const source = next()
    const eventId = next()
    const type = next()
    const contentType = next()
    const headers = next()
    const orderKey = packed[place] === -1 ? null : next()
    if (orderKey === null) place += 1
    events.push({ source, eventId, type, contentType, headers, orderKey, receivedAt, dueAt, status, payload })
  }
  return events
}
