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
  { authentication, log }: Reading,
): { own: Read[]; forged: readonly JsMsg[] } {
  const forged: JsMsg[] = []
  const own = found.flatMap((message): Read[] => {
    const content = authentication.verify(message.data)
    if (typeof content !== 'string') return decode(message, content, log)
    if (content === 'forged') forged.push(message)
    else {
      log.error(
        { sequence: message.seq },
        'a message of the spool is signed with a key that POSTERN_SECRET does not have',
      )
      message.nak(unreadableFor)
    }
    return []
  })
  if (forged.length > 0)
    log.error(
      { count: forged.length, sequence: forged[0]!.seq },
      'another program has written to the spool: its messages are rejected and set aside there',
    )
  return { own, forged }
}

function decode(message: JsMsg, content: Uint8Array, log: Log): Read[] {
  try {
    return [{ message, events: decodeEvents(content) }]
  } catch (error) {
    log.error({ err: error, sequence: message.seq }, 'a message of the spool cannot be read by this version')
    message.nak(unreadableFor)
    return []
  }
}
