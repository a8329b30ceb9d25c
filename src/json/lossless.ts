import { Problem } from '../errors.ts'
import { parseExactly } from './exact.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * A body as it is to be passed on, with every digit of its numbers.
 * @throws Problem `invalid-body` when it is not UTF-8 or not JSON. An empty text is `undefined`.
 */
export function parseLossless(bytes: Uint8Array): unknown {
  return parseBytes(bytes, parseExactly)
}

/** The same with JSON's numbers as JavaScript's, for bodies that are read and not passed on. */
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
    throw new Problem('invalid-body', {
      detail: `The body is not JSON: ${(error as Error).message}.`,
      cause: error,
    })
  }
}
