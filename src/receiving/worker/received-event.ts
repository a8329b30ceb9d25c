import { isForm, readFormBody } from '../../http/requests/parameters.ts'
import { hasLongNumber, jsonText, parseToExactValues, rememberNumbers } from '../../json/exact.ts'
import { readStoredHeaders } from '../../events/store.ts'
import type { ReceivedEvent } from '../config.ts'
import type { ClaimedEvent } from '../queue/store.ts'

/** The columns that `receivedEvent` needs. */
export type Received = Pick<
  ClaimedEvent,
  'source' | 'eventId' | 'type' | 'payload' | 'headers' | 'receivedAt' | 'attempts'
>

/** Creates the event for a handler. The body is parsed at the first access to `payload`. */
export function receivedEvent(claimed: Received): ReceivedEvent & { rememberNumbers(): void } {
  return new EventOfHandler(claimed)
}

class EventOfHandler implements ReceivedEvent {
  static readonly #payload = computedProperty<EventOfHandler>((event) => {
    if (event.#parsed) return event.#parsed.value
    const value = parse(event.raw, event.headers['content-type'])
    event.#parsed = { value, remembered: false }
    // Before the handler can move parts of it.
    if (hasLongNumber(event.raw)) event.rememberNumbers()
    return value
  })
  readonly id: string
  readonly type: string
  readonly source: string
  readonly raw: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: Date
  readonly attempt: number
  declare readonly payload: unknown
  #parsed: { readonly value: unknown; remembered: boolean } | undefined

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

  /** Makes `emit` write the numbers of the payload as they came. */
  rememberNumbers(): void {
    const parsed = this.#parsed
    if (!parsed || parsed.remembered || isForm(this.headers['content-type'] ?? '')) return
    parsed.remembered = true
    if (parsed.value !== undefined) rememberNumbers(parsed.value, jsonText(this.raw))
  }
}

/** Returns the value of JSON, or the fields of a form with arrays for repeated ones; undefined for other bodies, such as XML. */
function parse(raw: Buffer, contentType = '', parseJson: (text: string) => unknown = JSON.parse): unknown {
  if (isForm(contentType)) return readFormBody(raw)
  try {
    return parseJson(jsonText(raw))
  } catch {
    // Some schemes accept other types than JSON.
    return undefined
  }
}

/**
 * Returns the payload of a received event with exact numbers: an integer beyond 2^53 is a bigint, any other number that JavaScript
 * cannot represent, such as 1e400 or an integer of more than 1,000 digits, is `JSON.rawJSON`, which has its text as `rawJSON`. All other values are those of `payload`
 * without a schema. `emit` accepts the result and its parts as data.
 */
export function exactPayload({ raw, headers }: Pick<ReceivedEvent, 'raw' | 'headers'>): unknown {
  return parse(raw, headers['content-type'], parseToExactValues)
}

/**
 * Describes a computed own property of objects that are created for each event. All objects share one descriptor: a `get` in an
 * object literal creates a function per object, and V8 keeps each with its own hidden class, and all that it closes over, until a
 * full garbage collection.
 * @param read computes the value; called at each access
 */
export function computedProperty<Owner extends object>(read: (owner: Owner) => unknown): PropertyDescriptor {
  return {
    enumerable: true,
    configurable: true,
    get(this: Owner) {
      return read(this)
    },
  }
}
