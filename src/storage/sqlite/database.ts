import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../runtime/clock.ts'
import type { WritePriority, RunLast, Signal, SqliteDatabase, TransactionOptions, Tx } from '../database.ts'
import { kyselyOver } from '../query-runner.ts'
import { LocalSignals } from '../signals.ts'
import { StorageUnavailable } from '../unavailable.ts'
import { SharedTransactionQueue } from '../sharing/shared-transaction-queue.ts'
import { finish, tryBegin } from './begin.ts'
import { sqliteTransactions } from './transaction-driver.ts'
import { Checkpointer } from './checkpointer.ts'
import { SqliteConnection } from './connection.ts'
import { execute } from './execute.ts'
import { WriteGate } from './gate.ts'
import { claimFile } from './owner.ts'
import { buffersOf, packRows } from './packed-rows.ts'
import type { Repeated, StatementTasks } from './statement-tasks.ts'
import { TaskThread } from './task-thread.ts'
import { SqliteTransaction } from './transaction.ts'

/** How long a lock held by another process is waited for, in milliseconds. */
const busyLimit = 10_000
/** Milliseconds that one writer may take before the service counts as not ready: all requests that write wait for it. */
const longestHold = 5_000

/**
 * Opens an SQLite file with three connections: one that reads, one for the service's own writes (synchronous batches)
 * and one for asynchronous transactions. Batches and transactions never share a connection, since a statement on the
 * connection of an open transaction joins it; the gate lets one of them write at a time.
 * @param onError told of what fails in the background, which nobody else would see
 */
export function openSqlite(file: string, onError: (error: Error) => void = () => undefined): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const batches = new SqliteConnection(file)
  const transactions = new SqliteConnection(file)
  const readConnection = new SqliteConnection(file, { readOnly: true })
  const checkpointer = new Checkpointer(file, onError)
  const gate = new WriteGate(systemClock, () => checkpointer.noteWritten())
  const signals = new LocalSignals()
  const writer = openWriter(file)
  let owned: (() => void) | undefined
  let version: { number: number; released: number } | undefined

  function dataVersion(): number {
    const { released } = gate
    if (version?.released === released) return version.number
    const { data_version: number } = readConnection.get<{ data_version: number }>('pragma data_version')!
    if (!version) setImmediate(() => (version = undefined))
    version = { number, released }
    return number
  }

  async function batch<T>(priority: WritePriority, work: (connection: SqliteConnection) => T): Promise<T> {
    const release = await gate.acquire(priority)
    try {
      await beginImmediate(batches)
      return finish(batches, () => work(batches))
    } finally {
      release()
    }
  }

  async function batchAside(priority: WritePriority, statements: readonly Repeated[]): Promise<void> {
    const release = await gate.acquire(priority)
    try {
      await untilFree(() => write(writer, statements))
    } finally {
      release()
    }
  }

  const begin = (options: TransactionOptions = {}) =>
    new SqliteTransaction(
      { connection: transactions, gate, begin: beginImmediate, clock: systemClock },
      options,
    )

  async function transaction<T>(
    work: (tx: Tx, last: RunLast) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T> {
    const transaction = begin(options)
    try {
      const result = await transaction.within(() => work(transaction.tx, transaction.last))
      await transaction.commit()
      return result
    } catch (error) {
      await transaction.rollback()
      throw error
    }
  }

  return {
    engine: 'sqlite',
    file,
    readConnection,
    dataVersion,
    reader: kyselyOver('sqlite', async (query) => execute(readConnection, query)),
    batch,
    batchAside,
    own() {
      owned ??= claimFile(file)
    },
    hold: (priority: WritePriority, within?: number) => gate.acquireWithin(priority, within),
    begin,
    share: (beforeCommit) =>
      // There is one right to write: a second transaction would wait for the first.
      new SharedTransactionQueue({
        engine: 'sqlite',
        open: sqliteTransactions(transactions, gate, beginImmediate),
        beforeCommit,
        most: 1,
        batches: false,
        scheduler: systemClock,
      }),
    transaction,
    single: transaction,
    signal: (name: Signal) => signals.emit(name),
    signalHere: (name: Signal) => signals.emit(name),
    signalOthers: () => undefined,
    onSignal: (name: Signal, listener: () => void) => signals.on(name, listener),
    tell: () => undefined,
    onTold: () => () => undefined,
    saw: () => undefined,
    // A file that is replaced is not served any more: see file-in-place.ts.
    onSetBack: () => () => undefined,
    revocations: { announce: () => Promise.resolve(), listen: () => undefined, current: false },
    async ping() {
      if (gate.heldFor > longestHold)
        throw new StorageUnavailable(new Error(`nobody could write for ${Math.round(gate.heldFor)} ms`))
      readConnection.checkInPlace()
      readConnection.get('select 1 as one')
    },
    async close() {
      // The right to write is taken and never given back: whoever holds it now ends first, nobody begins after.
      await gate.acquire('acknowledge')
      await Promise.all([writer.close(), checkpointer.close()])
      readConnection.close()
      transactions.close()
      batches.close()
      owned?.()
    },
  }
}

function openWriter(file: string): TaskThread<StatementTasks> {
  const module = new URL('statement-tasks.ts', import.meta.url)
  return new TaskThread({ module, name: 'writer', data: { file } })
}

/** Packs the statements for each try, because their buffers move to the thread. */
function write(writer: TaskThread<StatementTasks>, statements: readonly Repeated[]): Promise<boolean> {
  const packed = statements.map(({ sql, rows }) => ({ sql, rows: packRows(rows) }))
  return writer.call(
    'write',
    packed,
    packed.flatMap(({ rows }) => buffersOf(rows)),
  )
}

function beginImmediate(connection: SqliteConnection): Promise<void> {
  return untilFree(async () => tryBegin(connection))
}

/** Tries again while another process has the file's lock. */
async function untilFree(tries: () => Promise<boolean>): Promise<void> {
  for (const started = Date.now(); !(await tries()); await wait(5 + Math.random() * 20)) {
    if (Date.now() - started > busyLimit) {
      throw new StorageUnavailable(new Error(`another process has held the write lock for ${busyLimit} ms`))
    }
  }
}
