import type { JsMsg } from '@nats-io/jetstream'
import type { Log } from '../../telemetry/log.ts'
import type { IncomingEvent } from '../queue/incoming.ts'
import { decodeEvents } from '../queue/event-rows.ts'
import type { EntryAuthentication } from './entry-authentication.ts'

/** Milliseconds until a message is read again that another version wrote, or that is signed with a key of other processes. */
export const unreadableFor = 60_000

export interface Read {
  readonly message: JsMsg
  readonly events: readonly IncomingEvent[]
}

interface Reading {
  readonly authentication: EntryAuthentication
  readonly log: Log
}

/** Divides messages into those of this service and those that another program wrote. What cannot be read yet is given back for a while. */
export function readMessages(
  found: readonly JsMsg[],
  reading: Reading,
): { own: Read[]; forged: readonly JsMsg[] } {
  const forged: JsMsg[] = []
  const own = found.flatMap((message) => {
    const content = reading.authentication.verify(message.data)
    if (content === 'forged') forged.push(message)
    else if (content === 'unknown-key')
      readLater(message, reading, 'it is signed with a key that POSTERN_SECRET does not have')
    else return decode(message, content, reading)
    return []
  })
  if (forged.length > 0)
    reading.log.error(
      { count: forged.length, sequence: forged[0]!.seq },
      'another program has written to the spool: its messages are refused and set aside there',
    )
  return { own, forged }
}

function decode(message: JsMsg, content: Uint8Array, reading: Reading): Read[] {
  try {
    return [{ message, events: decodeEvents(content) }]
  } catch (error) {
    readLater(message, reading, 'another version wrote it', error)
    return []
  }
}

function readLater(message: JsMsg, { log }: Reading, why: string, error?: unknown): void {
  log.error({ err: error, sequence: message.seq }, `a message of the spool cannot be read yet: ${why}`)
  message.nak(unreadableFor)
}
