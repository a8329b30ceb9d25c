import { resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { inTime } from '../sql-text.ts'
import { causeOf, translateError } from '../unavailable.ts'
import { checkInPlace, createPrivately, existing, identityOf, type OpenFile } from './files.ts'
import { BoundedCache } from '../../runtime/bounded-cache.ts'
import type { CompiledQuery, QueryResult } from 'kysely'

/** Values of parameters. Without `undefined`, which would silently become NULL. */
export type SqlValue = null | number | bigint | string | Uint8Array
export type SqlRow = Record<string, SqlValue>

/** The default of `logPages`. It is large because the checkpointer normally writes the log back before. */
export const mostLogPages = 8_000
/** Fewer new pages are not written back, unless the log is nearly full. */
export const fewLogPages = mostLogPages / 4
/** Bytes of a page in the log, with its header (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
export const logPageBytes = 4_096 + 24

const rowsBetweenChecks = 256

interface Prepared {
  statement: StatementSync
  returnsRows: boolean
}

interface ConnectionOptions {
  readOnly?: boolean
  /** Prepared statements at most; the oldest is dropped. */
  cache?: number
  /** Size of the log, in pages of 4 KiB, from which on a commit writes it back. */
  logPages?: number
}

/** Records the writes of a transaction on SQLite (https://www.sqlite.org/sessionintro.html). */
export interface WriteSession {
  /** The changes since the session was opened, as a changeset. */
  changeset(): Uint8Array
  close(): void
}

/**
 * One connection to an SQLite file, with a cache of prepared statements. All calls are synchronous. It never waits for a lock,
 * which would block the event loop: a busy file is an error, and the caller tries again.
 */
