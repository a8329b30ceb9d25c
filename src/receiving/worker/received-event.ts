import { isForm, readFormBody } from '../../http/requests/query-string.ts'
import { computedProperty } from '../../runtime/computed-property.ts'
import { jsonText } from '../../json/lossless.ts'
import { readStoredHeaders } from '../../events/verification.ts'
import type { ReceivedEvent } from '../config.ts'
import type { ClaimedEvent } from '../queue/store.ts'

/** The columns that `receivedEvent` needs. */
export type Received = Pick<
  ClaimedEvent,
  'source' | 'eventId' | 'type' | 'payload' | 'headers' | 'receivedAt' | 'attempts'
>

/** Creates the event for a handler. The body is parsed at the first access to `payload`. */
export function receivedEvent(claimed: Received): ReceivedEvent {
  return new EventOfHandler(claimed)
}

class EventOfHandler implements ReceivedEvent {
  static readonly #payload = computedProperty<EventOfHandler>((event) => {
    event.#parsed ??= { value: parse(event.raw, event.headers['content-type']) }
    return event.#parsed.value
  })
  readonly id: string
  readonly type: string
  readonly source: string
  readonly raw: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
  readonly attempt: number
  declare readonly payload: unknown
  #parsed: { value: unknown } | undefined

  constructor({ eventId, type, source, payload, headers, receivedAt, attempts }: Received) {
    this.id = eventId
    this.type = type
    this.source = source
    this.raw = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
    this.headers = readStoredHeaders(headers).headers
    this.receivedAt = new Date(receivedAt)
    this.attempt = attempts
    Object.defineProperty(this, 'payload', EventOfHandler.#payload)
  }
}

/** Returns the value of JSON, or the fields of a form with arrays for repeated ones; undefined for other bodies, such as XML. */
function parse(raw: Buffer, contentType = ''): unknown {
  return isForm(contentType) ? readFormBody(raw) : parseJson(raw)
}

function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(jsonText(raw))
  } catch {
    // Some schemes accept other types than JSON.
    return undefined
  }
}
