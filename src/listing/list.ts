import type { KeyValue } from '../paging/cursor.ts'
import type { Engine } from '../storage/query-runner.ts'
import { oncePer } from '../runtime/bounded-cache.ts'
import { quote } from '../storage/sql-text.ts'
import type { Scope } from '../http/access/principal.ts'
import type { TimeForm } from './stored-times.ts'
import type {
  ExpandOptions,
  FieldOptions,
  FilterOptions,
  ListOptions,
  NullsPlace,
  RowAccess,
  SummaryOptions,
} from './config.ts'

/** A field of a list, complete. */
export interface Field extends FieldOptions {
  column: string
  description: string
  /** For a `timestamp`: the form of its rows' times on SQLite, if all rows have the same, and of a column without a time zone. */
  stored?: TimeForm
  /** Whether comparisons ignore case: of PostgreSQL's types `citext` and `uuid`, and SQLite's collation `nocase`. */
  ignoresCase?: boolean
  /**
   * On PostgreSQL: what follows the column where a part of its text is compared, if its type is not `text`, or if its collation is
   * nondeterministic, which `like` does not support.
   */
  asText?: string
  /** On PostgreSQL: the quoted collation by which the column, with `asText`, is lowered, if it is not the database's default. */
  lowering?: string | undefined
  /** The quoted schema of the comparison operators of the column's type, if it is not on PostgreSQL's search path. */
  operators?: string | undefined
  /** On PostgreSQL: the type of a column of arrays, such as `text[]`, or `jsonb`. */
  array?: string | undefined
  /** Whether the column may have values of any type: it is a column of a user's table on SQLite. */
  mixed?: boolean
  /** Whether the rows of a boolean column have texts, such as `true`. */
  words?: boolean
}

/** A filter, complete. filters.ts defines the kinds. */
export interface Filter extends FilterOptions {
  /** The parameter of the query string. */
  parameter: string
  field: string
  description: string
  /** A row must pass one of a group's filters. They are adjacent in the list. */
  group?: string
  /** For lists of the service: replaces those of the kind, which then only describes the parameter. */
  rules?: KindRules
}

/** Effects that only lists have that are not strict. */
const [invalid, other] = [' [An invalid value has no effect.]', ' [Any other value has no effect.]']

/**
 * The kinds of filters: what each accepts (one value of the field or several, an element of its array, any text, or `true` and `false`),
 * and its effect on a field {}. Their rules are in filters.ts.
 */
export const operators = {
  equals: { takes: 'value', effect: 'Keeps items whose {} equals the value.' },
  in: { takes: 'values', effect: 'Keeps items whose {} is one of the values.' },
  not: { takes: 'value', effect: 'Keeps items whose {} is another value, or none.' },
  notIn: { takes: 'values', effect: 'Keeps items whose {} is not one of the values.' },
  atLeast: { takes: 'value', effect: `Keeps items whose {} is this or above.${invalid}` },
  atMost: { takes: 'value', effect: `Keeps items whose {} is this or below.${invalid}` },
  above: { takes: 'value', effect: `Keeps items whose {} is above this.${invalid}` },
  below: { takes: 'value', effect: `Keeps items whose {} is below this.${invalid}` },
  has: { takes: 'element', effect: 'Keeps items whose {} has this element.' },
  prefix: { takes: 'text', effect: 'Keeps items whose {} begins with the value.' },
  iprefix: { takes: 'text', effect: 'Keeps items whose {} begins with the value, in upper or lower case.' },
  contains: { takes: 'text', effect: 'Keeps items whose {} contains the value.' },
  icontains: { takes: 'text', effect: 'Keeps items whose {} contains the value, in upper or lower case.' },
  search: { takes: 'text', effect: 'Keeps items whose {} contains all of these words.' },
  flag: { takes: 'boolean', effect: `\`true\` or \`false\`: keeps items whose {} has this value.${other}` },
  null: { takes: 'boolean', effect: `\`true\` keeps items without {}, \`false\` items with it.${other}` },
  positiveWhenTrue: { takes: 'boolean', effect: `\`true\` keeps items whose {} is above 0.${other}` },
} as const

