import { type HmacAlgorithm, HmacKey } from '../../crypto/secrets.ts'
import { type Encoding, decodeDigest, findEqual, mostSignatures } from './digest.ts'
import { createScheme } from './create-scheme.ts'
import { headerOf, placedReader, type PlacedOptions } from './body.ts'
import {
  type Scheme,
  type TimedOptions,
  type TimeUnit,
  type Check,
  checkTime,
  defaultTolerance,
  type Delivery,
  refuse,
  type Rejected,
  shownAt,
  type FetchFirst,
} from './scheme.ts'
import type { IncomingHttpHeaders } from 'node:http'

export interface HmacOptions
  extends
    TimedOptions,
    PlacedOptions,
    Pick<SignedByHmac, 'algorithm' | 'encoding' | 'prefix' | 'pairs' | 'timestampUnit' | 'url'> {
  /** The header of the digest, in upper or lower case. */
  header: string
  /** The header of the time. `signed` must then contain `{timestamp}`: a time that is not signed proves nothing. */
  timestampHeader?: string
  /**
   * The signed text, with `{body}` and, if the sender signs them, `{timestamp}`, `{url}` (the public address with its query)
   * and `{header:NAME}`. Default `{body}`.
   */
  signed?: string
}

/**
 * Any sender that sends an HMAC in a header; the options describe the differences.
 * @throws TypeError if the options contradict each other.
 */
export function hmac(options: HmacOptions): Scheme {
  const signed = readSigned('hmac', options)
  return createScheme({
    name: 'hmac',
    options,
    mediaTypes: options.mediaTypes,
    signatureHeader: signed.header,
    signs: describe(options, signed.template),
    check: hmacCheck(signed),
    read: placedReader(options),
  })
}

