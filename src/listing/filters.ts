import type { KeyValue } from '../paging/cursor-values.ts'
import type { Engine } from '../storage/query-runner.ts'
import { isStorableText } from '../storage/text.ts'
import { fieldTypes, type Place } from './field-types.ts'
import { fieldOf, type Field, type Filter, type FilterKind, type ListDeclaration } from './list.ts'
import { readSearch, searchCondition } from './search.ts'

/** A filter that has an effect on this query. */
export interface AppliedFilter {
  filter: Filter
  /** The values to compare with; none where the filter itself says it all. */
  values: readonly KeyValue[]
  /** Tells apart the conditions of one filter: which of several it is, and for how many values. */
  variant: string
}

/** Which values pass is known without asking the database: all of them, or none. */
type Reading = { values: readonly KeyValue[]; variant?: string } | 'all' | 'none'

/** What a condition is written with. */
interface Writing {
  /** The quoted column. */
  column: string
  /** The place of the next value, as a value of the field's type. */
  value: () => string
  /** The place of the next value, as it is. */
  plain: () => string
  engine: Engine
  list: ListDeclaration
  applied: AppliedFilter
}

interface KindRules {
  /** What the text of the query string means. Nothing is an error: what cannot be understood has no effect. */
  read(text: string, field: Field): Reading
  sql(writing: Writing): string
}

/** Values that one parameter may list; the rest is not looked at. */
export const maxFilterValues = 50

export const filterKinds: Record<FilterKind, KindRules> = {
  equals: {
    read(text, field) {
      const place = readPlace(text, field)
      // What is no value of the field equals none.
      return place && 'at' in place ? { values: [place.at] } : 'none'
    },
    sql: ({ column, value }) => `${column} = ${value()}`,
  },
  in: {
    read(text, field) {
      const places = text.split(',', maxFilterValues).map((part) => readPlace(part, field))
      const values = [...new Set(places.flatMap((place) => (place && 'at' in place ? [place.at] : [])))]
      return values.length === 0 ? 'none' : oneOf(values)
    },
    sql: ({ column, value, applied }) => `${column} in (${applied.values.map(value).join(', ')})`,
  },
  atLeast: range('>=', 'below'),
  above: range('>', 'below'),
  atMost: range('<=', 'above'),
  below: range('<', 'above'),
  prefix: {
    read(text) {
      if (!isStorableText(text)) return 'none'
      if (text === '') return 'all'
      const end = endOfPrefix(text)
      return end === undefined ? { values: [text], variant: 'open' } : { values: [text, end] }
    },
    // Compared by bytes whatever the column's collation is, since only then a prefix is a range.
    sql({ column, value, engine, applied }) {
      const bytes = engine === 'postgres' ? `${column} collate "C"` : `${column} collate binary`
      const least = `${bytes} >= ${value()}`
      return applied.values.length === 1 ? least : `${least} and ${bytes} < ${value()}`
    },
  },
  flag: {
    read: (text) => (text === 'true' ? { values: [1] } : text === 'false' ? { values: [0] } : 'all'),
    sql: ({ column, value }) => `${column} = ${value()}`,
  },
  null: {
    read: (text) =>
      text === 'true'
        ? { values: [], variant: 'null' }
        : text === 'false'
          ? { values: [], variant: 'not null' }
          : 'all',
    sql: ({ column, applied }) => `${column} is ${applied.variant}`,
  },
  positiveWhenTrue: {
    read: (text) => (text === 'true' ? { values: [] } : 'all'),
    sql: ({ column }) => `${column} > 0`,
  },
  search: {
    read: (text) => readSearch(text),
    sql: ({ column, plain, engine, list, applied: { filter } }) =>
      searchCondition(column, plain(), filter, list, engine),
  },
}

/** @param open which values of the type a bound beyond all of them excludes nothing by. */
function range(operator: '>=' | '>' | '<=' | '<', open: 'above' | 'below'): KindRules {
  return {
    read(text, field) {
      const place = readPlace(text, field)
      if (place === undefined) return 'all'
      if ('beyond' in place) return place.beyond === open ? 'all' : 'none'
      if ('at' in place) return { values: [place.at] }
      // Above 2.5 is above 2, and at least 2.5 is at least 3.
      const [lower, upper] = place.between
      return { values: [operator === '>' || operator === '<=' ? lower : upper] }
    },
    sql: ({ column, value }) => `${column} ${operator} ${value()}`,
  }
}

function readPlace(text: string, field: Field): Place {
  if (field.values && !field.values.includes(text)) return undefined
  return fieldTypes[field.type].read(text, field.stored)
}

/** Few statements serve every number of values: the last one is repeated up to the next size. */
export function oneOf(values: readonly KeyValue[]): { values: readonly KeyValue[]; variant: string } {
  let size = 1
  while (size < values.length) size *= 2
  const filled = Array.from({ length: size }, (_, index) => values[Math.min(index, values.length - 1)]!)
  return { values: filled, variant: String(size) }
}

/** The least text, by its bytes, that no text with this prefix reaches; `undefined` when there is none. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.length > 0) {
    const last = points.pop()!
    if (last === 0x10_ff_ff) continue
    // Behind U+D7FF come the surrogates, which no text holds.
    return String.fromCodePoint(...points, last === 0xd7_ff ? 0xe0_00 : last + 1)
  }
  return undefined
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
  list: Pick<ListDeclaration, 'name' | 'fields' | 'filters'>,
  parameters: Readonly<Record<string, string>>,
): FilterReading {
  const applied: AppliedFilter[] = []
  const fingerprint: KeyValue[][] = []
  let empty = false
  for (const filter of list.filters) {
    const text = parameters[filter.parameter]
    if (text === undefined) continue
    const reading = filterKinds[filter.kind].read(text, fieldOf(list, filter.field))
    if (reading === 'all') continue
    if (reading === 'none') {
      empty = true
      fingerprint.push([filter.parameter, text])
      continue
    }
    const { values, variant = '' } = reading
    applied.push({ filter, values, variant })
    fingerprint.push(variant === '' ? [filter.parameter, ...values] : [filter.parameter, variant, ...values])
  }
  return { applied, empty, fingerprint }
}
