import type { SqliteDatabase } from '../../storage/database.ts'
import type { Index, Table } from './table.ts'

interface ColumnRow {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
}
interface IndexRow {
  name: string
  unique: number
  partial: number
}
interface IndexColumn {
  cid: number
  name: string | null
  desc: number
  key: number
}

export async function inspectSqliteTable(
  { readConnection: connection }: SqliteDatabase,
  name: string,
): Promise<Table | undefined> {
  const found = connection.get<{ type: string; name: string; sql: string }>(
    `select type, name, sql from sqlite_schema where name = ? collate nocase and type in ('table', 'view')`,
    [name],
  )
  if (!found) return undefined
  const columns = connection.all<ColumnRow>(
    'select name, type, "notnull", dflt_value, pk from pragma_table_xinfo(?)',
    [name],
  )
  const folded = /collate\s+["'`[]?(?!binary)\w/i.test(found.sql)
  const described = columns.map(
    ({ name, type, notnull, pk, dflt_value }) =>
      [
        name,
        {
          type: affinityOf(type),
          nullable: notnull === 0 && pk === 0,
          byDefault: dflt_value ?? undefined,
          loose: folded,
        },
      ] as const,
  )
  const keys = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  // The one kind of column that is the rowid itself: no index is needed, and every index ends in it.
  const rowid = keys.length === 1 && /^integer$/i.test(keys[0]!.type) ? keys[0]!.name : undefined
  const own: Index[] =
    keys.length > 0
      ? [
          {
            name: 'primary key',
            unique: true,
            columns: keys.map(({ name }) => ({ column: name, descending: false })),
          },
        ]
      : []
  const listed = connection.all<IndexRow>('select name, "unique", partial from pragma_index_list(?)', [name])
  const indexes = listed
    .filter(({ partial }) => partial === 0)
    .flatMap(({ name, unique }): Index[] => {
      const parts = connection.all<IndexColumn>(
        'select cid, name, "desc", "key" from pragma_index_xinfo(?) order by seqno',
        [name],
      )
      // -2 is an expression; -1 the rowid, which stands behind what the index was made over.
      if (parts.some(({ cid, key }) => cid === -2 && key === 1)) return []
      const columns = parts.flatMap(({ cid, name, desc }) => {
        const column = cid === -1 ? rowid : name
        return column === undefined || column === null ? [] : [{ column, descending: desc === 1 }]
      })
      return [
        { name, unique: unique === 1, columns: unique === 1 ? columns.slice(0, countKeys(parts)) : columns },
      ]
    })
  return {
    kind: found.type === 'view' ? 'view' : 'table',
    columns: new Map(described),
    indexes: [...own, ...indexes],
    rowids: found.type === 'table' && !withoutRowid(connection, found.name),
    folded,
    definitions: [],
  }
}

function withoutRowid(connection: SqliteDatabase['readConnection'], name: string): boolean {
  return (
    connection.get<{ wr: number }>('select wr from pragma_table_list(?) where schema = ?', [name, 'main'])
      ?.wr === 1
  )
}

function countKeys(parts: readonly IndexColumn[]): number {
  return parts.filter(({ key }) => key === 1).length
}

/** https://sqlite.org/datatype3.html, section 3.1 */
function affinityOf(type: string): string {
  if (/int/i.test(type)) return 'integer'
  if (/char|clob|text/i.test(type)) return 'text'
  if (type === '' || /blob/i.test(type)) return 'blob'
  return /real|floa|doub/i.test(type) ? 'real' : 'numeric'
}