/** Reads how a sender signs. @throws TypeError if the options contradict each other */
export function readSigned<Options extends Signed & { signed?: string }>(scheme: string, options: Options) {
  const { header, timestampHeader, pairs, signed = '{body}' } = options
  if (!signed.includes('{body}')) throw new TypeError(`${scheme}: \`signed\` must contain {body}`)
  const isTimed = timestampHeader !== undefined || pairs?.timestamp !== undefined
  if (isTimed !== signed.includes('{timestamp}'))
    throw new TypeError(`${scheme}: a time needs {timestamp} in \`signed\`, and {timestamp} needs a time`)
  const lower = { header: header.toLowerCase(), timestampHeader: timestampHeader?.toLowerCase() }
  return { ...options, ...lower, template: signed }
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

/** The names in a signature header of pairs, such as `t=1700000000,v1=…,v1=…`. */
interface Pairs {
  /** The separator of pairs. Default: a comma. */
  separator?: ',' | ';' | ' '
  /** The name of a digest. It may occur several times. */
  signature: string
  /** The name of the signed time. */
  timestamp?: string
}

/** How a sender signs and where it sends the signature. */
export interface Signed {
  /** The header of the digest or signature, in lower case. */
  header: string
  /** Default hex, of either case. */
  encoding?: Encoding | undefined
  /** The text before the digest, such as `sha256=`. */
  prefix?: string | undefined
  /** For a header of pairs such as `t=…,v1=…`: their names. */
  pairs?: Pairs | undefined
  /** The header of the signed time, in lower case. */
  timestampHeader?: string | undefined
  /** Default seconds. */
  timestampUnit?: TimeUnit | undefined
  /** Seconds by which the signed time may differ from ours. Default 300. */
  tolerance?: number | undefined
  /** The signed text, with `{timestamp}`, `{body}`, `{url}` and `{header:NAME}`. Default `{body}`. */
  template?: string | undefined
  /** The address for `{url}`, if the sender knows another one than BASE_URL. */
  url?: string | undefined
  /** The form in which the sender signs the address. Default: unchanged. */
  signedUrl?: (url: string) => string
}

export interface SignedByHmac extends Signed {
  /** Default sha256. */
  algorithm?: HmacAlgorithm | undefined
  /** The key of a secret. Default: its text. @throws TypeError */
  keyOf?: (secret: string) => string | Uint8Array
}

/** Makes the check of an HMAC, and of the signed time if there is one. */
export function hmacCheck(signed: SignedByHmac): (secrets: readonly string[]) => Check {
  return signedCheck(signed, (secrets) => {
    const { algorithm = 'sha256', keyOf = (secret: string) => secret } = signed
    const keys = secrets.map((secret) => new HmacKey(algorithm, keyOf(secret)))
    return (parts, digests) =>
      findEqual(
        keys.map((key) => key.digest(...parts)),
        digests,
      )
  })
}

/** Returns the index of the secret that verifies one of the signatures, or -1. */
type Match = (
  parts: readonly (string | Uint8Array)[],
  signatures: readonly Buffer[],
  delivery: Delivery,
) => number | Rejected | FetchFirst

/** Makes what verifies signatures with these secrets. */
export type Matcher = (secrets: readonly string[]) => Match

/** Makes the check of a signature that `match` verifies, and of the signed time if there is one. */
export function signedCheck(signed: Signed, matcher: Matcher): (secrets: readonly string[]) => Check {
  const { header, timestampUnit, tolerance = defaultTolerance } = signed
  const content = compileTemplate(signed)
  const read = signed.pairs ? pairsReader(signed, signed.pairs) : plainReader(signed)
  return (secrets) => {
    const shown = secrets.map((secret) => ({ secret }))
    const match = matcher(secrets)
    return (delivery) => {
      const sent = read(delivery.headers)
      if ('rejected' in sent) return sent
      const { timestamp, digests } = sent
      const parts = content(delivery, timestamp)
      if ('rejected' in parts) return parts
      const found = match(parts, digests, delivery)
      if (typeof found !== 'number') return found
      if (found === -1) return refuse(`${header} does not match`)
      if (timestamp === undefined) return shown[found]!
      return shownAt(secrets[found]!, checkTime(timestamp, delivery.now, tolerance, timestampUnit))
    }
  }
}

/** A header `t=<seconds>,v1=<hex>[,v1=…]` with an HMAC over `t.body`. */
export const timedPairs = { pairs: { signature: 'v1', timestamp: 't' }, template: '{timestamp}.{body}' }

interface Sent {
  timestamp: string | undefined
  digests: readonly Buffer[]
}

type ReadSent = (headers: IncomingHttpHeaders) => Sent | Rejected

function plainReader(signed: Signed): ReadSent {
  const { header, prefix = '', encoding = 'hex', timestampHeader } = signed
  return (headers) => {
    const text = headers[header]
    if (typeof text !== 'string') return refuse(`${header} is missing`, 'signature-missing')
    if (!text.startsWith(prefix)) return refuse(`${header} does not begin with ${prefix}`)
    const digest = decodeDigest(prefix === '' ? text : text.slice(prefix.length), encoding)
    if (!digest) return refuse(`${header} is not a ${encoding} digest`)
    if (timestampHeader === undefined) return { timestamp: undefined, digests: [digest] }
    const timestamp = headerOf(headers, timestampHeader)
    return timestamp === undefined
      ? refuse(`${timestampHeader} is missing`, 'signature-missing')
      : { timestamp, digests: [digest] }
  }
}

function pairsReader(signed: Signed, pairs: Pairs): ReadSent {
  const { header, prefix = '', encoding = 'hex', timestampHeader } = signed
  return (headers) => {
    const text = headers[header]
    if (typeof text !== 'string') return refuse(`${header} is missing`, 'signature-missing')
    let timestamp = timestampHeader === undefined ? undefined : headerOf(headers, timestampHeader)
    const digests: Buffer[] = []
    for (const item of text.split(pairs.separator ?? ',')) {
      const at = item.indexOf('=')
      const name = item.slice(0, at).trim()
      const value = item.slice(at + 1).trim()
      if (at === -1) continue
      if (name === pairs.timestamp) timestamp = value
      const digest =
        name === pairs.signature && value.startsWith(prefix)
          ? decodeDigest(value.slice(prefix.length), encoding)
          : undefined
      if (digest && digests.length < mostSignatures) digests.push(digest)
    }
    const isTimed = pairs.timestamp !== undefined || timestampHeader !== undefined
    if (digests.length === 0 || (isTimed && !timestamp))
      return refuse(`${header} lacks a part`, 'signature-missing')
    return { timestamp, digests }
  }
}

type Content = (
  delivery: Delivery,
  timestamp: string | undefined,
) => readonly (string | Uint8Array)[] | Rejected

const placeholder = /\{(timestamp|body|url|header:[^{}]+)\}/

/** Parses a template once for all deliveries. */
function compileTemplate({ template = '{body}', url, signedUrl = (same) => same }: Signed): Content {
  // The pieces alternate: text, name of a placeholder, text.
  const pieces = template.split(placeholder)
  return (delivery, timestamp) => {
    const parts: (string | Uint8Array)[] = []
    const address = url ?? delivery.url
    for (const [index, piece] of pieces.entries()) {
      if (index % 2 === 0) {
        if (piece !== '') parts.push(piece)
      } else {
        const value = valueOf(piece)
        if (value === undefined) return refuse(`${piece} is missing`, 'signature-missing')
        parts.push(value)
      }
    }
    return parts

    function valueOf(piece: string): string | Uint8Array | undefined {
      if (piece === 'body') return delivery.rawBody
      if (piece === 'timestamp') return timestamp
      if (piece === 'url') return address === undefined ? undefined : signedUrl(address)
      return headerOf(delivery.headers, piece.slice('header:'.length).toLowerCase())
    }
  }
}
