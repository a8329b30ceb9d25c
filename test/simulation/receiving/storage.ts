import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { migrations } from '../../../src/storage/migrations/index.ts'
import type { SqlValue } from '../../../src/storage/sqlite/connection.ts'

/** What a handler and its emits write: `place` is the order of the commits. */
const written = `
  create table effects (
    token integer primary key, event integer not null, late integer not null, place integer
  ) strict;
  create index effects_of_event on effects (event);
  create table follow_ups (token integer primary key, event integer not null) strict;
  create index follow_ups_of_event on follow_ups (event);`

const tables = ['event_queue', 'handler_failures', 'effects', 'follow_ups'] as const
type Table = (typeof tables)[number]

/** A row as a transaction left it. */
export interface WrittenRow {
  readonly table: Table
  readonly values: readonly SqlValue[]
}

export interface Answer {
  readonly rows: Record<string, SqlValue>[]
  readonly changes: number
  readonly lastId: number
}

/** A transaction that sees what is committed at each of its statements, and what it wrote itself. */
export class StoredTransaction {
  over = false
  /** What it wrote, in order: a copy of all that it changed, since only one is in the tables at a time. */
  readonly redo: WrittenRow[] = []
  readonly savepoints: { name: string; length: number }[] = []
  /** Rows of the event queue that nobody else may write before its end. */
  readonly locks = new Set<number>()
  /** Order keys that it has locked. */
  readonly keys = new Set<string>()
  waitsFor: StoredTransaction | undefined
  readonly ended: Promise<void>
  end: () => void = () => undefined

  constructor() {
    this.ended = new Promise((resolve) => (this.end = resolve))
  }
}

/**
 * Tables in memory, committed transactions in them, and any number of open ones over them: read committed, with locks on
 * rows, as PostgreSQL has it. The statements are run by a real SQLite.
 */
export class Storage {
  /** Told about each commit, when it is one. */
  onCommit: (transaction: StoredTransaction) => void = () => undefined
  readonly #database = new DatabaseSync(':memory:')
  readonly #statements = new Map<string, { statement: StatementSync; returnsRows: boolean }>()
  readonly #open = new Set<StoredTransaction>()
  /** Whose writes are in the tables, uncommitted. */
  #present: StoredTransaction | undefined
  #recording: WrittenRow[] | undefined

