import { CompiledQuery } from 'kysely'
import type { Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import { quote, quoteTable } from '../../storage/sql-text.ts'
import type { SavedRows } from './target.ts'

/** The values of a row by column. On SQLite they are values of its types, on PostgreSQL those of JSON. */
export type ColumnValues = Readonly<Record<string, unknown>>

interface RowsOptions {
  engine: Engine
  table: string
  /** The columns of the key, which has a unique index. */
  key: readonly string[]
  /** Whether existing rows are updated. */
  upsert: boolean
  /** Values by column for new rows that have no other value. */
  defaults?: ColumnValues
}

/** Parameters of one statement on SQLite, whose limit is 32,766. */
const mostParameters = 30_000

/** Inserts rows, and updates or counts existing ones. A row changes only the columns that it has. The rows' keys differ. */
export async function saveRows(
  tx: Tx,
  options: RowsOptions,
  rows: readonly ColumnValues[],
): Promise<SavedRows> {
  const saved: SavedRows = { inserted: 0, updated: 0, existing: 0 }
  const groups = Map.groupBy(rows, (row) => Object.keys(row).join('\0'))
  for (const group of groups.values()) {
    const columns = Object.keys(group[0]!)
    const complete = group.map((row) => ({ ...options.defaults, ...row }))
    const size =
      options.engine === 'sqlite'
        ? Math.floor(mostParameters / Object.keys(complete[0]!).length)
        : group.length
    for (let at = 0; at < complete.length; at += size) {
      const part = complete.slice(at, at + size)
      const [inserted, found] = await (options.engine === 'sqlite' ? saveOnSqlite : saveOnPostgres)(
        tx,
        { ...options, onConflict: onConflict(options, columns) },
        part,
      )
      saved.inserted += inserted
      saved[options.upsert ? 'updated' : 'existing'] += found
    }
  }
  return saved
}

function onConflict({ key, upsert }: RowsOptions, columns: readonly string[]): string {
  const changed = upsert ? columns.filter((column) => !key.includes(column)) : []
  const change = changed.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(', ')
  return `on conflict (${key.map(quote).join(', ')}) do ${change === '' ? 'nothing' : `update set ${change}`}`
}

type Save = (
  tx: Tx,
  options: RowsOptions & { onConflict: string },
  rows: readonly ColumnValues[],
) => Promise<readonly [inserted: number, found: number]>

const saveOnSqlite: Save = async (tx, { table, key, onConflict: conflict }, rows) => {
  const columns = Object.keys(rows[0]!)
  const values = (names: readonly string[]): string =>
    `values ${rows.map(() => `(${names.map(() => '?').join(', ')})`).join(', ')}`
  const of = (names: readonly string[]): unknown[] => rows.flatMap((row) => names.map((name) => row[name]))
  const sames = key.map((name, at) => `t.${quote(name)} = n.column${at + 1}`).join(' and ')
  const existing = `select count(*) as found from (${values(key)}) as n where exists (select 1 from ${quoteTable(table)} as t where ${sames})`
  const counted = await tx.executeQuery(CompiledQuery.raw(existing, of(key)))
  const [{ found }] = counted.rows as [{ found: number }]
  const insert = `insert into ${quoteTable(table)} (${columns.map(quote).join(', ')}) ${values(columns)} ${conflict}`
  await tx.executeQuery(CompiledQuery.raw(insert, of(columns)))
  return [rows.length - found, found]
}

/** One JSON parameter contains all rows; the server converts it to the columns' types. */
const saveOnPostgres: Save = async (tx, { table, onConflict: conflict }, rows) => {
  const columns = Object.keys(rows[0]!).map(quote).join(', ')
  // `xmax` is 0 in a row that this statement inserted.
  const text = `with saved as (
      insert into ${quoteTable(table)} (${columns}) overriding system value
      select ${columns} from json_populate_recordset(null::${quoteTable(table)}, $1::json) ${conflict}
      returning xmax = 0 as inserted)
    select count(*) filter (where inserted)::int as inserted from saved`
  const saved = await tx.executeQuery(CompiledQuery.raw(text, [JSON.stringify(rows)]))
  const [{ inserted }] = saved.rows as [{ inserted: number }]
  return [inserted, rows.length - inserted]
}
