import { canonicalNumber, isRawNumber, parseExactly } from './exact.ts'

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
