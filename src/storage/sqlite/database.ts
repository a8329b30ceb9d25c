import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../runtime/clock.ts'
import type { Queryable, Signal, SqliteDatabase, WritePriority } from '../database.ts'
import { lazyTransactions } from '../lazy-transaction.ts'
import { kyselyOver } from '../query-runner.ts'
import { LocalSignals } from '../signals.ts'
import { StorageUnavailable } from '../unavailable.ts'
import { type BeforeCommit, SharedTransactionQueue } from '../sharing/shared-transaction-queue.ts'
import { finish, tryBegin, SqliteConnection, type SqlValue, execute } from './connection.ts'
import { openSqliteTransaction } from './transaction.ts'
import { Checkpointer } from './checkpointer.ts'
import type { OpenFile } from './files.ts'
import { WriteGate } from './gate.ts'
import { claimFile } from './owner.ts'
import { databaseThread } from './thread-client.ts'

/** Milliseconds to wait for a lock of another process. */
const busyLimit = 10_000
/** Milliseconds that one writer may take before the service is not ready, because all other writers wait for it. */
const longestHold = 5_000
/** Milliseconds after which a commit of another process shows in the data version, at most. */
const versionMaxAge = 5

/**
 * The connections of the main thread to one file: one reads, one runs the service's synchronous batches, and one runs asynchronous
 * transactions. Batches and transactions do not share a connection, because a statement on the connection of an open transaction would
 * join it. The gate lets one of them write at a time.
 */
interface Connections {
  readonly reading: SqliteConnection
  readonly batches: SqliteConnection
  readonly transactions: SqliteConnection
  readonly gate: WriteGate
}

/**
 * Opens an SQLite file.
 * @param onError called with errors in the background
 */
export function openSqlite(file: string, onError: (error: Error) => void = () => undefined): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const batches = new SqliteConnection(file)
  const { opened } = batches
  const checkpointer = new Checkpointer(opened, onError)
  const connections: Connections = {
    batches,
    transactions: new SqliteConnection(opened),
    reading: new SqliteConnection(opened, { readOnly: true }),
    gate: new WriteGate(systemClock, () => checkpointer.noteWritten()),
  }
  const { reading, gate } = connections
  const writer = databaseThread('writer', { opened })
  const aside = openReaderAside(opened)
  let owned: (() => void) | undefined
  return {
    engine: 'sqlite',
    file,
    opened,
    readConnection: reading,
    dataVersion: dataVersionOf(connections),
    reader: kyselyOver('sqlite', async (query) => execute(reading, query)),
    slowReader: aside.reader,
    readWithin: aside.readWithin,
    ...batchesOf(connections, writer),
    own() {
      owned ??= claimFile(file)
    },
    hold: (priority, within) => gate.acquireWithin(priority, within),
    ...transactionsOf(connections),
    watchWrites: () => connections.transactions.watchWrites(),
    ...signalsWithinProcess(),
    recordNumbers: () => undefined,
    // A file that is replaced is no longer served: see files.ts.
    onSetBack: () => () => undefined,
    revocations: { announce: () => Promise.resolve(), listen: () => undefined, current: false },
    ping: async () => ping(connections),
    async close() {
      // Takes the right to write and keeps it: a present writer ends first, and no other begins.
      await gate.acquire('acknowledge')
      await Promise.all([writer.close(), checkpointer.close(), aside.close()])
      for (const one of [reading, connections.transactions, connections.batches]) one.close()
      owned?.()
    },
  }
}

/**
 * Reads the version again after each write of this process, and otherwise when the last reading is `versionMaxAge` old. The age is read
 * from the clock: a callback in each turn of the event loop would keep it from waiting for several requests at once.
 */
function dataVersionOf({ reading, gate }: Connections): () => number {
  let number = 0
  let released = -1
  let readAt = 0
  return () => {
    const now = systemClock.elapsed()
    if (gate.released === released && now - readAt < versionMaxAge) return number
    released = gate.released
    readAt = now
    number = reading.get<{ data_version: number }>('pragma data_version')!.data_version
    return number
  }
}

