import type { Principal } from '../http/principal.ts'
import type { Scope } from '../http/scopes.ts'
import type { FieldType } from './field-types.ts'
import type { TimeForm } from './stored-times.ts'

export interface Field {
  column: string
  type: FieldType
  nullable?: boolean
  /** For filters, `where` and expansions only; never shown. */
  hidden?: boolean
  /** All values of an `enum`. */
  values?: readonly string[]
  /** For a `timestamp` on SQLite: the form of its rows' times, if all rows have the same. */
  stored?: TimeForm
  description: string
}

export type FilterKind =
  | 'equals'
  | 'in'
  | 'atLeast'
  | 'atMost'
  | 'above'
  | 'below'
  | 'prefix'
  | 'flag'
  | 'null'
  | 'positiveWhenTrue'
  | 'search'

export interface Filter {
  /** The parameter of the query string. */
  parameter: string
  /** The kinds are defined in filters.ts. */
  kind: FilterKind
  /** The field that it filters by. */
  field: string
  /** For `search` (search.ts): the text search configuration of PostgreSQL, the FTS5 table of SQLite. */
  configuration?: string
  index?: string
  description: string
}

/** Who may read a list: everyone, signed-in users, or admins and API keys with the list's scope. */
export type ListAccess = 'public' | 'user' | 'admin'
export const listAccesses: readonly ListAccess[] = ['public', 'user', 'admin']

/** How a list is paged. */
export type PageStyle = 'cursor' | 'offset' | 'keyset'

/** What `where` compares a field with: one value, a list of values, or null. `undefined` matches no row. */
export type ConditionValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[]

/** Returns the rows that a caller may see: those whose fields match all conditions, or none for `false`. */
export type RowAccess = (caller: Caller | undefined) => Readonly<Record<string, ConditionValue>> | false

/** The authenticated caller. Lists with the access `public` have none. */
export type Caller = Pick<Principal, 'kind' | 'role' | 'userId'>

/** One or more rows of another table, shown within the item. */
export interface Expansion {
  /** The name in the item and in the parameter `expand`. */
  name: string
  table: string
  /** The field of this list whose value is looked up. */
  from: string
  /** The column of the other table to look it up in. It is unique, except with `many`. */
  key: string
  fields: Readonly<Record<string, Field>>
  many?: Many
  /** Whether the column takes different texts for equal: `2.0` and `2.00`, `ada` and `Ada`. */
  loose?: boolean
  description: string
}

/** An expansion to several rows. */
export interface Many {
  /** Fields of the expansion, descending with a leading `-`. */
  order: readonly string[]
  /** Rows in one item at most. */
  limit: number
}

/** The complete declaration of a list. */
export interface ListDeclaration {
  /** Unique; cursors are bound to it. */
  name: string
  path: string
  /** A table or a view, with its schema if it has one. */
  table: string
  summary: string
  /** The fields by their names in items. No other column is read. */
  fields: Readonly<Record<string, Field>>
  /** The unique field that breaks ties; never null. */
  key: string
  filters: readonly Filter[]
  /** Fields that clients may sort by. If it is empty, the order is fixed and there is no parameter `sort`. */
  sort: readonly string[]
  /** The default order: field names, descending with a leading `-`. */
  order: readonly string[]
  /** The parameters of a request select the style; by default it is the first one. */
  pages: readonly PageStyle[]
  limit: { default: number; max: number }
  /** How offset pages count all rows. With `none`, they read one row more to find out whether a page follows. */
  count: 'exact' | 'estimate' | 'none'
  /** Whether triggers maintain the total and the row positions of the default order (counts/). */
  maintainCounts: boolean
  /** Whether clients may request another count, a selection of fields, and the page before a cursor. */
  choices: boolean
  expand: readonly Expansion[]
  /** Whether all rows can be exported as a stream. */
  exports: boolean
  access: ListAccess
  /** The scope that an API key needs if `access` is `admin`. Default `lists:read`. */
  scope?: Scope
  /** Whether everyone may read it in demo mode. */
  openInDemo: boolean
  where?: RowAccess
}

export interface SortKey {
  name: string
  field: Field
  descending: boolean
}

/** The order of an expansion's rows. */
export function orderOfMany({ name, fields }: Expansion, { order }: Many): SortKey[] {
  return order.map((text) => {
    const descending = text.startsWith('-')
    const key = descending ? text.slice(1) : text
    return { name: key, field: fieldOf({ name, fields }, key), descending }
  })
}

/** Returns a field by its name. @throws Error when the list does not declare it. */
export function fieldOf(list: Pick<ListDeclaration, 'name' | 'fields'>, name: string): Field {
  const field = Object.hasOwn(list.fields, name) ? list.fields[name] : undefined
  if (!field) throw new Error(`the list ${list.name} has no field ${name}`)
  return field
}

/** The fields that are not hidden. Returns the same array each time. */
export function shownFields(fields: Readonly<Record<string, Field>>): readonly string[] {
  let names = shownNames.get(fields)
  if (!names) {
    names = Object.keys(fields).filter((name) => !fields[name]!.hidden)
    shownNames.set(fields, names)
  }
  return names
}

const shownNames = new WeakMap<object, readonly string[]>()
