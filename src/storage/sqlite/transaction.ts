import type { CompiledQuery, QueryResult } from 'kysely'
import type { WritePriority } from '../database.ts'
import { TransactionEndedByStatement, type TransactionDriver } from '../sharing/transaction-driver.ts'
import { kindOf } from '../statement-kinds.ts'
import type { ClosingStatement } from '../lazy-transaction.ts'
import { type SqliteConnection, execute, rollBack } from './connection.ts'
import type { WriteGate } from './gate.ts'

/** Opens a transaction on the connection of asynchronous transactions. @throws the signal's reason */
export async function openSqliteTransaction(
  { connection, gate, begin }: SqliteTransactionParts,
  priority: WritePriority,
  signal?: AbortSignal,
): Promise<TransactionDriver> {
  const release = await gate.acquire(priority)
  try {
    signal?.throwIfAborted()
    await begin(connection)
  } catch (error) {
    release()
    throw error
  }
  return new SqliteTransactionDriver(connection, gate, release)
}

interface SqliteTransactionParts {
  connection: SqliteConnection
  gate: WriteGate
  begin: (connection: SqliteConnection) => Promise<void>
}

class SqliteTransactionDriver implements TransactionDriver {
  readonly #connection: SqliteConnection
  readonly #gate: WriteGate
  readonly #release: () => void
  /** Whether a statement of the present scope may have made a temporary table. */
  #mayHaveChanged = false

  constructor(connection: SqliteConnection, gate: WriteGate, release: () => void) {
    this.#connection = connection
    this.#gate = gate
    this.#release = release
  }

  isContended(): boolean {
    return this.#gate.urgent
  }

  savepoint(): void {
    this.#mustBeOpen()
    this.#connection.run('savepoint postern_part')
  }

  run(query: CompiledQuery, own = false): QueryResult<unknown> {
    this.#mustBeOpen()
    if (!own) this.#mayHaveChanged ||= !kindOf('sqlite', query.sql).isPlain
    return execute(this.#connection, query)
  }

  releaseSavepoint(): void {
    this.#mustBeOpen()
    this.#dropTemporary()
    this.#connection.run('release postern_part')
  }

  rollbackToSavepoint(): void {
    this.#mustBeOpen()
    this.#connection.run('rollback to postern_part')
    this.#connection.run('release postern_part')
  }

  async restore(): Promise<void> {
    this.#dropTemporary()
  }

  async commit(closing?: ClosingStatement): Promise<void> {
    this.#mustBeOpen()
    try {
      closing?.succeed(execute(this.#connection, closing.query))
    } catch (error) {
      throw closing!.fail(error)
    }
    this.#connection.exec('commit')
    this.#release()
  }

  async rollback(): Promise<void> {
    rollBack(this.#connection)
    this.#release()
  }

  /** Temporary tables last as long as the connection: the next user of the connection would find them. */
  #dropTemporary(): void {
    if (!this.#mayHaveChanged) return
    const objects = this.#connection.all<{ type: string; name: string }>(
      `select type, name from sqlite_temp_schema where type in ('table', 'view', 'trigger') and name not like 'sqlite_%'`,
    )
    for (const { type, name } of objects)
      this.#connection.run(`drop ${type} if exists temp."${name.replaceAll('"', '""')}"`)
    this.#mayHaveChanged = false
  }

  /**
   * Any statement may end the transaction, for example if the disk is full. Outside of a transaction `savepoint` would begin
   * another one, and a handler that ignored the error would commit a statement without its marker.
   */
  #mustBeOpen(): void {
    if (!this.#connection.inTransaction) throw new TransactionEndedByStatement()
  }
}
