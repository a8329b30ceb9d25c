import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsMsg } from '@nats-io/jetstream'
import type { MsgHdrs } from '@nats-io/transport-node'
import { Problem } from '../../errors.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { answerWithin, type NatsLink } from './nats-link.ts'
import { EventTooLarge } from './spool.ts'

/** Events and approximate bytes of one message; a larger event has a message of its own. */
const mostEvents = 100
export const mostBytes = 256 * 1024
/** Bytes that the message's headers, the signature and the codec add to an event. */
export const aroundAnEvent = 1_024
/**
 * Milliseconds for all tries to store a message, for one of them, and between two: while the servers elect a new leader, which
 * takes some seconds, tries are lost. Senders give up after 10 s.
 */
const [storedWithin, triedFor, pauseBetweenTries] = [7_000, 2_000, 200]
/** https://github.com/nats-io/nats-server/blob/main/server/errors.json: maximum bytes, messages or storage exceeded. */
const fullCodes = new Set([10_023, 10_028, 10_047, 10_077])

/** Divides events among messages. */
export function* messagesOf(
  events: readonly IncomingEvent[],
  most: number,
): Generator<readonly IncomingEvent[]> {
  let part: IncomingEvent[] = []
  let bytes = 0
  for (const event of events) {
    const size = event.payload.length + event.headers.length + aroundAnEvent
    if (part.length > 0 && (part.length === mostEvents || bytes + size > most)) {
      yield part
      part = []
      bytes = 0
    }
    part.push(event)
    bytes += size
  }
  if (part.length > 0) yield part
}

/** Resolves once most servers have the message on their disks. Its id prevents duplicates of repeated tries. */
export async function publish(
  { client, connection }: NatsLink,
  { subject, data }: { subject: string; data: Uint8Array },
  { headers, id = randomUUID() }: { headers?: MsgHdrs; id?: string | undefined } = {},
): Promise<void> {
  const until = performance.now() + storedWithin
  const options = { msgID: id, timeout: triedFor, ...(headers && { headers }) }
  for (;;) {
    try {
      await client.publish(subject, data, options)
      return
    } catch (error) {
      if (connection.isClosed() || performance.now() + triedFor > until || !(await mayPass(error)))
        throw error
      await sleep(pauseBetweenTries)
    }
  }
}

/** Whether a publication may succeed if it is tried again. */
async function mayPass(error: unknown): Promise<boolean> {
  const { JetStreamApiError } = await import('@nats-io/jetstream')
  return !(error instanceof JetStreamApiError)
}

/** Servers process the acknowledgements of a connection in order, so the answer to the last one covers all. */
export async function acknowledge(messages: readonly JsMsg[]): Promise<void> {
  for (const message of messages.slice(0, -1)) message.ack()
  await messages.at(-1)?.ackAck({ timeout: answerWithin })
}

export async function translate(error: unknown): Promise<unknown> {
  const { JetStreamApiError } = await import('@nats-io/jetstream')
  if (error instanceof EventTooLarge) return error
  if (error instanceof JetStreamApiError && fullCodes.has(error.apiError().err_code))
    return new Problem('overloaded', { retryAfter: 1 })
  return new StorageUnavailable(error)
}
