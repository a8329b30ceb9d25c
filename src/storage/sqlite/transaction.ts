import type { CompiledQuery, QueryResult } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import { ClosingStatement, TransactionOver } from '../transaction-over.ts'
import type { LazyTransaction, RunLast, TransactionOptions, Tx } from '../database.ts'
import { insideTransaction } from '../../runtime/call-context.ts'
import { makeLendable } from '../lent-transactions.ts'
import {
  TransactionEndedByStatement,
  type OpenTransaction,
  type TransactionDriver,
} from '../sharing/transaction-driver.ts'
import { transactionOver } from '../query-runner.ts'
import { type SqliteConnection, dropTemporary, execute, rollBack } from './connection.ts'
import type { WriteGate } from './gate.ts'
import { kindOf } from '../statement-kinds.ts'

interface Parts {
  connection: SqliteConnection
  gate: WriteGate
  begin(connection: SqliteConnection): Promise<void>
  clock: Clock
}

/** An asynchronous transaction: takes the right to write at its first query, and is rolled back at its time limit. */
export class SqliteTransaction implements LazyTransaction {
  readonly tx: Tx
  readonly last: RunLast
  #closing: ClosingStatement | undefined
  readonly #parts: Parts
  readonly #options: TransactionOptions & Required<Pick<TransactionOptions, 'priority' | 'timeLimit'>>
  /** Shared with the work within it: a wait for the gate there would be a deadlock. */
  readonly #mark = { held: false }
  #opening: Promise<void> | undefined
  #release: (() => void) | undefined
  #over: 'committed' | 'rolled back' | 'out of time' | undefined

  constructor(parts: Parts, options: TransactionOptions) {
    this.#parts = parts
    this.#options = { priority: 'request', timeLimit: 10_000, ...options }
    this.tx = transactionOver('sqlite', (query) => this.#run(query))
    makeLendable(this.tx, {
      engine: 'sqlite',
      run: (query) => this.#run(query),
      restore: async () => dropTemporary(this.#parts.connection),
      abandon: () => this.#expire(),
    })
    this.last = (query) => {
      if (this.#closing) throw new Error('a transaction has one last statement')
      return (this.#closing = new ClosingStatement(query)).answered
    }
  }

  within<T>(work: () => T): T {
    return insideTransaction(this.#mark, work)
  }

  async commit(): Promise<void> {
    const closing = this.#closing
    if (!this.#opening && !closing) return this.#end('committed')
    await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    try {
      closing?.succeed(this.#execute(closing.query))
      this.#parts.connection.exec('commit')
    } catch (error) {
      closing?.fail(error)
      rollBack(this.#parts.connection)
      this.#end('rolled back')
      throw error
    }
    this.#end('committed')
  }

  async rollback(): Promise<void> {
    try {
      await this.#opening
    } catch {
      // It never began. The caller of the first query has the error.
    }
    if (this.#over) return
    if (this.#release) rollBack(this.#parts.connection)
    this.#end('rolled back')
  }

  async #run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (this.#over) throw new TransactionOver(this.#over)
    await (this.#opening ??= this.#open())
    if (this.#over) throw new TransactionOver(this.#over)
    return this.#execute(query)
  }

  #execute(query: CompiledQuery): QueryResult<unknown> {
    // An error such as a full disk may have ended the transaction. The next statement would then commit by itself.
    if (!this.#parts.connection.inTransaction) throw new TransactionEndedByStatement()
    return execute(this.#parts.connection, query)
  }

  async #open(): Promise<void> {
    const release = await this.#parts.gate.acquire(this.#options.priority)
    if (this.#over) return release()
    try {
      await this.#parts.begin(this.#parts.connection)
    } catch (error) {
      release()
      throw error
    }
    this.#mark.held = true
    const cancelTimer = this.#parts.clock.after(this.#options.timeLimit, () => this.#expire())
    this.#release = () => {
      cancelTimer()
      this.#mark.held = false
      release()
    }
  }

  #expire(): void {
    rollBack(this.#parts.connection)
    this.#end('out of time')
  }

  #end(how: 'committed' | 'rolled back' | 'out of time'): void {
    this.#over = how
    this.#closing?.fail(new TransactionOver(how))
    this.#release?.()
    this.#release = undefined
  }
}

/** Opens transactions on the connection of asynchronous transactions. */
export function sqliteTransactions(
  connection: SqliteConnection,
  gate: WriteGate,
  begin: (connection: SqliteConnection) => Promise<void>,
): OpenTransaction {
  return async (_share, signal) => {
    const release = await gate.acquire('work')
    try {
      signal.throwIfAborted()
      await begin(connection)
    } catch (error) {
      release()
      throw error
    }
    return new SqliteTransactionDriver(connection, gate, release)
  }
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
    if (this.#mayHaveChanged) dropTemporary(this.#connection)
    this.#mayHaveChanged = false
    this.#connection.run('release postern_part')
  }

  rollbackToSavepoint(): void {
    this.#mustBeOpen()
    this.#connection.run('rollback to postern_part')
    this.#connection.run('release postern_part')
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

  /**
   * Any statement may end the transaction, for example if the disk is full. Outside of a transaction `savepoint` would begin
   * another one, and a handler that ignored the error would commit a statement without its marker.
   */
  #mustBeOpen(): void {
    if (!this.#connection.inTransaction) throw new TransactionEndedByStatement()
  }
}
