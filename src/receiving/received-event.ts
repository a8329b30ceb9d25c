import type { ReceivedEvent } from './config.ts'
import type { ClaimedEvent } from './store.ts'

/** What a handler gets of a claimed event. The body is parsed at the first look at it. */
export function receivedEvent(claimed: ClaimedEvent): ReceivedEvent {
  const raw = Buffer.from(claimed.payload.buffer, claimed.payload.byteOffset, claimed.payload.byteLength)
  let parsed: { value: unknown } | undefined
  return {
    id: claimed.eventId,
    type: claimed.type,
    source: claimed.source,
    raw,
    headers: JSON.parse(claimed.headers ?? '{}') as Record<string, string>,
    receivedAt: new Date(claimed.receivedAt),
    attempt: claimed.attempts,
    get payload() {
      parsed ??= { value: JSON.parse(raw.toString('utf8')) }
      return parsed.value
    },
  }
}
