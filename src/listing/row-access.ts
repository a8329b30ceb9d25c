import type { KeyValue } from '../paging/cursor-values.ts'
import { isStorableText } from '../storage/sql-text.ts'
import { oneOf, spellings, type QueryFilters } from './filters.ts'
import { fieldTypes } from './field-types.ts'
import { fieldOf, type Field, type Filter, type ListDeclaration, type AppliedFilter } from './list.ts'
import type { Caller, ConditionValue } from './config.ts'

const none: QueryFilters = { applied: [], empty: true, fingerprint: [['none']] }
const all: QueryFilters = { applied: [], empty: false, fingerprint: [] }

/**
 * The conditions of the list's `where` for a caller, as filters that every query has. A field that is undefined, such as the
 * `userId` of an API key, matches no row: a mistake shows too few rows, never too many.
 * @throws TypeError when `where` returns neither conditions nor false.
 */
export function readRowAccess(list: ListDeclaration, caller: Caller | undefined): QueryFilters {
  if (!list.where) return all
  const conditions = list.where(caller)
  if (conditions === false) return none
  // A promise has no properties: used as conditions, it would let every row pass.
  if (!areConditions(conditions))
    throw new TypeError(
      `the function \`where\` of the list ${list.name} returned neither conditions nor false`,
    )
  const applied: AppliedFilter[] = []
  for (const [name, value] of Object.entries(conditions)) {
    const condition = conditionOn(name, fieldOf(list, name), value)
    if (condition === undefined) return none
    applied.push(condition)
  }
  const fingerprint = applied.map(({ filter, variant, values }) => [filter.field, variant, ...values])
  return { applied, empty: false, fingerprint }
}

/** Whether `where` returned a plain object. Its declaration may be JavaScript, which is not type-checked. */
export function areConditions(result: unknown): result is Readonly<Record<string, ConditionValue>> {
  if (typeof result !== 'object' || result === null) return false
  const prototype: unknown = Object.getPrototypeOf(result)
  return prototype === Object.prototype || prototype === null
}

/** The filter for one field; `undefined` when no value of the field can pass. */
function conditionOn(field: string, declared: Field, condition: ConditionValue): AppliedFilter | undefined {
  const { type } = declared
  const filter = (kind: Filter['kind']): Filter => ({
    parameter: `where.${field}`,
    kind,
    field,
    description: '',
  })
  if (condition === undefined) return undefined
  if (condition === null) return { filter: filter('null'), values: [], variant: 'null' }
  if (typeof condition !== 'object') {
    const value = valueOf(condition, type)
    if (value === undefined) return undefined
    const values = declared.words ? spellings(value, declared) : [value]
    return { filter: filter('equals'), ...(values.length === 1 ? { values, variant: '' } : oneOf(values)) }
  }
  const values = condition.flatMap((one) => valueOf(one, type) ?? [])
  return values.length === 0 ? undefined : { filter: filter('in'), ...oneOf(values) }
}

function valueOf(value: string | number | boolean, type: Field['type']): KeyValue | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return undefined
    // SQLite would compare a text with `5.0`.
    return fieldTypes[type].cursor === 'text' ? String(value) : value
  }
  return isStorableText(value) ? value : undefined
}
