import { identify, readObject } from './body.ts'
import { anyEqual, decodeDigest, digestOf, type Algorithm, type Encoding } from './digest.ts'
import { createScheme, refuse, type Scheme, type SourceOptions } from './scheme.ts'

export interface HmacOptions extends SourceOptions {
  /** The header that holds the digest; its case does not matter. */
  header: string
  /** Default sha256. */
  algorithm?: Algorithm
  /** Default hex, of either case. */
  encoding?: Encoding
  /** What stands before the digest, such as `sha256=`. */
  prefix?: string
}

/** An HMAC over the raw body, in a header; the event's `id` and `type` are fields of its JSON object. */
export function hmac(options: HmacOptions): Scheme {
  const { algorithm = 'sha256', encoding = 'hex', prefix = '' } = options
  const header = options.header.toLowerCase()
  return createScheme({
    name: 'hmac',
    options,
    verifier:
      (secrets) =>
      ({ rawBody, headers }) => {
        const sent = headers[header]
        if (typeof sent !== 'string') return refuse(`${header} is missing`)
        if (!sent.startsWith(prefix)) return refuse(`${header} does not begin with ${prefix}`)
        const received = decodeDigest(sent.slice(prefix.length), encoding)
        if (!received) return refuse(`${header} is not a ${encoding} digest`)
        const expected = secrets.map((secret) => digestOf(algorithm, secret, rawBody))
        if (!anyEqual(expected, [received])) return refuse(`${header} does not match`)
        const body = readObject(rawBody)
        return 'rejected' in body ? body : identify(body.object['id'], body.object['type'])
      },
  })
}