function batchesOf(
  { batches, transactions, gate }: Connections,
  writer: ReturnType<typeof databaseThread>,
): Pick<SqliteDatabase, 'batch' | 'batchInThread' | 'insertTogether'> {
  async function whileHeld<T>(priority: WritePriority, work: () => Promise<T>): Promise<T> {
    const release = await gate.acquire(priority)
    try {
      return await work()
    } finally {
      release()
    }
  }
  const batchOn = <T>(
    connection: SqliteConnection,
    priority: WritePriority,
    work: (connection: SqliteConnection) => T,
  ): Promise<T> =>
    whileHeld(priority, async () => {
      await beginImmediate(connection)
      return finish(connection, () => work(connection))
    })
  return {
    batch: (priority, work) => batchOn(batches, priority, work),
    // The connection of transactions, which write the same tables: a commit of another one empties its cache of pages.
    insertTogether: (inserts) =>
      batchOn(transactions, 'request', (connection) => {
        for (const insert of inserts) execute(connection, insert)
      }),
    batchInThread: (priority, statements) =>
      whileHeld(priority, () => untilFree(() => writer.call('write', statements))),
  }
}

function transactionsOf({
  transactions: connection,
  gate,
}: Connections): Pick<SqliteDatabase, 'begin' | 'transaction' | 'inBackground' | 'single' | 'share'> {
  const parts = { connection, gate, begin: beginImmediate }
  const lazy = lazyTransactions({
    engine: 'sqlite',
    open: (priority) => openSqliteTransaction(parts, priority),
  })
  return {
    ...lazy,
    single: lazy.transaction,
    share: <Note>(beforeCommit: BeforeCommit<Note>) =>
      new SharedTransactionQueue({
        engine: 'sqlite',
        open: (_group, signal) => openSqliteTransaction(parts, 'work', signal),
        beforeCommit,
        scheduler: systemClock,
      }),
  }
}

/** Signals reach this process only. Other processes with the same file find work by polling. */
function signalsWithinProcess(): Pick<
  SqliteDatabase,
  'signal' | 'signalHere' | 'signalOthers' | 'onSignal' | 'publish' | 'onPublished'
> {
  const signals = new LocalSignals()
  const emit = (name: Signal): boolean => signals.emit(name)
  return {
    signal: emit,
    signalHere: emit,
    signalOthers: () => undefined,
    onSignal: (name, listener) => signals.on(name, listener),
    publish: () => undefined,
    onPublished: () => () => undefined,
  }
}

function ping({ gate, reading }: Connections): void {
  if (gate.heldFor > longestHold)
    throw new StorageUnavailable(`one writer has held the right to write for ${Math.round(gate.heldFor)} ms`)
  reading.checkInPlace()
  reading.get('select 1 as one')
}

function beginImmediate(connection: SqliteConnection): Promise<void> {
  return untilFree(async () => tryBegin(connection))
}

/** Tries again while another process has the file's lock. */
async function untilFree(tries: () => Promise<boolean>): Promise<void> {
  for (const started = systemClock.elapsed(); !(await tries()); await wait(5 + Math.random() * 20)) {
    if (systemClock.elapsed() - started > busyLimit) {
      throw new StorageUnavailable(`another process has held the write lock for ${busyLimit} ms`)
    }
  }
}

/**
 * Readers whose statements run in threads with connections of their own: statements that may take seconds have another one than
 * those of pages. Each thread starts with its first statement.
 */
function openReaderAside(
  opened: OpenFile,
): Pick<SqliteDatabase, 'readWithin'> & { reader: Queryable; close: () => Promise<void> } {
  const threadNamed = (name: string) => databaseThread(name, { opened, readOnly: true })
  const [thread, timed] = [threadNamed('reader'), threadNamed('timed reader')]
  return {
    reader: kyselyOver('sqlite', async ({ sql, parameters }) => ({
      rows: await thread.call('read', { sql, parameters: parameters as readonly SqlValue[] }),
    })),
    async readWithin(limit, sql, parameters) {
      const until = process.hrtime.bigint() + BigInt(limit) * 1_000_000n
      return timed.call('readWithin', { until, sql, parameters })
    },
    async close() {
      // A thread that died has nothing left to end.
      await Promise.allSettled([thread.close(), timed.close()])
    },
  }
}