export class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #statements: BoundedCache<string, Prepared>
  /** For further connections to the same file. */
  readonly opened: OpenFile

  /**
   * @param of the path of a file, which is created if it does not exist; or a file that is open already
   * @throws StorageUnavailable if the open file was removed or replaced: SQLite would delete the log of a file that is newly created
   */
  constructor(of: string | OpenFile, options: ConnectionOptions = {}) {
    const { readOnly = false } = options
    const isNew = typeof of === 'string'
    // Also `:memory:` is a file: each connection would have a database of its own.
    const file = isNew ? resolve(of) : of.file
    this.#statements = new BoundedCache(options.cache ?? 500)
    if (isNew && !readOnly) createPrivately(file)
    this.#database = new DatabaseSync(isNew || readOnly ? file : existing(file), {
      readOnly,
      timeout: 0,
      enableForeignKeyConstraints: true,
    })
    try {
      this.opened = isNew ? { file, identity: identityOf(file) } : of
      this.checkInPlace()
      this.#setUp(options)
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  #setUp({ readOnly, logPages = mostLogPages }: ConnectionOptions): void {
    // WAL: readers and the writer do not block each other. FULL: a commit is on the disk when it returns.
    if (!readOnly)
      this.#database.exec(
        `pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = ${logPages}`,
      )
    this.#database.exec('pragma cache_size = -32000; pragma temp_store = memory')
  }

  /** Runs one or more statements without result rows. */
  exec(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      throw translateError(error)
    }
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Row[] {
    return this.#call(sql, (statement) => statement.all(...parameters)) as Row[]
  }

  /** As `all`, with each row as an array of its columns, which is a third faster. */
  arrays<Row extends readonly SqlValue[] = SqlValue[]>(
    sql: string,
    parameters: readonly SqlValue[] = [],
  ): Row[] {
    return this.#call(sql, (statement) => statement.all(...parameters), true) as unknown as Row[]
  }

  /**
   * As `arrays`, for a statement with the condition `inTime`: node:sqlite has nothing else that ends a statement.
   * @param until nanoseconds of `process.hrtime`; then the statement fails with the code SQLITE_INTERRUPT, 9
   */
  arraysUntil(until: bigint, sql: string, parameters: readonly SqlValue[]): SqlValue[][] {
    let calls = 0
    // Not deterministic, or SQLite would call it once.
    this.#database.function(inTime.slice(0, -2), { deterministic: false }, () => {
      if (calls++ % rowsBetweenChecks === 0 && process.hrtime.bigint() > until)
        throw Object.assign(new Error('the statement exceeded its time limit'), { errcode: 9 })
      return 1
    })
    return this.arrays(sql, parameters)
  }

  get<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Row | undefined {
    return this.#call(sql, (statement) => statement.get(...parameters)) as Row | undefined
  }

  /** Returns the number of changed rows and the last row id. */
  run(sql: string, parameters: readonly SqlValue[] = []): { changes: number; lastId: number } {
    const result = this.#call(sql, (statement) => statement.run(...parameters))
    return { changes: Number(result.changes), lastId: Number(result.lastInsertRowid) }
  }

  /** Whether a statement returns rows, so that it must run with `all`. */
  returnsRows(sql: string): boolean {
    try {
      return this.#prepare(sql).returnsRows
    } catch (error) {
      throw translateError(error)
    }
  }

  /** @throws StorageUnavailable if the file was removed or replaced */
  checkInPlace(): void {
    checkInPlace(this.opened)
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction
  }

  /** Records the writes to tables with a primary key. */
  watchWrites(): WriteSession {
    const session = this.#database.createSession()
    return { changeset: () => session.changeset(), close: () => session.close() }
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #call<T>(sql: string, use: (statement: StatementSync) => T, arrays = false): T {
    try {
      return use(this.#prepare(sql, arrays).statement)
    } catch (error) {
      throw translateError(error)
    }
  }

  /** The form of the rows is a state of the statement, so those that return arrays have their own cache entries. */
  #prepare(sql: string, arrays = false): Prepared {
    const key = arrays ? `${sql} /* arrays */` : sql
    const cached = this.#statements.get(key)
    if (cached) return cached
    const statement = this.#database.prepare(hideLimitParameter(sql))
    const prepared: Prepared = { statement, returnsRows: statement.columns().length > 0 }
    if (arrays) statement.setReturnArrays(true)
    // Every write returns the last row id of the connection, which may exceed what a number holds.
    if (!prepared.returnsRows) statement.setReadBigInts(true)
    this.#statements.set(key, prepared)
    return prepared
  }
}

/**
 * Texts, names and comments, which are left as they are, and the parameter of a LIMIT
 * (https://sqlite.org/lang_expr.html#literal_values_constants_ and https://sqlite.org/lang_comment.html).
 */
const parts =
  /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*.*?(?:\*\/|$)|(\blimit\s+)(?=[?:@$])/gis

/**
 * Makes the parameter of a LIMIT part of an expression, which has the same value. SQLite plans a statement by the value of a parameter
 * that is the whole LIMIT, so it prepares the statement again each time the parameter is bound (`sqlite3ExprIsInteger` in
 * https://sqlite.org/src/file/src/expr.c): that took two thirds of a page of events (docs/adr/0013).
 */
export function hideLimitParameter(sql: string): string {
  return sql.replace(parts, (part, limit?: string) => (limit === undefined ? part : `${part}0 + `))
}

/**
 * Begins a writing transaction; false if another process holds the write lock of the file.
 * @throws StorageUnavailable, also if the file was removed or replaced
 */
export function tryBegin(connection: SqliteConnection): boolean {
  connection.checkInPlace()
  try {
    connection.exec('begin immediate')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

/** Does the work of a transaction that has begun, and commits; rolls back if either fails. */
export function finish<T>(connection: SqliteConnection, work: () => T): T {
  try {
    const result = work()
    connection.exec('commit')
    return result
  } catch (error) {
    rollBack(connection)
    throw error
  }
}

function isBusy(error: unknown): boolean {
  const { errcode = 0 } = causeOf(error) as { errcode?: number }
  return (errcode & 0xff) === 5
}

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