/** A filter with its values in one query. */
export interface AppliedFilter {
  filter: Filter
  /** The values of its placeholders, in order; empty for a condition without placeholders. */
  values: readonly KeyValue[]
  /** Names the condition where the filter has several forms, such as a number of values. */
  variant: string
}

/** The effect of a parameter: a condition with these values, or `all` or `none` when all rows or no row can pass. */
export type FilterEffect = { values: readonly KeyValue[]; variant?: string } | 'all' | 'none'

/** The result for a text that a filter cannot read. */
export interface Unreadable {
  /** Its effect in a list that is not strict. */
  unreadable: FilterEffect
  /** The unreadable one of several values. Default: the whole text. */
  value?: string
}

/** What a filter does: how its text is read, and its condition. */
export interface KindRules {
  /** Reads the text of the query string. */
  read(text: string, field: Field, parameter: string): FilterEffect | Unreadable
  sql(parts: ConditionParts): string
}

/** What a condition is made of. */
export interface ConditionParts {
  /** The quoted column. */
  column: string
  /** Returns the placeholder of the next value, converted to the field's type. */
  value: () => string
  /** Compares the column with a value. */
  compare: (operator: string, value: string) => string
  /** Returns the bare placeholder of the next value. */
  plain: () => string
  engine: Engine
  table: string
  /** The field that is compared. */
  field: Field
  applied: AppliedFilter
}

/** An expansion, complete. */
export interface Expansion extends Omit<ExpandOptions, 'many'> {
  /** The name in the item and in the parameter `expand`. */
  name: string
  from: readonly string[]
  /** Has as many columns as `from` has fields. */
  key: readonly string[]
  fields: Readonly<Record<string, Field>>
  many?: Required<ExpandOptions>['many'] & { limit: number }
  /** Whether a column of the key compares different texts as equal: `2.0` and `2.00`, `ada` and `Ada`. */
  loose?: boolean
  /** As in Field, of each column of the key. */
  operators?: readonly (string | undefined)[]
  description: string
}

/** The complete declaration of a list: the options with all defaults, and settings that only the lists of the service have. */
export interface ListDeclaration extends Required<
  Omit<
    ListOptions,
    'key' | 'filters' | 'or' | 'sort' | 'expand' | 'keep' | 'where' | 'settings' | 'summaries'
  >
> {
  fields: Readonly<Record<string, Field>>
  key: readonly string[]
  filters: readonly Filter[]
  expand: readonly Expansion[]
  sort: readonly string[]
  /** By field: where its nulls come. */
  nulls: Readonly<Record<string, NullsPlace>>
  limit: { default: number; max: number }
  /** Whether triggers maintain the total and the row positions of the default order (counts/). */
  maintainCounts: boolean
  /** Whether clients may request another count, a selection of fields, and the page before a cursor. */
  choices: boolean
  /** The scope that an API key needs if `access` is `admin`. Default `lists:read`. */
  scope?: Scope
  /** Whether everyone may read it in demo mode. */
  openInDemo: boolean
  /**
   * The rows that a filtered offset page counts at most. Beyond them the total is the number that is known to exist, and
   * `estimated` is true. Absent: all rows are counted.
   */
  countAtMost?: number
  where?: RowAccess
  settings?: RowAccess
  /** Without it, there is no summary. */
  summaries?: Required<SummaryOptions>
}

export type CountMode = ListDeclaration['count']

const byCost: readonly CountMode[] = ['none', 'estimate', 'exact']

/** The values of the parameter `count` that a list allows: its own, and those that cost less. */
export function countModesOf({ count }: Pick<ListDeclaration, 'count'>): readonly CountMode[] {
  return byCost.slice(0, byCost.indexOf(count) + 1)
}

export interface SortKey {
  name: string
  field: Field
  descending: boolean
  /** Where its nulls come. Default: as on the engine. */
  nulls?: NullsPlace
  /** The expansion whose table has the column. */
  of?: Expansion
}

