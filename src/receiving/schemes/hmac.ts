import { bodyDigest, headerOf, identify, isObject, readJson, textAt, valueAt } from './body.ts'
import { hmacCheck, type Pairs } from './hmac-check.ts'
import type { HmacAlgorithm } from '../../crypto/hmac.ts'
import type { Encoding } from './digest.ts'
import { createScheme } from './create-scheme.ts'
import { type Delivery, malformed, type Scheme, type TimedOptions, type TimeUnit } from './scheme.ts'

/** The place of a text: a header, or a path in the JSON body such as `data.id`. */
type Place = { header: string } | { body: string }

export interface HmacOptions extends TimedOptions {
  /** The header of the digest, in upper or lower case. */
  header: string
  /** Default sha256. */
  algorithm?: HmacAlgorithm
  /** Default hex, of either case. */
  encoding?: Encoding
  /** The text before the digest, such as `sha256=`. */
  prefix?: string
  /** For a header of pairs such as `t=…,v1=…`: their names. */
  pairs?: Pairs
  /** The header of the time. `signed` must then contain `{timestamp}`: a time that is not signed proves nothing. */
  timestampHeader?: string
  /** Default seconds. */
  timestampUnit?: TimeUnit
  /**
   * The signed text, with `{body}` and, if the sender signs them, `{timestamp}`, `{url}` (the public address with its query)
   * and `{header:NAME}`. Default `{body}`.
   */
  signed?: string
  /** The address for `{url}`, if the sender knows another one than BASE_URL. */
  url?: string
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

/**
 * Any sender that sends an HMAC in a header; the options describe the differences.
 * @throws TypeError if the options contradict each other.
 */
export function hmac(options: HmacOptions): Scheme {
  const { id = specifiedId, type = specifiedType, mediaTypes, signed = '{body}' } = options
  if (!signed.includes('{body}')) throw new TypeError('hmac: `signed` must contain {body}')
  const isTimed = options.timestampHeader !== undefined || options.pairs?.timestamp !== undefined
  if (isTimed !== signed.includes('{timestamp}'))
    throw new TypeError('hmac: a time needs {timestamp} in `signed`, and {timestamp} needs a time')
  const paths = [id, type].flatMap((place) =>
    typeof place === 'object' && 'body' in place ? [place.body] : [],
  )
  const readsBody = paths.length > 0 || mediaTypes === undefined
  // A path such as `0.id` leads into an array.
  const readsArray = paths.every((path) => /^\d/.test(path))
  return createScheme({
    name: 'hmac',
    options,
    mediaTypes,
    signatureHeader: options.header.toLowerCase(),
    signs: describe(options, signed),
    check: hmacCheck({
      ...options,
      header: options.header.toLowerCase(),
      timestampHeader: options.timestampHeader?.toLowerCase(),
      template: signed,
    }),
    read(delivery) {
      const body = readsBody ? readJson(delivery.rawBody) : { value: undefined }
      if ('rejected' in body) return body
      if (paths.length > 0 && !isObject(body.value) && !(Array.isArray(body.value) && readsArray))
        return malformed('The body is not a JSON object.')
      const eventId = id === 'digest' ? bodyDigest(delivery.rawBody) : find(id, delivery, body.value)
      return identify(eventId, 'always' in type ? type.always : find(type, delivery, body.value))
    },
  })
}

/** How the sender signs, for the steps of its set-up. */
function describe(options: HmacOptions, signed: string): string {
  const { header, algorithm = 'sha256', encoding = 'hex', prefix = '', pairs, timestampHeader } = options
  const over = signed === '{body}' ? 'the raw body' : `\`${signed}\``
  const separator = pairs?.separator ?? ','
  const time = pairs?.timestamp === undefined ? '' : `${pairs.timestamp}=TIME${separator}`
  const form = pairs ? `${prefix}${time}${pairs.signature}=DIGEST` : prefix === '' ? '' : `${prefix}DIGEST`
  const parts = [
    `computes the HMAC-${algorithm.toUpperCase()} of ${over}`,
    `and sends it in ${encoding} in the header \`${header.toLowerCase()}\``,
    ...(form === '' ? [] : [`as \`${form}\``]),
    ...(timestampHeader === undefined ? [] : [`and the time in \`${timestampHeader.toLowerCase()}\``]),
  ]
  return parts.join(' ')
}

const specifiedId: Place = { body: 'id' }
const specifiedType: Place = { body: 'type' }

function find(place: Place, { headers, rawBody }: Delivery, body: unknown): unknown {
  if ('header' in place) return headerOf(headers, place.header.toLowerCase())
  // The default fields must be strings. Integers are accepted at other places.
  return place === specifiedId || place === specifiedType
    ? valueAt(body, place.body)
    : textAt(body, place.body, rawBody)
}