  constructor() {
    const database = this.#database
    for (const { sqlite } of migrations) database.exec(sqlite)
    database.exec(written)
    database.function('written', { varargs: true }, (table, ...values) => {
      this.#recording?.push({ table: table as Table, values })
      return null
    })
    // What `skip locked` passes over.
    database.function('locked', (event) => {
      for (const { locks } of this.#open) if (locks.has(event as number)) return 1
      return 0
    })
    for (const table of tables) {
      const columns = database.prepare(`select name from pragma_table_info('${table}')`).all()
      const values = columns.map(({ name }) => `new.${String(name)}`).join(', ')
      for (const what of ['insert', 'update'])
        database.exec(
          `create temp trigger ${table}_${what} after ${what} on main.${table} begin select written('${table}', ${values}); end`,
        )
    }
  }

  /** Forgets everything, for the next run. */
  clear(): void {
    this.#show(undefined)
    for (const transaction of this.#open) transaction.over = true
    this.#open.clear()
    for (const table of [...tables, 'events', 'sqlite_sequence']) this.#database.exec(`delete from ${table}`)
  }

  begin(): StoredTransaction {
    const transaction = new StoredTransaction()
    this.#open.add(transaction)
    return transaction
  }

  /** A statement outside of any transaction: it reads what is committed. */
  read(sql: string, parameters: readonly SqlValue[] = []): Answer {
    this.#show(undefined)
    return this.#call(sql, parameters)
  }

  /** Does `work` as a transaction that nothing comes between. */
  atOnce<T>(work: (run: (sql: string, parameters?: readonly SqlValue[]) => Answer) => T): T {
    const transaction = this.begin()
    try {
      const result = work((sql, parameters = []) => {
        const answer = this.run(transaction, sql, parameters)
        if (answer instanceof StoredTransaction) throw new Error('a row that must be free is locked')
        return answer
      })
      this.commit(transaction)
      return result
    } catch (error) {
      this.rollBack(transaction)
      throw error
    }
  }

  /** Runs a statement, or tells who has locked what it would write: then it is to be run again after their end. */
  run(
    transaction: StoredTransaction,
    sql: string,
    parameters: readonly SqlValue[],
  ): Answer | StoredTransaction {
    this.#show(transaction)
    const from = transaction.redo.length
    this.#recording = transaction.redo
    let answer: Answer
    try {
      answer = this.#call(sql, parameters)
    } catch (error) {
      transaction.redo.length = from
      throw error
    } finally {
      this.#recording = undefined
    }
    for (const { table, values } of transaction.redo.slice(from)) {
      if (table !== 'event_queue') continue
      const event = values[0] as number
      const holder = this.#holderOf(event, transaction)
      if (holder) {
        this.#truncate(transaction, from)
        return holder
      }
      transaction.locks.add(event)
    }
    return answer
  }

  /** Locks order keys to the end of the transaction, or tells who has one of them. */
  lockKeys(transaction: StoredTransaction, keys: readonly string[]): StoredTransaction | undefined {
    for (const other of this.#open)
      if (other !== transaction && keys.some((key) => other.keys.has(key))) return other
    for (const key of keys) transaction.keys.add(key)
    return undefined
  }

  savepoint({ savepoints, redo }: StoredTransaction, name: string): void {
    savepoints.push({ name, length: redo.length })
  }

  release({ savepoints }: StoredTransaction, name: string): void {
    savepoints.length = this.#placeOf(savepoints, name)
  }

  rollBackTo(transaction: StoredTransaction, name: string): void {
    const { savepoints } = transaction
    const place = this.#placeOf(savepoints, name)
    savepoints.length = place + 1
    this.#truncate(transaction, savepoints[place]!.length)
  }

  /** The newest of that name. */
  #placeOf(savepoints: StoredTransaction['savepoints'], name: string): number {
    const place = savepoints.findLastIndex((savepoint) => savepoint.name === name)
    if (place < 0) throw new Error(`savepoint ${name} does not exist`)
    return place
  }

  commit(transaction: StoredTransaction): void {
    if (transaction.over) throw new Error('the transaction is over')
    this.#show(transaction)
    this.#database.exec('commit')
    this.#present = undefined
    this.#end(transaction)
    this.onCommit(transaction)
  }

  rollBack(transaction: StoredTransaction): void {
    if (transaction.over) return
    if (this.#present === transaction) this.#show(undefined)
    this.#end(transaction)
  }

  returnsRows(sql: string): boolean {
    return this.#prepare(sql).returnsRows
  }

  #end(transaction: StoredTransaction): void {
    transaction.over = true
    this.#open.delete(transaction)
    transaction.end()
  }

  #holderOf(event: number, transaction: StoredTransaction): StoredTransaction | undefined {
    for (const other of this.#open) if (other !== transaction && other.locks.has(event)) return other
    return undefined
  }

  /** What it wrote since is as if it had not been. */
  #truncate(transaction: StoredTransaction, length: number): void {
    if (transaction.redo.length === length) return
    transaction.redo.length = length
    transaction.locks.clear()
    for (const { table, values } of transaction.redo)
      if (table === 'event_queue') transaction.locks.add(values[0] as number)
    if (this.#present === transaction) this.#show(undefined)
  }

  /** Brings the writes of one transaction, or of none, into the tables. */
  #show(transaction: StoredTransaction | undefined): void {
    if (this.#present === transaction) return
    if (this.#present) this.#database.exec('rollback')
    this.#present = transaction
    if (!transaction) return
    this.#database.exec('begin')
    for (const { table, values } of transaction.redo)
      this.#call(`insert or replace into ${table} values (${values.map(() => '?').join(', ')})`, values)
  }

  #call(sql: string, parameters: readonly SqlValue[]): Answer {
    const { statement, returnsRows } = this.#prepare(sql)
    const values = parameters as SQLInputValue[]
    if (returnsRows) {
      const rows = statement.all(...values) as Answer['rows']
      return { rows, changes: rows.length, lastId: 0 }
    }
    const { changes, lastInsertRowid } = statement.run(...values)
    return { rows: [], changes: Number(changes), lastId: Number(lastInsertRowid) }
  }

  #prepare(sql: string): { statement: StatementSync; returnsRows: boolean } {
    let prepared = this.#statements.get(sql)
    if (!prepared) {
      const statement = this.#database.prepare(sql)
      this.#statements.set(sql, (prepared = { statement, returnsRows: statement.columns().length > 0 }))
    }
    return prepared
  }
}
