import { bodyDigest, headerOf, identify, isObject, readJson, textAt, valueAt } from './body.ts'
import { type Delivery, malformed, type Place, type VerificationResult } from './scheme.ts'

/** For senders whose events have their id and type at places that the source declares. */
export interface PlacedOptions {
  /**
   * The place of the event's id; `digest` uses the SHA-256 of the body. Default: `id` in the body. An id in a header that is
   * not signed detects retries, but an attacker who replays a request can change it.
   */
  id?: Place | 'digest'
  /** The place of the event's type, or a constant type for all events of the source. Default: the body's `type`. */
  type?: Place | { always: string }
  /**
   * Accepted media types, such as `application/xml`. Default: JSON. An empty array accepts every type. Bodies of these types
   * are stored as bytes.
   */
  mediaTypes?: readonly string[]
}

/** Makes the reader of a verified delivery. */
export function placedReader(options: PlacedOptions): (delivery: Delivery) => VerificationResult {
  const { id = specifiedId, type = specifiedType, mediaTypes } = options
  const paths = [id, type].flatMap((place) =>
    typeof place === 'object' && 'body' in place ? [place.body] : [],
  )
  const readsBody = paths.length > 0 || mediaTypes === undefined
  // A path such as `0.id` leads into an array.
  const readsArray = paths.every((path) => /^\d/.test(path))
  return (delivery) => {
    const body = readsBody ? readJson(delivery.rawBody) : { value: undefined }
    if ('rejected' in body) return body
    if (paths.length > 0 && !isObject(body.value) && !(Array.isArray(body.value) && readsArray))
      return malformed('The body is not a JSON object.')
    const eventId = id === 'digest' ? bodyDigest(delivery.rawBody) : find(id, delivery, body.value)
    return identify(eventId, 'always' in type ? type.always : find(type, delivery, body.value))
  }
}

const specifiedId: Place = { body: 'id' }
const specifiedType: Place = { body: 'type' }

/** Returns the value at a place, or undefined. */
export function find(place: Place, { headers, rawBody }: Delivery, body: unknown): unknown {
  if ('header' in place) return headerOf(headers, place.header.toLowerCase())
  // The default fields must be strings. Integers are accepted at other places.
  return place === specifiedId || place === specifiedType
    ? valueAt(body, place.body)
    : textAt(body, place.body, rawBody)
}
