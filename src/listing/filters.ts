import type { KeyValue } from '../paging/cursor-values.ts'
import { isStorableText } from '../storage/text.ts'
import { fieldTypes } from './field-types.ts'
import {
  fieldOf,
  type AppliedFilter,
  type Field,
  type Filter,
  type KindRules,
  type ListDeclaration,
} from './list.ts'
import { readSearch, searchCondition } from './search.ts'
import type { ValuePosition } from './value-position.ts'
import type { FilterKind } from './config.ts'

/** Values in one parameter at most; further ones are ignored. */
export const maxFilterValues = 50

export const filterKinds: Record<FilterKind, KindRules> = {
  equals: {
    read(text, field) {
      const position = readValue(text, field)
      // A text that is not a value of the field equals no value.
      if (!position || !('at' in position)) return 'none'
      const values = spellings(position.at, field)
      return values.length === 1 ? { values } : oneOf(values)
    },
    sql: (parts) => (parts.applied.values.length === 1 ? parts.compare('=', parts.value()) : isOneOf(parts)),
  },
  in: {
    read(text, field) {
      const positions = text.split(',', maxFilterValues).map((part) => readValue(part, field))
      const values = [
        ...new Set(
          positions.flatMap((position) =>
            position && 'at' in position ? spellings(position.at, field) : [],
          ),
        ),
      ]
      return values.length === 0 ? 'none' : oneOf(values)
    },
    sql: isOneOf,
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
    // A prefix is a range of texts only when they are compared by bytes, whatever the column's collation.
    sql({ column, value, engine, list, applied }) {
      // The type citext lowers both sides before it compares them, and a lowered end need not be after a lowered prefix.
      if (fieldOf(list, applied.filter.field).ignoresCase)
        return `starts_with(lower(${column}::text), lower(${value()}))`
      const bytes = engine === 'postgres' ? `${column} collate "C"` : `${column} collate binary`
      const least = `${bytes} >= ${value()}`
      return applied.values.length === 1 ? least : `${least} and ${bytes} < ${value()}`
    },
  },
  flag: {
    read: trueOrFalse({ values: [1] }, { values: [0] }),
    sql: ({ column, value }) => `${column} = ${value()}`,
  },
  null: {
    read: trueOrFalse({ values: [], variant: 'null' }, { values: [], variant: 'not null' }),
    sql: ({ column, applied }) => `${column} is ${applied.variant}`,
  },
  positiveWhenTrue: {
    read: (text) => (text === 'true' ? { values: [] } : 'all'),
    sql: ({ column }) => `${column} > 0`,
  },
  search: {
    read: (text) => readSearch(text),
    sql: ({ column, plain, engine, list, applied: { filter } }) =>
      searchCondition(column, plain, { ...filter, table: list.table }, engine),
  },
}

/** Reads a filter of `true` or `false`; any other text selects all rows. */
export function trueOrFalse<Position>(whenTrue: Position, whenFalse: Position) {
  return (text: string): Position | 'all' =>
    text === 'true' ? whenTrue : text === 'false' ? whenFalse : 'all'
}

export function rulesOf({ kind, rules }: Pick<Filter, 'kind' | 'rules'>): KindRules {
  return rules ?? filterKinds[kind]
}

const anyValue = { values: [], variant: 'any' }

/** @param passing the side of all values on which a bound lets every value pass. */
function range(operator: '>=' | '>' | '<=' | '<', passing: 'above' | 'below'): KindRules {
  return {
    read(text, field) {
      const position = readValue(text, field)
      if (position === undefined) return 'all'
      // All values pass a bound that is beyond them; null passes none.
      if ('beyond' in position) return position.beyond === passing ? anyValue : 'none'
      if ('at' in position) return { values: [position.at] }
      // Among integers, > 2.5 is > 2, and >= 2.5 is >= 3.
      const [lower, upper] = position.between
      return { values: [operator === '>' || operator === '<=' ? lower : upper] }
    },
    sql: ({ column, compare, value, applied }) =>
      applied.variant === anyValue.variant ? `${column} is not null` : compare(operator, value()),
  }
}

function readValue(text: string, field: Field): ValuePosition {
  if (field.values && !field.values.includes(text)) return undefined
  return fieldTypes[field.type].read(text, field)
}

/** A UUID as it is given and in lower case, as which most programs write it: on SQLite it is a text. */
function spellings(value: KeyValue, { type, ignoresCase }: Field): KeyValue[] {
  return type === 'uuid' && !ignoresCase ? [...new Set([value, String(value).toLowerCase()])] : [value]
}

function isOneOf({ column, value, compare, list, applied }: Parameters<KindRules['sql']>[0]): string {
  if (fieldOf(list, applied.filter.field).operators !== undefined)
    return `(${applied.values.map(() => compare('=', value())).join(' or ')})`
  return `${column} in (${applied.values.map(value).join(', ')})`
}

/** Repeats the last value up to the next power of two, so that few statements serve any number of values. */
export function oneOf(values: readonly KeyValue[]): { values: readonly KeyValue[]; variant: string } {
  let size = 1
  while (size < values.length) size *= 2
  const filled = Array.from({ length: size }, (_, index) => values[Math.min(index, values.length - 1)]!)
  return { values: filled, variant: String(size) }
}

/** The smallest text, by its bytes, after all texts with this prefix; `undefined` if no text is greater. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.length > 0) {
    const last = points.pop()!
    if (last === 0x10_ff_ff) continue
    // The code points after U+D7FF are surrogates, which no text holds.
    return String.fromCodePoint(...points, last === 0xd7_ff ? 0xe0_00 : last + 1)
  }
  return undefined
}

/** The filters of one query. */
export interface QueryFilters {
  applied: readonly AppliedFilter[]
  /** Whether a filter lets no row pass. */
  empty: boolean
  /** The effective filters in a form that is equal for equal queries. Cursors are bound to it. */
  fingerprint: readonly (readonly KeyValue[])[]
}

/** Reads the filters of a query string. Parameters that are absent or without effect are left out. */
export function readFilters(
  list: Pick<ListDeclaration, 'name' | 'fields' | 'filters'>,
  parameters: Readonly<Record<string, string>>,
): QueryFilters {
  const applied: AppliedFilter[] = []
  const fingerprint: KeyValue[][] = []
  let empty = false
  for (const filter of list.filters) {
    const text = parameters[filter.parameter]
    if (text === undefined) continue
    const effect = rulesOf(filter).read(text, fieldOf(list, filter.field))
    if (effect === 'all') continue
    if (effect === 'none') {
      empty = true
      fingerprint.push([filter.parameter, text])
      continue
    }
    const { values, variant = '' } = effect
    applied.push({ filter, values, variant })
    // JSON has no infinities.
    const written = values.map((value) => (Math.abs(value as number) === Infinity ? String(value) : value))
    fingerprint.push(
      variant === '' ? [filter.parameter, ...written] : [filter.parameter, variant, ...written],
    )
  }
  return { applied, empty, fingerprint }
}
