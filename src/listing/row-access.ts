import type { KeyValue } from '../paging/cursor-values.ts'
import { isStorableText } from '../storage/text.ts'
import { oneOf, type AppliedFilter, type FilterReading } from './filters.ts'
import { fieldOf, type Caller, type Filter, type ListDeclaration, type ConditionValue } from './list.ts'

const none: FilterReading = { applied: [], empty: true, fingerprint: [['none']] }
const all: FilterReading = { applied: [], empty: false, fingerprint: [] }

/**
 * The conditions that a list puts on the rows of a caller, as filters that nobody can leave out. What the declaration leaves
 * undefined, such as the user of an API key, is equal to nothing: a mistake shows too little, never too much.
 */
export function readRowAccess(list: ListDeclaration, caller: Caller | undefined): FilterReading {
  if (!list.where) return all
  const wanted = list.where(caller)
  if (wanted === false) return none
  // A promise has no conditions to see, and would let every row pass.
  if (!areConditions(wanted))
    throw new TypeError(
      `the function \`where\` of the list ${list.name} returned neither conditions nor false`,
    )
  const applied: AppliedFilter[] = []
  for (const [name, value] of Object.entries(wanted)) {
    fieldOf(list, name)
    const condition = conditionOn(name, value)
    if (condition === undefined) return none
    applied.push(condition)
  }
  const fingerprint = applied.map(({ filter, variant, values }) => [filter.field, variant, ...values])
  return { applied, empty: false, fingerprint }
}

/** Whether what `where` returned, which nobody may have type-checked, is an object of conditions and nothing else. */
export function areConditions(wanted: unknown): wanted is Readonly<Record<string, ConditionValue>> {
  if (typeof wanted !== 'object' || wanted === null) return false
  const prototype: unknown = Object.getPrototypeOf(wanted)
  return prototype === Object.prototype || prototype === null
}

function conditionOn(field: string, wanted: ConditionValue): AppliedFilter | undefined {
  const filter = (kind: Filter['kind']): Filter => ({
    parameter: `where.${field}`,
    kind,
    field,
    description: '',
  })
  if (wanted === undefined) return undefined
  if (wanted === null) return { filter: filter('null'), values: [], variant: 'null' }
  if (typeof wanted !== 'object') {
    const value = valueOf(wanted)
    return value === undefined ? undefined : { filter: filter('equals'), values: [value], variant: '' }
  }
  const values = wanted.flatMap((one) => valueOf(one) ?? [])
  return values.length === 0 ? undefined : { filter: filter('in'), ...oneOf(values) }
}

function valueOf(wanted: string | number | boolean): KeyValue | undefined {
  if (typeof wanted === 'boolean') return wanted ? 1 : 0
  if (typeof wanted === 'number') return Number.isFinite(wanted) ? wanted : undefined
  return isStorableText(wanted) ? wanted : undefined
}
