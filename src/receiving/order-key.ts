import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Plan } from './plan.ts'
import { receivedEvent, type Received } from './received-event.ts'

/** Characters of a key that is stored unhashed. */
const longest = 200

/**
 * The order key of an event, with the handler's name as its prefix; `null` if the event waits for no other. Events whose `orderBy` fails
 * share a key.
 */
export function orderKeyOf({ order }: Plan, event: Received, log: FastifyBaseLogger): string | null {
  if (!order) return null
  let key: unknown
  try {
    key = order.by(receivedEvent(event))
    if (key === undefined || key === null) return null
    if (typeof key !== 'string' && typeof key !== 'number')
      throw new TypeError(`orderBy returned ${typeof key}: a string or a number is needed`)
  } catch (error) {
    log.error(
      { err: error, handler: order.handler, eventId: event.eventId },
      'orderBy failed: the event is handled after all others whose key could not be told',
    )
    return `${order.handler}\n`
  }
  const text = String(key).toWellFormed().replaceAll('\0', '')
  const short = text.length <= longest && text === String(key)
  return `${order.handler}\n=${short ? text : createHash('sha256').update(String(key)).digest('base64url')}`
}
