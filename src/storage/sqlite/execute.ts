import type { CompiledQuery, QueryResult } from 'kysely'
import type { SqliteConnection, SqlValue } from './connection.ts'

/** Runs one compiled query on a connection. */
export function execute(connection: SqliteConnection, query: CompiledQuery): QueryResult<unknown> {
  const parameters = query.parameters as readonly SqlValue[]
  if (connection.returnsRows(query.sql)) return { rows: connection.all(query.sql, parameters) }
  const { changes, lastId } = connection.run(query.sql, parameters)
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastId) }
}

/** Ends the transaction, unless an error such as a full disk has ended it already. Never throws. */
export function rollBack(connection: SqliteConnection): void {
  if (!connection.inTransaction) return
  try {
    connection.exec('rollback')
  } catch {
    // SQLite ends the transaction also when ROLLBACK reports an error. The next statement reports what is wrong with the file.
  }
}

/** Temporary tables last as long as the connection: the next user of the connection would find them. */
export function dropTemporary(connection: SqliteConnection): void {
  const objects = connection.all<{ type: string; name: string }>(
    `select type, name from sqlite_temp_schema where type in ('table', 'view', 'trigger') and name not like 'sqlite_%'`,
  )
  for (const { type, name } of objects)
    connection.run(`drop ${type} if exists temp."${name.replaceAll('"', '""')}"`)
}