/** Whether nulls come after all values. */
export function nullsComeAfter({ nulls, descending }: SortKey, engine: Engine): boolean {
  return nulls === undefined ? (engine === 'postgres') !== descending : nulls === 'last'
}

/** Whether nulls are at the other end than in an index without `nulls first` or `nulls last`. */
export function isOpposed(key: SortKey, engine: Engine): boolean {
  const { nulls: _, ...natural } = key
  return key.field.nullable === true && nullsComeAfter(key, engine) !== nullsComeAfter(natural, engine)
}

/** Reads a key of an order: a field, descending with a leading `-`. @throws Error when there is no such field. */
export function sortKeyOf(list: FieldsOf & { nulls?: ListDeclaration['nulls'] }, text: string): SortKey {
  const descending = text.startsWith('-')
  const name = descending ? text.slice(1) : text
  const nulls = list.nulls && Object.hasOwn(list.nulls, name) ? list.nulls[name] : undefined
  const of = expansionOf(list, name)
  return { name, field: fieldOf(list, name), descending, ...(nulls && { nulls }), ...(of && { of }) }
}

type FieldsOf = Pick<ListDeclaration, 'name' | 'fields'> & { expand?: ListDeclaration['expand'] }

/** The expansion in a name such as `customer.name`. Names of fields contain no dot. */
function expansionOf({ expand = [] }: FieldsOf, name: string): Expansion | undefined {
  const end = name.indexOf('.')
  return end < 0 ? undefined : expand.find((expansion) => expansion.name === name.slice(0, end))
}

/**
 * Returns a field of the list, such as `total`, or of an expansion, such as `customer.name`.
 * @throws Error when the list does not declare it
 */
export function fieldOf(list: FieldsOf, name: string): Field {
  const of = expansionOf(list, name)
  const own = of ? name.slice(of.name.length + 1) : name
  const fields = of ? of.fields : list.fields
  const field = Object.hasOwn(fields, own) ? fields[own] : undefined
  if (!field) throw new Error(`the list ${list.name} has no field ${name}`)
  return field
}

/**
 * Compares a column with a value. Without a schema, PostgreSQL compares a `citext` whose extension is off the search path as `text`,
 * while it sorts it as `citext`.
 */
export function comparison(
  { column, operators }: Pick<Field, 'column' | 'operators'>,
  operator: string,
  value: string,
  left = quote(column),
): string {
  const qualified = operators === undefined ? operator : `operator(${operators}.${operator})`
  return `${left} ${qualified} ${value}`
}

/** The column in its collation's order. Only an index with the same collation has this order. */
export function orderedColumn({ column, collation }: Field): string {
  return collated(quote(column), collation)
}

/** @param expression of a column */
export function collated(expression: string, collation: string | undefined): string {
  return collation === undefined ? expression : `${expression} collate ${quote(collation)}`
}

/** The values of a key of several fields as one text, joined by commas, with `\,` for a comma and `\\` for a backslash. */
export function joinKey(values: readonly string[]): string {
  return values.map((value) => value.replaceAll(/[\\,]/g, String.raw`\$&`)).join(',')
}

/** The parts of such a text. A backslash before any other character is literal. */
export function splitKey(text: string): string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/\\[\\,]|,|\\|[^\\,]+/g)) {
    if (piece === ',') parts.push('')
    else parts[parts.length - 1] += piece.length === 2 && piece.startsWith('\\') ? piece[1]! : piece
  }
  return parts
}

/** The key of a list for descriptions, such as `id`, or `tenant,id` with how to write it. */
export function keyText({ key }: Pick<ListDeclaration, 'key'>): string {
  return key.length === 1
    ? key[0]!
    : `${key.join(',')} (its values joined by commas; write a comma within a value as \`\\,\` and a backslash as \`\\\\\`)`
}

/** The fields that are not hidden. Returns the same array each time. */
export const shownFields: (fields: Readonly<Record<string, Field>>) => readonly string[] = oncePer((fields) =>
  Object.keys(fields).filter((name) => !fields[name]!.hidden),
)
