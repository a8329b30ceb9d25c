import { hmacCheck, type Pairs } from './hmac-check.ts'
import type { HmacAlgorithm } from '../../crypto/hmac.ts'
import type { Encoding } from './digest.ts'
import { createScheme } from './create-scheme.ts'
import { placedReader, type PlacedOptions } from './placed.ts'
import type { Scheme, TimedOptions, TimeUnit } from './scheme.ts'

export interface HmacOptions extends TimedOptions, PlacedOptions {
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
}

/**
 * Any sender that sends an HMAC in a header; the options describe the differences.
 * @throws TypeError if the options contradict each other.
 */
export function hmac(options: HmacOptions): Scheme {
  const { mediaTypes, signed = '{body}' } = options
  if (!signed.includes('{body}')) throw new TypeError('hmac: `signed` must contain {body}')
  const isTimed = options.timestampHeader !== undefined || options.pairs?.timestamp !== undefined
  if (isTimed !== signed.includes('{timestamp}'))
    throw new TypeError('hmac: a time needs {timestamp} in `signed`, and {timestamp} needs a time')
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
    read: placedReader(options),
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
