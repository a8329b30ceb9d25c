import { Problem } from '../errors.ts'

/**
 * Texts that may hold a number that would not come out as it went in: more digits than a double carries, an exponent,
 * zeros at the end of a fraction, a negative zero, a small fraction. Strings may match too; that costs only time.
 */
const unfaithful = /[\d.]{16}|\d[eE]|\.\d*0(?!\d)|-0(?![.\d])|0\.0{6}/

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses JSON so that JSON.stringify writes every value as it was: numbers that a double does not hold stay raw JSON
 * (https://github.com/tc39/proposal-json-parse-with-source), `__proto__` is a key like any other.
 * @throws Problem `invalid-body` when it is not UTF-8 or not JSON. An empty text is `undefined`.
 */
export function parseLossless(bytes: Uint8Array): unknown {
  return parseBytes(bytes, parseJson)
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

/** The same for a text that is JSON. @throws SyntaxError when it is none. */
export function parseJson(text: string): unknown {
  return unfaithful.test(text) ? (JSON.parse(text, keepNumber) as unknown) : (JSON.parse(text) as unknown)
}

function keepNumber(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context && String(value) !== context.source
    ? raw(context.source)
    : value
}

// TypeScript's library does not know JSON.rawJSON yet.
const { rawJSON: raw } = JSON as unknown as { rawJSON(this: void, text: string): object }
