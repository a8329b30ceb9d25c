/**
 * Matches a text that may contain a number that a double changes: more digits than a double has, an exponent, zeros at the end
 * of a fraction, negative zero, a small fraction. Strings can match as well, which only costs time.
 */
const unfaithful = /[\d.]{16}|\d[eE]|\.\d*0(?!\d)|-0(?![.\d])|0\.0{6}/

/**
 * Parses JSON so that JSON.stringify reproduces all values: numbers that a double cannot represent stay raw JSON
 * (https://github.com/tc39/proposal-json-parse-with-source), and `__proto__` is an ordinary key.
 * @throws SyntaxError if the text is not JSON.
 */
export function parseExactly(text: string): unknown {
  return unfaithful.test(text) ? (JSON.parse(text, reviveExact) as unknown) : (JSON.parse(text) as unknown)
}

function reviveExact(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' && context && String(value) !== context.source
    ? raw(context.source)
    : value
}

// TypeScript's library does not declare these yet.
const { rawJSON: raw, isRawJSON } = JSON as unknown as {
  rawJSON(this: void, text: string): object
  isRawJSON(this: void, value: object): value is { rawJSON: string }
}

/** Whether a value is a number that was preserved as text. */
export { isRawJSON as isRawNumber }
