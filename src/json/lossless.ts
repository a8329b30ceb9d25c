import { Problem } from '../errors.ts'
import { parseExactly } from './exact.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The text of JSON in UTF-8, without the byte order mark that some senders write before it (RFC 8259, section 8.1). */
export function jsonText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/**
 * Parses a body that is passed on, and preserves every digit of its numbers. Returns `undefined` for an empty body.
 * @throws Problem `invalid-body` if it is not UTF-8 or not JSON.
 */
export function parseLossless(bytes: Uint8Array): unknown {
  return parseBytes(bytes, parseExactly)
}

/** Like parseLossless, but with JavaScript's numbers: for bodies that are not passed on. */
export function parsePlain(bytes: Uint8Array): unknown {
  return parseBytes(bytes, JSON.parse)
}

function parseBytes(bytes: Uint8Array, parse: (text: string) => unknown): unknown {
  if (bytes.length === 0) return undefined
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch (error) {
    throw new Problem('invalid-body', { detail: 'The body is not UTF-8.', cause: error })
  }
  try {
    return parse(text)
  } catch (error) {
    // The reviver of parseExactly is called for each level from within the one above it.
    const detail =
      error instanceof RangeError
        ? 'The body is nested too deeply.'
        : `The body is not JSON: ${(error as Error).message}.`
    throw new Problem('invalid-body', { detail, cause: error })
  }
}
