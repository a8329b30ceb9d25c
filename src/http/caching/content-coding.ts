/*
 * Negotiates and applies content codings. @fastify/compress would bring minipass, readable-stream, mime-db and what they need for
 * these 40 lines. It also compresses every route unless told otherwise, while here only lists and exports are compressed.
 */
import { pipeline, type Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import { weightsOf } from '../requests/weights.ts'

export type Coding = 'br' | 'gzip' | 'identity'

/** Bytes below which an answer is not compressed, because it fits in one packet anyway. */
const worthCoding = 1_400
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const [compressBrotli, compressGzip] = [promisify(brotliCompress), promisify(gzip)]

/** The best coding that an Accept-Encoding (RFC 9110, section 12.5.3) allows. */
export function acceptedCoding(header: string | undefined): Coding {
  if (header === undefined) return 'identity'
  const weights = weightsOf(header)
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0
  const [br, zip] = [weightOf('br'), weightOf('gzip')]
  if (!(br > 0) && !(zip > 0)) return 'identity'
  return br >= zip ? 'br' : 'gzip'
}

/** Compresses a whole body, unless it is too short. */
export async function encode(
  body: string,
  coding: Coding,
): Promise<{ body: string | Buffer; coding: Coding }> {
  if (coding === 'identity' || body.length < worthCoding) return { body, coding: 'identity' }
  return { body: coding === 'br' ? await compressBrotli(body, brotli) : await compressGzip(body), coding }
}

/** Compresses a body that is sent often, as far as it goes in reasonable time. */
export async function encodeOnce(body: Buffer, coding: Coding): Promise<Buffer> {
  if (coding === 'identity') return body
  if (coding === 'gzip') return compressGzip(body, { level: 9 })
  return compressBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
}

/** Compresses a stream. If either stream fails or is closed, so is the other. */
export function encodeStream(stream: Readable, coding: Coding): Readable {
  if (coding === 'identity') return stream
  const encoder = coding === 'br' ? createBrotliCompress(brotli) : createGzip()
  // The reader of the encoder gets an error.
  return pipeline(stream, encoder, () => undefined)
}
