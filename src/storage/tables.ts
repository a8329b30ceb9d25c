import type { Generated, Selectable } from 'kysely'
import type { tables } from './migrations/0001-initial.ts'
import type { RowsOf } from './migrations/0001-initial/table.ts'

export type { AuthenticationProof, Role } from './migrations/0001-initial/accounts.ts'
export type { DeliveryStatus, SigningScheme, SubscriberStatus } from './migrations/0001-initial/emitting.ts'
export type { EventQueueStatus } from './migrations/0001-initial/receiving.ts'

/**
 * The rows of every table, with the same types on both engines. Times are whole milliseconds since 1970 unless a comment says
 * otherwise; flags are 0 or 1; JSON is text (docs/adr/0002). migrations/0001-initial/ declares the tables with their columns, indexes
 * and foreign keys.
 */
export interface Tables extends RowsOf<typeof tables> {
  /** The number of users without the changes that are not folded in yet: one row. See storage/maintained-counts. */
  postern_users_total: { one: number; size: number }
  /** A bucket of about a thousand users; `k0` is the id of the first one. */
  postern_users_buckets: { id: Generated<number>; k0: string; size: number }
  /** An inserted (1) or deleted (-1) user. On SQLite the rows have an `id`. */
  postern_users_changes: { k0: string; size: number }
  /** An applied migration. storage/migrate.ts creates the table and writes it. */
  migrations: { number: number; name: string; breaking: number; applied_at: number; checksum: string }
}

/** A row of a table, as queries return it. */
export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>
