import { isRawNumber, parseExactly } from './exact.ts'

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
  if (isRawNumber(value)) return canonicalNumber(value.rawJSON)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}

const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,12}))?$/

/** Returns `-1205e-1` for `-120.50`. */
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
