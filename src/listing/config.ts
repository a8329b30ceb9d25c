import type { FieldType } from './field-types.ts'
import type { FilterKind, ListAccess, PageStyle, RowAccess } from './list.ts'

export type { Caller, ListAccess, RowAccess } from './list.ts'

/** The lists of the configuration module. */
export interface ListingConfig {
  lists?: readonly List[]
}

/** A field of a table or view. Its name is what clients see. */
export interface FieldOptions {
  type: FieldType
  /** The column, where it is not called like the field. */
  column?: string
  /** Whether the column may be null. It is checked against the table; of a view it has to be said. */
  nullable?: boolean
  /** For filters, `where` and `expand` alone: never shown, and nothing is sorted by it. */
  hidden?: boolean
  /** Of an `enum`: every value there is. */
  values?: readonly string[]
  description?: string
}

export interface FilterOptions<Name extends string = string> {
  kind: FilterKind
  /** The field that it looks at, where it is not called like the parameter. */
  field?: Name
  description?: string
  /** Of `search` on PostgreSQL: the text search configuration, such as `english`. Default `simple`. */
  configuration?: string
  /** Of `search` on SQLite: the FTS5 table whose rowid is the table's. Default: the table's name and `_search`. */
  index?: string
}

/** A row of another table that an item names, or the rows that name it: shown within the item when the parameter `expand` asks for it. */
export interface ExpandOptions<Name extends string = string> {
  table: string
  /** The field of this list that names the other row. */
  from: Name
  /** The other table's column that equals it. Default `id`. It is unique, unless there may be `many`. */
  key?: string
  fields: Readonly<Record<string, FieldOptions>>
  /**
   * Shows all rows whose `key` equals the field, as `{data, hasMore}`: the first `limit` (default 20, 100 at most) of each item
   * in the order of these `fields`, descending with `-` in front, the last of which tells ties apart.
   */
  many?: { order: readonly string[]; limit?: number }
  description?: string
}

/** All there is to say about a list. `Name` is a field's name. */
export interface ListOptions<Name extends string = string> {
  /** Where it is read: `/orders`. */
  path: string
  /** A table or view; on PostgreSQL perhaps with its schema in front: `shop.orders`. */
  table: string
  /** Unique; cursors are bound to it. Default: the path. */
  name?: string
  summary?: string
  fields: Readonly<Record<Name, FieldOptions>>
  /** The unique field that breaks ties. */
  key: NoInfer<Name>
  /** By the name of the parameter; a kind alone looks at the field of the same name. */
  filters?: Readonly<Record<string, FilterKind | FilterOptions<NoInfer<Name>>>>
  /** Fields that clients may sort by. */
  sort?: readonly NoInfer<Name>[]
  /** The order when none is asked for; descending with `-` in front. Default: the key. */
  order?: readonly (NoInfer<Name> | `-${NoInfer<Name>}`)[]
  /** How it is cut into pages; the first one holds when a request shows no other. Default `['cursor']`. */
  pages?: readonly PageStyle[]
  /** Items of a page. Default 20, and 100 at most. */
  limit?: { default?: number; max?: number }
  /** What pages by number tell of the total. Default `exact`. */
  count?: 'exact' | 'estimate' | 'none'
  /**
   * Keeps the total and the places of the standing order by triggers on the table, so that no page by number counts or skips
   * all rows. `postern lists keep PATH` makes them. No key of the order may be null, and all go one way.
   */
  keep?: boolean
  expand?: Readonly<Record<string, ExpandOptions<NoInfer<Name>>>>
  /** Whether all of it can be had as a stream, at the path with `.csv` and `.ndjson` behind it. Default false. */
  exports?: boolean
  /** Who may read it: everybody, signed-in users, or admins and API keys with the scope `lists:read`. Default `admin`. */
  access?: ListAccess
  /**
   * Which rows a caller sees: fields and what they have to equal, a list of values, or null; `false` for none.
   * It is called for every request, and for one made-up caller at the start. Nobody is known to a public list.
   */
  where?: RowAccess
}

/** A list of the configuration module; made by `list`. */
export type List = ListOptions

/** Declares a list. It is there for the types: what they cannot say is checked when the service starts. */
export function list<const Name extends string>(options: ListOptions<Name>): List {
  return options
}
