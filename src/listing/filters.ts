import type { KeyValue } from '../paging/cursor.ts'
import { readDecimal } from '../paging/decimal.ts'
import { isStorableText } from '../storage/text.ts'
import type { Field, Filter } from './list.ts'

/** A filter that has an effect on this query. */
export interface AppliedFilter {
  filter: Filter
  /** The value to compare with; none where the filter itself says it all. */
  values: readonly KeyValue[]
}

/** Which values pass is known without asking the database: all of them, or none. */
type Reading = readonly KeyValue[] | 'all' | 'none'

interface FilterKind {
  /** What the text of the query string means. Nothing is an error: what cannot be understood has no effect. */
  read(text: string, field: Field): Reading
  /** The condition on a quoted column; `value` is the place of the value. */
  sql(column: string, value: () => string): string
}

export const filterKinds: Record<Filter['kind'], FilterKind> = {
  equals: {
    read(text, field) {
      if (field.type === 'text') return isStorableText(text) ? [text] : 'none'
      const number = readDecimal(text)
      return number !== undefined && Number.isFinite(number) ? [number] : 'all'
    },
    sql: (column, value) => `${column} = ${value()}`,
  },
  atLeast: {
    read(text) {
      const number = readDecimal(text)
      if (number === undefined) return 'all'
      // Too large for a double: above, or below, every number there is.
      if (!Number.isFinite(number)) return number > 0 ? 'none' : 'all'
      return [number]
    },
    sql: (column, value) => `${column} >= ${value()}`,
  },
  positiveWhenTrue: {
    read: (text) => (text === 'true' ? [] : 'all'),
    sql: (column) => `${column} > 0`,
  },
}

export interface FilterReading {
  applied: readonly AppliedFilter[]
  /** True when a filter lets nothing pass. */
  empty: boolean
  /** The filters that have an effect, written so that equal ones are equal: what a cursor is bound to. */
  fingerprint: readonly (readonly KeyValue[])[]
}

/** Reads the filters of a query string. Those that are absent, or have no effect, do not count. */
export function readFilters(
  filters: readonly Filter[],
  fields: Readonly<Record<string, Field>>,
  parameters: Readonly<Record<string, string>>,
): FilterReading {
  const applied: AppliedFilter[] = []
  const fingerprint: KeyValue[][] = []
  let empty = false
  for (const filter of filters) {
    const text = parameters[filter.parameter]
    if (text === undefined) continue
    const reading = filterKinds[filter.kind].read(text, fields[filter.field]!)
    if (reading === 'all') continue
    if (reading === 'none') empty = true
    else applied.push({ filter, values: reading })
    fingerprint.push([filter.parameter, ...(reading === 'none' ? [text] : reading)])
  }
  return { applied, empty, fingerprint }
}
