import type { SqliteConnection } from '../../storage/sqlite/connection.ts'

/** Columns of which no two rows are equal. */
export interface UniqueKey {
  /** Each with the collation that says what is equal. */
  columns: readonly { name: string; collation: string }[]
  /** An SQL expression, where it holds for some rows only. */
  condition?: string
}

interface KeyColumn {
  cid: number
  name: string | null
  collation: string
}

/** The unique keys of an SQLite table. One over an expression is left out: nothing tells which columns it is made of. */
export function uniqueKeys(connection: SqliteConnection, table: string): UniqueKey[] {
  const indexes = connection.all<{ name: string; origin: string; sql: string | null }>(
    `select listed.name, listed.origin, made.sql from pragma_index_list(?) listed
      left join sqlite_schema made on made.type = 'index' and made.name = listed.name
      where listed."unique" = 1 order by listed.name`,
    [table],
  )
  const keys = indexes.flatMap(({ name, sql }): UniqueKey[] => {
    const parts = connection.all<KeyColumn>(
      'select cid, name, coll as collation from pragma_index_xinfo(?) where "key" = 1 order by seqno',
      [name],
    )
    if (parts.some(({ cid }) => cid < 0)) return []
    const columns = parts.map(({ name, collation }) => ({ name: name!, collation }))
    const condition = /^create\s+unique\s+index\s[^]*?\)\s*where\b([^]+)$/i.exec(sql ?? '')?.[1]?.trim()
    return [condition === undefined ? { columns } : { columns, condition }]
  })
  if (indexes.some(({ origin }) => origin === 'pk')) return keys
  // A primary key without an index is the rowid.
  const rowid = connection.get<{ name: string }>('select name from pragma_table_info(?) where pk > 0', [
    table,
  ])
  return rowid ? [{ columns: [{ name: rowid.name, collation: 'BINARY' }] }, ...keys] : keys
}
