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
