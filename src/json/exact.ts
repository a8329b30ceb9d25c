/**
 * Texts that may hold a number that would not come out as it went in: more digits than a double carries, an exponent,
 * zeros at the end of a fraction, a negative zero, a small fraction. Strings may match too; that costs only time.
 */
const unfaithful = /[\d.]{16}|\d[eE]|\.\d*0(?!\d)|-0(?![.\d])|0\.0{6}/

/**
 * Parses JSON so that JSON.stringify writes every value as it was: numbers that a double does not hold stay raw JSON
 * (https://github.com/tc39/proposal-json-parse-with-source), `__proto__` is a key like any other.
 * @throws SyntaxError for a text that is no JSON.
 */
export function parseExactly(text: string): unknown {
  return unfaithful.test(text) ? (JSON.parse(text, keepNumber) as unknown) : (JSON.parse(text) as unknown)
}

function keepNumber(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context && String(value) !== context.source
    ? raw(context.source)
    : value
}

// TypeScript's library does not know these yet.
const { rawJSON: raw, isRawJSON } = JSON as unknown as {
  rawJSON(this: void, text: string): object
  isRawJSON(this: void, value: object): value is { rawJSON: string }
}

/** Whether a value is a number that was kept as it was written. */
export { isRawJSON as isRawNumber }
