import { type Static, Type } from 'typebox'
import { invalidBody } from '../../errors.ts'
import { closedObject, storablePattern } from '../../http/schemas/schemas.ts'

const conditionOperators = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'prefix', 'exists'] as const
type ConditionOperator = (typeof conditionOperators)[number]

/** RFC 6901, section 3. */
const pointerPattern = '^(/([^~/\\u0000\\ud800-\\udfff]|~[01])*)*$'
/** Limits, because conditions are evaluated for every event and subscriber. */
export const mostConditions = 10
const mostListed = 100
const longestPath = 256
const longestValue = 256

const Value = Type.Union([
  Type.String({ maxLength: longestValue, pattern: storablePattern }),
  Type.Number(),
  Type.Boolean(),
  Type.Null(),
])
export const ConditionBody = closedObject({
  path: Type.String({
    maxLength: longestPath,
    pattern: pointerPattern,
    description: 'A JSON pointer into the data: `/order/total`',
  }),
  op: Type.Enum(conditionOperators),
  value: Type.Optional(
    Type.Union([Value, Type.Array(Value, { minItems: 1, maxItems: mostListed })], {
      description: 'A list for `in`, true or false for `exists`, otherwise one value',
    }),
  ),
})

/** `path`: a JSON pointer (RFC 6901); the empty pointer selects the data itself. `exists` can have no value. */
export type Condition = Static<typeof ConditionBody>

/**
 * Checks that each operator has a value of the right type.
 * @throws Problem `invalid-body`
 */
export function checkConditions(conditions: readonly Condition[]): void {
  for (const [index, { op, value }] of conditions.entries()) {
    const fault = faultOf(op, value)
    if (fault) throw invalidBody(`/conditions/${index}/value`, fault)
  }
}

function faultOf(op: ConditionOperator, value: Condition['value']): string | undefined {
  if (op === 'exists')
    return value === undefined || typeof value === 'boolean' ? undefined : 'exists takes true or false.'
  if (value === undefined) return `${op} needs a value.`
  if (op === 'in') return Array.isArray(value) ? undefined : 'in takes a list.'
  if (Array.isArray(value)) return `${op} takes a single value.`
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'prefix takes a text.'
  if (op === 'eq' || op === 'ne') return undefined
  return typeof value === 'string' || typeof value === 'number'
    ? undefined
    : `${op} takes a number or a text.`
}

/**
 * Whether all conditions hold. Values of different types are never equal and have no order. Texts are compared by UTF-16 code
 * units, which orders ISO 8601 times in UTC correctly. For a missing value only `ne` and `exists: false` hold.
 */
export function holds(conditions: readonly Condition[], data: unknown): boolean {
  return conditions.every(({ path, op, value }) => compare(op, find(data, path), value))
}

function compare(op: ConditionOperator, found: unknown, value: Condition['value']): boolean {
  switch (op) {
    case 'exists':
      return (found !== undefined) === (value ?? true)
    case 'eq':
      return found === value
    case 'ne':
      return found !== value
    case 'in':
      return (value as readonly unknown[]).includes(found)
    case 'prefix':
      return typeof found === 'string' && found.startsWith(value as string)
    default:
      return inOrder(op, found, value)
  }
}

function inOrder(op: 'lt' | 'lte' | 'gt' | 'gte', found: unknown, value: unknown): boolean {
  const comparable = typeof found === typeof value && (typeof found === 'number' || typeof found === 'string')
  if (!comparable) return false
  const [left, right] = [found as string, value as string]
  if (op === 'lt') return left < right
  if (op === 'lte') return left <= right
  return op === 'gt' ? left > right : left >= right
}

function find(data: unknown, path: string): unknown {
  let found = data
  for (const step of path.split('/').slice(1)) {
    if (typeof found !== 'object' || found === null) return undefined
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    // `length` is an own property of an array, but not an element.
    if (!Object.hasOwn(found, key) || (Array.isArray(found) && key === 'length')) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
