import type { Principal } from '../http/principal.ts'
import type { Scope } from '../http/scopes.ts'
import type { FieldType } from './field-types.ts'
import type { TimeForm } from './stored-times.ts'

export interface Field {
  column: string
  type: FieldType
  nullable?: boolean
  /** Read by filters, by the conditions on rows and by expansions, and never shown. */
  hidden?: boolean
  /** Of an `enum`: all there are. */
  values?: readonly string[]
  /** Of a `timestamp` on SQLite: how its rows write times, where all do it alike. */
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
  /** The name in the query string. */
  parameter: string
  /** See filters.ts. */
  kind: FilterKind
  /** The name of the field that it looks at. */
  field: string
  /** Of `search`, see search.ts: PostgreSQL's text search configuration; the FTS5 table of SQLite. */
  configuration?: string
  index?: string
  description: string
}

/** The callers that may read a list: all, signed-in users, or admins and API keys with its scope. */
export type ListAccess = 'public' | 'user' | 'admin'
export const listAccesses: readonly ListAccess[] = ['public', 'user', 'admin']

/** How a list is cut into pages. */
export type PageStyle = 'cursor' | 'offset' | 'keyset'

/** What a condition on rows compares a field with: one of several values, exactly one, or null. */
export type ConditionValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[]

/** Which rows a caller may see: every field as given, and nothing at all for `false`. */
export type RowAccess = (caller: Caller | undefined) => Readonly<Record<string, ConditionValue>> | false

/** Who reads a list, as far as it is known: nobody is known to a list that is public. */
export type Caller = Pick<Principal, 'kind' | 'role' | 'userId'>

/** A row of another table, or several, shown within the item. */
export interface Expansion {
  /** The name in the item and in the parameter `expand`. */
  name: string
  table: string
  /** The field of this list that names the other row. */
  from: string
  /** The other table's column that equals it: unique, unless there may be `many`. */
  key: string
  fields: Readonly<Record<string, Field>>
  many?: Many
  /** Whether a key may equal what it is looked up by and be written otherwise: `2.0` and `2.00`, `ada` and `Ada`. */
  loose?: boolean
  description: string
}

/** The rows of another table that name one item. */
export interface Many {
  /** Fields of the expansion, descending with `-` in front. */
  order: readonly string[]
  /** Rows of one item, at most. */
  limit: number
}

/** All there is to know about one list. */
export interface ListDeclaration {
  /** Unique; cursors are bound to it. */
  name: string
  path: string
  /** A table or a view, perhaps with a schema in front. */
  table: string
  summary: string
  /** The item's fields under the names that clients see. Only these leave the database. */
  fields: Readonly<Record<string, Field>>
  /** The unique field that breaks ties; never null. */
  key: string
  filters: readonly Filter[]
  /** Fields that clients may sort by; none: the order is fixed, and there is no parameter `sort`. */
  sort: readonly string[]
  /** The order when none is asked for: field names, descending with `-` in front. */
  order: readonly string[]
  /** The first one holds when a request shows no other. */
  pages: readonly PageStyle[]
  limit: { default: number; max: number }
  /** What a page by number tells of the total; `none` reads one row more instead. */
  count: 'exact' | 'estimate' | 'none'
  /** Whether triggers maintain the total and the row positions of the default order (counts/). */
  maintainCounts: boolean
  /** Whether clients may ask for another count, for some of the fields, and for the page before a cursor. */
  choices: boolean
  expand: readonly Expansion[]
  /** Whether all of it can be had as one stream. */
  exports: boolean
  /** Who may read it. */
  access: ListAccess
  /** Of a list with the access `admin`: the scope that an API key needs; default `lists:read`. */
  scope?: Scope
  /** In demo mode everybody may. */
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

/** A field by its name. Throws for one that the list does not declare, which is a mistake in the declaration. */
export function fieldOf(list: Pick<ListDeclaration, 'name' | 'fields'>, name: string): Field {
  const field = Object.hasOwn(list.fields, name) ? list.fields[name] : undefined
  if (!field) throw new Error(`the list ${list.name} has no field ${name}`)
  return field
}

/** The fields that an item can show; the same array every time. */
export function shownFields(fields: Readonly<Record<string, Field>>): readonly string[] {
  let names = shown.get(fields)
  if (!names) {
    names = Object.keys(fields).filter((name) => !fields[name]!.hidden)
    shown.set(fields, names)
  }
  return names
}

const shown = new WeakMap<object, readonly string[]>()
