import type { Generated } from 'kysely'

export interface ProductsTable {
  id: string
  category: string
  price: number
  stock: number
  name: string
  /** Canonical text: UTC with six digits of fraction, `2026-01-31T08:30:00.000000Z`. Sorts by time. */
  created_at: string
}

export interface PostsTable {
  id: string
  title: string
  body: string
  /** As in products. */
  created_at: string
}

/** The number of users without the changes that are not folded in yet: one row. See storage/maintained-counts. */
export interface CountsTotalTable {
  one: number
  size: number
}

/** A bucket of about a thousand users. */
export interface CountsBucketsTable {
  id: Generated<number>
  /** The id of the first user in it. */
  k0: string
  size: number
}

/** An inserted (1) or deleted (-1) user. On SQLite the rows have an `id`. */
export interface CountsChangesTable {
  k0: string
  size: number
}
