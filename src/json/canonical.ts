import { isRawNumber, parseExactly } from './exact.ts'

/**
 * JSON of the same content in one writing: keys sorted, numbers as digits and an exponent, so that `{"a":1,"b":10.0}` and
 * `{"b":1e1,"a":1.0}` are one text and no two numbers that differ become one, however many digits they have. For
 * comparing only; what is sent stays as it was written.
 * @param json JSON without repeated keys, as JSON.stringify writes it.
 */
export function canonicalJson(json: string): string {
  return write(parseExactly(json))
}

function write(value: unknown): string {
  if (typeof value === 'number') return canonicalNumber(String(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isRawNumber(value)) return canonicalNumber(value.rawJSON)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}

const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/

/** `-120.50` as `-1205e-1`. */
function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts.exec(text) ?? []
  // An exponent beyond all reason: such numbers are the same when they are written the same.
  if (whole === '') return text
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const significant = trimZeros(digits)
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Without the zeros at its end; a regular expression would look at every run of zeros in it once per zero. */
function trimZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}
