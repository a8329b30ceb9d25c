import { sql, type Selectable } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

type Row<T extends keyof Tables> = Selectable<Tables[T]>

/** The rows of a table whose columns have these values, in the order of a column. */
export async function rowsOf<T extends keyof Tables>(
  { database }: { database: Database },
  table: T,
  where: Partial<Row<T>> = {},
  order?: keyof Row<T> & string,
): Promise<Row<T>[]> {
  const conditions = Object.entries(where).map(([name, value]) =>
    value === null ? sql`${sql.ref(name)} is null` : sql`${sql.ref(name)} = ${value}`,
  )
  const all = conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)
  const sorted = order === undefined ? sql`` : sql`order by ${sql.ref(order)}`
  const found = await sql<Row<T>>`select * from ${sql.table(table)} where ${all} ${sorted}`.execute(
    database.reader,
  )
  return found.rows
}
