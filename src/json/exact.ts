import { Problem } from '../errors.ts'

/**
 * Matches JSON that may contain a number that a double changes: more digits than a double has, an exponent, zeros at the end of a
 * fraction, negative zero, a small fraction. Strings can match as well, which only costs time.
 */
const unfaithful =
  /(?:^|[[,:\s])(?:-0(?![.\d])|-?\d(?:[\d.]{15}|\d*\.\d*0(?=[\s,\]}]|$)|\d*(?:\.\d+)?[eE][-+]?\d+(?=[\s,\]}]|$)|\.0{6}))/

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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

/** The numbers of an object or array whose text a double does not reproduce, by key. */
type Texts = Map<string, { value: number; text: string }>

const remembered = new WeakMap<object, Texts>()
/** Until a number is remembered, nothing needs the replacer, which makes JSON.stringify slower. */
let anyRemembered = false

/**
 * Remembers the texts of the numbers in `value`, which JSON.parse has made of `text`, for `stringifyExactly`. The value itself stays
 * as it is: frameworks of tests and validation see plain numbers.
 */
export function rememberNumbers(value: unknown, text: string): void {
  if (typeof value !== 'object' || value === null || !unfaithful.test(text)) return
  try {
    remember(value, JSON.parse(text, reviveExact) as object)
  } catch (error) {
    // Too many levels for the stack. Such a value cannot be emitted either.
    if (!(error instanceof RangeError)) throw error
  }
}

function remember(value: object, exact: object): void {
  const texts: Texts = new Map()
  for (const [key, child] of Object.entries(exact) as [string, unknown][]) {
    if (typeof child !== 'object' || child === null) continue
    const own = Object.getOwnPropertyDescriptor(value, key)?.value as unknown
    if (isRawJSON(child)) {
      if (typeof own === 'number') texts.set(key, { value: Number(child.rawJSON), text: child.rawJSON })
    } else if (typeof own === 'object' && own !== null) remember(own, child)
  }
  if (texts.size === 0 || remembered.has(value)) return
  remembered.set(value, texts)
  anyRemembered = true
}

/**
 * Whether JSON may have a number of 16 characters or more, such as a 64-bit id. Strings can look like one. Such a number covers one
 * position of every sixteen, so only these are read: the search takes 3% of the time of JSON.parse.
 */
export function hasLongNumber(json: Uint8Array): boolean {
  const { length } = json
  for (let at = 15; at < length; at += 16)
    if (isOfNumber(json[at]!) && isWithinLongNumber(json, at)) return true
  return false
}

function isWithinLongNumber(json: Uint8Array, at: number): boolean {
  let start = at
  while (start > at - 15 && isOfNumber(json[start - 1]!)) start -= 1
  let end = start + 15
  if (end >= json.length) return false
  while (end > at && isOfNumber(json[end]!)) end -= 1
  return end === at
}

/** Whether a byte is a digit, a decimal point or, because that is faster, a slash. */
function isOfNumber(byte: number): boolean {
  return byte <= 57 && byte >= 46
}

/**
 * Like JSON.stringify, but writes remembered numbers as they were, if their properties still have the same value, and bigints as
 * their digits.
 */
export function stringifyExactly(value: unknown): string | undefined {
  if (anyRemembered) return JSON.stringify(value, writeExactly)
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Either a bigint, or something that fails again.
    if (error instanceof TypeError) return JSON.stringify(value, writeExactly)
    throw error
  }
}

function writeExactly(this: object, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return raw(String(value))
  if (typeof value !== 'number') return value
  const known = remembered.get(this)?.get(key)
  return known && Object.is(known.value, value) ? raw(known.text) : value
}

/**
 * Parses JSON to values of which none has lost a digit: an integer beyond 2^53 becomes a bigint, any other number that a double
 * does not represent JSON.rawJSON.
 */
export function parseToExactValues(text: string): unknown {
  if (!unfaithful.test(text)) return JSON.parse(text) as unknown
  const value: unknown = JSON.parse(text, reviveToExactValue)
  // Numbers such as 1.50 stay numbers.
  rememberNumbers(value, text)
  return value
}

/** Characters. The time that a bigint takes grows faster than its length: 150 ms for a million digits. */
const longestBigint = 1_000

function reviveToExactValue(_key: string, value: unknown, context?: { source: string }): unknown {
  if (typeof value !== 'number' || !context || String(value) === context.source) return value
  if (Number.isSafeInteger(value) && /^-?\d+$/.test(context.source)) return value
  if (context.source.length <= longestBigint && /^-?\d+$/.test(context.source)) return BigInt(context.source)
  return canonicalNumber(String(value)) === canonicalNumber(context.source) ? value : raw(context.source)
}

const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/

/** Returns `-1205e-1` for `-120.50`: equal numbers get equal texts. */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(text) ?? []
  // The exponent has more than 12 digits. Such numbers are equal only if their texts are.
  if (whole === '') return text
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const significant = trimZeros(digits)
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Removes zeros at the end. A regular expression would take quadratic time. */
function trimZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}

/**
 * Returns JSON in a canonical form: sorted keys, numbers as digits and an exponent. `{"a":1,"b":10.0}` and `{"b":1e1,"a":1.0}`
 * become equal, and different numbers stay different regardless of their digits. Use it only for comparisons.
 * @param json JSON without repeated keys, as JSON.stringify writes it.
 */
export function canonicalJson(json: string): string {
  return write(parseExactly(json))
}

function write(value: unknown): string {
  if (typeof value === 'number') return canonicalNumber(String(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isRawJSON(value)) return canonicalNumber(value.rawJSON)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}

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
