import { sql, type Insertable, type Selectable } from 'kysely'
import type { Database, Tx } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

type Row<T extends keyof Tables> = Selectable<Tables[T]>

/** The rows of a table whose columns have these values, in the order of a column. */
export async function rowsOf<T extends keyof Tables>(
  { database }: { database: Pick<Database, 'reader'> },
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

/** The first of them. */
export async function findRow<T extends keyof Tables>(
  service: { database: Pick<Database, 'reader'> },
  table: T,
  where: Partial<Row<T>> = {},
): Promise<Row<T> | undefined> {
  return (await rowsOf(service, table, where))[0]
}

/** The same, of which there must be one. */
export async function rowIn<T extends keyof Tables>(
  service: { database: Pick<Database, 'reader'> },
  table: T,
  where: Partial<Row<T>> = {},
): Promise<Row<T>> {
  const found = await findRow(service, table, where)
  if (!found) throw new Error(`${table} has no row with ${JSON.stringify(where)}`)
  return found
}

/** Inserts an event past the service, by default an emitted one with an empty object. Returns its number. */
export async function insertEvent(
  tx: Tx,
  row: Pick<Insertable<Tables['events']>, 'event_id' | 'type'> & Partial<Insertable<Tables['events']>>,
): Promise<number> {
  const { id } = await tx
    .insertInto('events')
    .values({
      direction: 'emitted',
      source: null,
      content_type: 'application/json',
      payload: Buffer.from('{}'),
      headers: null,
      created_at: 0,
      ...row,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Runs statements in one transaction, past the service. */
export const execute = (database: Pick<Database, 'transaction'>, ...statements: string[]): Promise<void> =>
  database.transaction(async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx)
  })
