import { randomBytes, randomInt } from 'node:crypto'

let lastTime = 0
let counter = 0

/**
 * A UUID version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, 12 bits of counter, 62 random bits. Ids made by
 * one process ascend strictly, so that a table keyed by them is appended to and lists in the order of insertion.
 */
export function newId(now: number): string {
  if (now > lastTime) {
    lastTime = now
    counter = 0
  } else if (++counter > 0xfff) {
    // RFC 9562, 6.2: a full counter borrows from the next millisecond.
    lastTime += 1
    counter = 0
  }
  const time = lastTime.toString(16).padStart(12, '0')
  const random = randomBytes(8)
  random[0] = (random[0]! & 0x3f) | 0x80
  const tail = random.toString('hex')
  const count = counter.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`
}

/** A random number of 48 bits that tells two rows apart whose numbers are the same. */
export function newNonce(): number {
  return randomInt(2 ** 48 - 1)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text has the form of an id made here; asked before it is put into a query. */
export function isId(text: string): boolean {
  return uuid.test(text)
}
