import type { FieldType } from './field-types.ts'
import type { operators } from './list.ts'
import type { Principal } from '../http/access/principal.ts'

export type FilterKind = keyof typeof operators

/** Who may read a list: everyone, signed-in users, or admins. API keys with the list's scope may read all. */
type ListAccess = 'public' | 'user' | 'admin'

/** Where nulls come in an order. */
export type NullsPlace = 'first' | 'last'

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
export type RowAccess = (caller: Caller) => Readonly<Record<string, ConditionValue>> | false

/** The caller. */
export interface Caller extends Partial<Pick<Principal, 'kind' | 'userId'>>, Pick<Principal, 'role'> {
  /** `undefined` for API keys, and for tokens of an app without a user. */
  user: { readonly id: string } | undefined
  /** The claims of an access token, those of `login.claims` included; empty for sessions and API keys. A missing one matches no row. */
  claims: Readonly<Record<string, ConditionValue>>
}

/** The lists of the configuration module. */
export interface ListingConfig {
  lists?: readonly List[]
}

/** A field of a list. */
export interface FieldOptions {
  type: FieldType
  /** The column. Default: the field's name. */
  column?: string
  /** Whether the column may be null. Default: as in the table; the columns of a view may be null. */
  nullable?: boolean
  /** For filters, `where` and `expand` only: the field is never shown and cannot be sorted by. */
  hidden?: boolean
  /** All values of an `enum`. */
  values?: readonly string[]
  /**
   * For text: the collation for sorts and range filters. On PostgreSQL any, such as `de-x-icu`; on SQLite `nocase`, `binary` or `rtrim`.
   * Default: the column's. Equality always uses the column's collation. Key fields cannot have one.
   */
  collation?: string
  description?: string
}

export interface FilterOptions<Name extends string = string> {
  kind: FilterKind
  /** The field to filter by. Default: the name of the parameter. */
  field?: Name
  description?: string
  /**
   * For a `json` field with `equals`, `in`, `not`, `notIn` or `null`: the member to compare, as text, such as `address.city`.
   */
  member?: string
  /** For `search` on PostgreSQL: the text search configuration, such as `english`. Default `simple`. */
  configuration?: string
  /**
   * For `search` on SQLite: the FTS5 table. It has the rowids of the list's table, and a column with the name of the field's column.
   * Default: the table's name and `_search`. For `contains` and `icontains` on SQLite: such a table with the tokenizer `trigram`;
   * without it, they read all rows.
   */
  index?: string
}

/** One or more rows of another table, shown within the item when the parameter `expand` names them. */
export interface ExpandOptions<Name extends string = string> {
  table: string
  /** The fields of this list whose values are looked up. If one of them is null, no row is found. */
  from: Name | readonly Name[]
  /** The columns of the other table to look them up in, in the same order. Default `id`. They must be unique, except with `many`. */
  key?: string | readonly string[]
  fields: Readonly<Record<string, FieldOptions>>
  /**
   * Shows several rows, as `{data, hasMore}`: the first `limit` (default 20, at most 100) whose `key` equals the field. `order`
   * consists of `fields`, descending with a leading `-`; the last one must break ties.
   */
  many?: { order: readonly string[]; limit?: number }
  description?: string
}

/** What a summary may have, as names of fields that are not hidden. Rows can always be counted. */
export interface SummaryOptions<Name extends string = string> {
  /** Texts, whole numbers and booleans; times and dates by day, month and year (UTC). */
  by?: readonly Name[]
  sum?: readonly Name[]
  avg?: readonly Name[]
  /** Numbers, times and dates. */
  min?: readonly Name[]
  max?: readonly Name[]
}

/** A field of the list, or of an expansion: `customer.name`. */
type SortName<Name extends string> = Name | `${string}.${string}`

