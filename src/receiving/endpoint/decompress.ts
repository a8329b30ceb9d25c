import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { Problem } from '../../errors.ts'

const codings: Readonly<Record<string, (bytes: Buffer, limit: number) => Promise<Buffer>>> = {
  gzip: (bytes, limit) => promisify(gunzip)(bytes, { maxOutputLength: limit }),
  br: (bytes, limit) => promisify(brotliDecompress)(bytes, { maxOutputLength: limit }),
  // RFC 9110, section 8.4.1.2: some senders leave out the header of zlib.
  deflate: (bytes, limit) =>
    promisify(hasZlibHeader(bytes) ? inflate : inflateRaw)(bytes, { maxOutputLength: limit }),
}

function hasZlibHeader(bytes: Buffer): boolean {
  return bytes.length > 1 && (bytes[0]! & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0
}

/** Bodies that are decompressed at once: each takes up to the body limit, before its sender is verified. */
const mostAtOnce = 16
let running = 0

/** Whether bodies with this `Content-Encoding` can be decompressed. */
export function isCoding(coding: string): boolean {
  return Object.hasOwn(codings, coding.toLowerCase())
}

/**
 * Decompresses a body of at most `limit` bytes, which also limits the result. Returns undefined if it is not valid.
 * @throws Problem `body-too-large`, `overloaded`
 */
export async function decompress(bytes: Buffer, coding: string, limit: number): Promise<Buffer | undefined> {
  if (running >= mostAtOnce) throw new Problem('overloaded', { retryAfter: 1 })
  running += 1
  try {
    return await codings[coding.toLowerCase()]!(bytes, limit)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') return undefined
    throw new Problem('body-too-large', {
      detail: `The body has more than ${limit} bytes after it is decompressed.`,
    })
  } finally {
    running -= 1
  }
}
