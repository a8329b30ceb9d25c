import type { Access } from '../http/principal.ts'

/** `time` is canonical text (paging/time.ts), `milliseconds` an integer since 1970; both are shown as ISO 8601. */
export type FieldType = 'text' | 'number' | 'integer' | 'time' | 'milliseconds'

export interface Field {
  column: string
  type: FieldType
  nullable?: boolean
  description: string
}

export interface Filter {
  /** The name in the query string. */
  parameter: string
  /** See filters.ts. */
  kind: 'equals' | 'atLeast' | 'positiveWhenTrue'
  /** The name of the field that it looks at. */
  field: string
  description: string
}

/** All there is to know about one list. */
export interface ListDeclaration {
  /** Unique; cursors are bound to it. */
  name: string
  path: string
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
  paging: 'cursor' | 'offset'
  limit: { default: number; max: number }
  /** Who may read it. In demo mode everybody may. */
  access: Access
}

export interface SortKey {
  name: string
  field: Field
  /** Where its value stands in a row. */
  position: number
  descending: boolean
}

/** A field by its name. Throws for one that the list does not declare, which is a mistake in the declaration. */
export function fieldOf(list: ListDeclaration, name: string): Field {
  const field = list.fields[name]
  if (!field) throw new Error(`the list ${list.name} has no field ${name}`)
  return field
}

/** Checks at start-up what types cannot say, and returns the declaration as it is. */
export function defineList(list: ListDeclaration): ListDeclaration {
  for (const name of [...list.sort, ...list.order.map((key) => key.replace(/^-/, '')), list.key]) {
    // A comparison with null is neither true nor false: a walk would end at the first one.
    if (fieldOf(list, name).nullable)
      throw new Error(`the list ${list.name} cannot be sorted by ${name}, which may be null`)
  }
  for (const { field } of list.filters) fieldOf(list, field)
  return list
}
