import { bodyDigest, headerOf, identify, readJson, textOf, valueAt } from './body.ts'
import { hmacCheck, type Pairs } from './hmac-check.ts'
import type { HmacAlgorithm } from '../../crypto/hmac.ts'
import type { Encoding } from './digest.ts'
import { createScheme, malformed, type Delivery, type Scheme, type TimedOptions } from './scheme.ts'
import type { TimeUnit } from './timestamp.ts'

/** Where a text is found: in a header, or in the JSON body by a path such as `data.id`. */
export type Place = { header: string } | { body: string }

export interface HmacOptions extends TimedOptions {
  /** The header that holds the digest; its case does not matter. */
  header: string
  /** Default sha256. */
  algorithm?: HmacAlgorithm
  /** Default hex, of either case. */
  encoding?: Encoding
  /** What stands before the digest, such as `sha256=`. */
  prefix?: string
  /** When the header holds pairs such as `t=…,v1=…`: their names. */
  pairs?: Pairs
  /** The header that holds the time. The template must have `{timestamp}`: a time that is not signed proves nothing. */
  timestampHeader?: string
  /** Default seconds. */
  timestampUnit?: TimeUnit
  /**
   * What is signed: a text with `{body}`, and where the sender adds them `{timestamp}`, `{url}` (the public address, with its
   * query) and `{header:NAME}`. Default `{body}`.
   */
  signed?: string
  /** The address that `{url}` stands for, where the sender knows another than BASE_URL's. */
  url?: string
  /**
   * Where the event's id is; `digest` takes the SHA-256 of the body. Default the body's `id`. An id from a header that is
   * not signed keeps retries apart, but whoever replays a request can change it.
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

/**
 * An HMAC in a header, with what senders do differently as options.
 * @throws TypeError when the options cannot hold together.
 */
export function hmac(options: HmacOptions): Scheme {
  const { id = specifiedId, type = specifiedType, mediaTypes, signed = '{body}' } = options
  if (!signed.includes('{body}')) throw new TypeError('hmac: what is signed must have {body}')
  const isTimed = options.timestampHeader !== undefined || options.pairs?.timestamp !== undefined
  if (isTimed !== signed.includes('{timestamp}'))
    throw new TypeError('hmac: a time and {timestamp} in what is signed belong together')
  const readsBody = (id !== 'digest' && 'body' in id) || 'body' in type || mediaTypes === undefined
  return createScheme({
    name: 'hmac',
    options,
    mediaTypes,
    signatureHeader: options.header.toLowerCase(),
    check: hmacCheck({
      ...options,
      header: options.header.toLowerCase(),
      timestampHeader: options.timestampHeader?.toLowerCase(),
      template: signed,
    }),
    read(delivery) {
      const body = readsBody ? readJson(delivery.rawBody) : { value: undefined }
      if ('rejected' in body) return body
      const isFieldWanted = (id !== 'digest' && 'body' in id) || 'body' in type
      if (isFieldWanted && (typeof body.value !== 'object' || body.value === null))
        return malformed('The body is not a JSON object.')
      const eventId = id === 'digest' ? bodyDigest(delivery.rawBody) : find(id, delivery, body.value)
      return identify(eventId, 'always' in type ? type.always : find(type, delivery, body.value))
    },
  })
}

const specifiedId: Place = { body: 'id' }
const specifiedType: Place = { body: 'type' }

function find(place: Place, { headers }: Delivery, body: unknown): unknown {
  if ('header' in place) return headerOf(headers, place.header.toLowerCase())
  const value = valueAt(body, place.body)
  // The specified fields are strings; where other places are named, whole numbers are taken as well.
  return place === specifiedId || place === specifiedType ? value : textOf(value)
}
