import { randomBytes, randomInt } from 'node:crypto'

let lastTime = 0
let counter = 0

/**
 * Returns a UUID version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, a counter of 12 bits, 62 random bits. The ids of
 * one process ascend strictly, so inserts append to an index, and lists are in the order of insertion.
 */
export function newId(now: number): string {
  if (now > lastTime) {
    lastTime = now
    counter = 0
  } else if (++counter > 0xfff) {
    // RFC 9562, 6.2: when the counter is full, the time advances by a millisecond.
    lastTime += 1
    counter = 0
  }
  return idOf(lastTime, counter)
}

/** The id of a row whose time is not now. Ids of different times ascend with them. @param count 0 to 4095 */
function idOf(milliseconds: number, count = 0): string {
  const time = milliseconds.toString(16).padStart(12, '0')
  const random = randomBytes(8)
  random[0] = (random[0]! & 0x3f) | 0x80
  const tail = random.toString('hex')
  const counted = count.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counted}-${tail.slice(0, 4)}-${tail.slice(4)}`
}

/** Returns a random number of 48 bits, which distinguishes rows with the same number. */
export function newNonce(): number {
  return randomInt(2 ** 48 - 1)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text has the form of a newId; for checking a parameter before a query uses it. */
export function isId(text: string): boolean {
  return uuid.test(text)
}