/** A declared list. `Name` is the name of a field. */
export interface ListOptions<Name extends string = string> {
  /** The path of the call, such as `/orders`. */
  path: string
  /** A table or view; on PostgreSQL with its schema if it needs one: `shop.orders`. */
  table: string
  /** Unique, and none of `users`, `products` and `posts`; cursors are bound to it. Default: the path. */
  name?: string
  summary?: string
  fields: Readonly<Record<Name, FieldOptions>>
  /** The unique field that breaks ties, or up to 8 fields that are unique together: `['tenant', 'id']`. */
  key: NoInfer<Name> | readonly NoInfer<Name>[]
  /** Filters by the name of their parameter. A kind alone filters by the field of the same name. */
  filters?: Readonly<Record<string, FilterKind | FilterOptions<NoInfer<Name>>>>
  /**
   * Groups of filters. If a request has several filters of one group, a row must pass one of them. It must pass all other filters.
   * Only error messages show a group's name.
   */
  or?: Readonly<Record<string, readonly string[]>>
  /**
   * Fields that clients may sort by, including those of an expansion without `many`: `customer.name`. The latter need a foreign key whose
   * columns are not null, and an index on each table (docs/guides/lists.md). With `nulls`, nulls come first or last in both directions, also in the default order. Without it,
   * they are above all values on PostgreSQL, and below them on SQLite.
   */
  sort?: readonly (
    | SortName<NoInfer<Name>>
    | { readonly field: SortName<NoInfer<Name>>; readonly nulls: NullsPlace }
  )[]
  /** The default order, descending with a leading `-`. Default: the key. */
  order?: readonly (SortName<NoInfer<Name>> | `-${SortName<NoInfer<Name>>}`)[]
  /** The page styles. The parameters of a request select one; by default it is the first. Default `['cursor']`. */
  pages?: readonly PageStyle[]
  /** Items of a page. Default 20, at most 100. */
  limit?: { default?: number; max?: number }
  /** How offset pages count all rows. Default `exact`. */
  count?: 'exact' | 'estimate' | 'none'
  /**
   * Maintains the total and the row positions of the default order by triggers on the table, so that no offset page counts or
   * skips all rows. `postern lists keep PATH` creates them. All keys of the order need one direction, and none may be null.
   */
  keep?: boolean
  expand?: Readonly<Record<string, ExpandOptions<NoInfer<Name>>>>
  /** What `GET path/summary` groups by and computes. Without it, there is no such route. */
  summaries?: SummaryOptions<NoInfer<Name>>
  /** Whether `GET path/{key}` returns one row, with `fields` and `expand`. Default false. */
  one?: boolean
  /** Whether all rows can be exported as a stream, at the path with `.csv` or `.ndjson` appended. Default false. */
  exports?: boolean
  /**
   * Whether unknown parameters and invalid values are errors. With `false`, most of them have no effect: a misspelled filter selects
   * all rows. A `limit` above the maximum is never an error. Default true.
   */
  strict?: boolean
  /** Who may read it: everyone, signed-in users, or admins. API keys with the scope `lists:read` may read all. Default `admin`. */
  access?: ListAccess
  /**
   * Returns the rows that a caller may see: for each field a value, a list of values, or null; `false` for no rows. It is called
   * for each request, and once with a sample caller at the start. In a public list the caller has no `kind`, `user` and claims.
   */
  where?: RowAccess
  /**
   * For PostgreSQL's row-level security: returns settings for a caller, such as `{'app.user_id': user?.id}`, or `false` for no rows.
   * Each statement of the list runs in a read-only transaction with these settings, which the table's policies read with
   * `current_setting`. Names contain a dot. An undefined or null value selects no rows; an array becomes JSON.
   */
  settings?: RowAccess
}

/** A list of the configuration module, as `list` returns it. */
export type List = ListOptions

/** Declares a list. TypeScript checks its types; the service checks the rest at the start. */
export function list<const Name extends string>(options: ListOptions<Name>): List {
  return options
}
