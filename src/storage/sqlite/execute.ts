import type { CompiledQuery, QueryResult } from 'kysely'
import type { SqliteConnection, SqlValue } from './connection.ts'

/** Runs one compiled query on a connection. */
export function execute(connection: SqliteConnection, query: CompiledQuery): QueryResult<unknown> {
  const parameters = query.parameters as readonly SqlValue[]
  if (connection.returnsRows(query.sql)) return { rows: connection.all(query.sql, parameters) }
  const { changes, lastId } = connection.run(query.sql, parameters)
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastId) }
}

/** Some errors, such as a full disk, have already ended the transaction. */
export function rollBack(connection: SqliteConnection): void {
  if (connection.inTransaction) connection.exec('rollback')
}
