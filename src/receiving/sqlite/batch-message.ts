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

/** The form of `encodeBatch`; another one gets another number. */
const form = 1
/** Bytes before the numbers: the form, how many numbers there are, and how many bytes the text has. */
const headLength = 12

/** Events as bytes, for what keeps them outside of this process. Their texts have to be well-formed. */
export function encodeBatch(events: readonly IncomingEvent[]): Uint8Array {
  const { message } = packBatch(events)
  const text = Buffer.from(message.text)
  const head = Buffer.alloc(headLength + message.numbers.byteLength)
  head.writeUInt32LE(form, 0)
  head.writeUInt32LE(message.numbers.length, 4)
  head.writeUInt32LE(text.length, 8)
  for (const [index, number] of message.numbers.entries()) head.writeDoubleLE(number, headLength + index * 8)
  return Buffer.concat([head, text, message.payloads])
}

/** @throws Error when these are not the bytes of a batch in the form that this version writes. */
export function decodeBatch(bytes: Uint8Array): IncomingEvent[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (whole.length < headLength || whole.readUInt32LE(0) !== form)
    throw new Error('these are no events in a form that this version knows')
  const count = whole.readUInt32LE(4)
  const textAt = headLength + count * 8
  const payloadsAt = textAt + whole.readUInt32LE(8)
  if (payloadsAt > whole.length || count % perEvent !== 0) throw new Error('the events are cut off')
  const packed = new Float64Array(count)
  for (let index = 0; index < count; index += 1) packed[index] = whole.readDoubleLE(headLength + index * 8)
  const text = whole.toString('utf8', textAt, payloadsAt)
  const [characters, payload] = lengthsOf(packed)
  if (characters !== text.length || payload !== whole.length - payloadsAt)
    throw new Error('the events are cut off')
  return unpackBatch({ text, numbers: packed, payloads: new Uint8Array(whole.subarray(payloadsAt)) })
}

/** What the numbers of events say of all their texts, in UTF-16 code units, and of all their payloads, in bytes. */
function lengthsOf(packed: Float64Array): [characters: number, bytes: number] {
  let [characters, bytes] = [0, 0]
  for (let place = 0; place < packed.length; place += perEvent) {
    bytes += packed[place + numbers - 1]!
    for (const length of packed.subarray(place + numbers, place + perEvent)) characters += Math.max(0, length)
  }
  return [characters, bytes]
}
