import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Plan } from '../handlers/plan.ts'
import { receivedEvent, type Received } from '../worker/received-event.ts'

/** Characters of a key that is stored unhashed. */
const longest = 200

/**
 * Returns the order key of an event, prefixed by the handler's name, or `null` for an event without one. Events whose `orderBy`
 * throws share a key.
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
      'orderBy failed: the event is processed after the other events whose orderBy failed',
    )
    return `${order.handler}\n`
  }
  const text = String(key).toWellFormed().replaceAll('\0', '')
  const short = text.length <= longest && text === String(key)
  return `${order.handler}\n=${short ? text : createHash('sha256').update(String(key)).digest('base64url')}`
}
