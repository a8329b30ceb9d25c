import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Plan } from './plan.ts'
import { receivedEvent, type Received } from './received-event.ts'

/** Characters of a key that are kept as they are. */
const longest = 200

/**
 * What an event is ordered by, told apart from the keys of other handlers; `null` when it waits for no other. Events whose
 * key cannot be told are ordered among each other: out of order would be wrong, and refusing them would lose them.
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
