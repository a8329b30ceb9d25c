import { WriteGate } from '../../../src/storage/sqlite/gate.ts'
import { openSqliteTransaction } from '../../../src/storage/sqlite/transaction.ts'
import { finish, type SqliteConnection, type SqlValue } from '../../../src/storage/sqlite/connection.ts'
import {
  type BeforeCommit,
  SharedTransactionQueue,
} from '../../../src/storage/sharing/shared-transaction-queue.ts'
import { LocalSignals } from '../../../src/storage/signals.ts'
import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import { lazyTransactions } from '../../../src/storage/lazy-transaction.ts'
import type { Signal, SqliteDatabase, WritePriority } from '../../../src/storage/database.ts'
import { releaseAllClaims, sqliteEventQueue } from '../../../src/receiving/sqlite/store.ts'
import { insertEvents } from '../../../src/receiving/sqlite/insert-events.ts'
import type { IncomingEvent, ProcessedMarker } from '../../../src/receiving/queue/store.ts'
import { commitFailure, StatementFailed } from './faults.ts'
import type { Engine } from './engine.ts'
import { readerOver } from './reader.ts'
import { type Answer, StoredTransaction } from './storage.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

/** A connection to the tables in memory, whose statements and commits may fail. */
class SimulatedConnection {
  transaction: StoredTransaction | undefined
  readonly #world: World
  readonly #process: VirtualProcess

  constructor(world: World, process: VirtualProcess) {
    this.#world = world
    this.#process = process
  }

  get inTransaction(): boolean {
    return this.transaction !== undefined
  }

  checkInPlace(): void {}

  exec(sql: string): void {
    const { storage, chance, weather, trace } = this.#world
    if (sql === 'begin immediate') {
      this.transaction = storage.begin()
      return
    }
    const transaction = this.transaction
    if (!transaction) throw new Error(`${sql}: there is no transaction`)
    if (sql === 'rollback') {
      trace(this.#process.name, 'rollback')
      this.transaction = undefined
      return storage.rollBack(transaction)
    }
    if (sql !== 'commit') throw new Error(`what is ${sql}?`)
    if (chance.is(weather.slow)) this.#process.suspend(8_000 * chance.next())
    if (chance.is(weather.commitFails)) {
      trace(this.#process.name, 'commit fails')
      // A full disk ends the transaction, other failures leave it open.
      if (chance.is(0.5)) this.end()
      throw commitFailure(chance)
    }
    this.transaction = undefined
    storage.commit(transaction)
  }

  run(sql: string, parameters: readonly SqlValue[] = []): { changes: number; lastId: number } {
    const { storage } = this.#world
    const { transaction } = this
    if (transaction && sql === 'savepoint postern_part') storage.savepoint(transaction, 'postern_part')
    else if (transaction && sql === 'release postern_part') storage.release(transaction, 'postern_part')
    else if (transaction && sql === 'rollback to postern_part')
      storage.rollBackTo(transaction, 'postern_part')
    else return this.#call(sql, parameters)
    return { changes: 0, lastId: 0 }
  }

  all<Row>(sql: string, parameters: readonly SqlValue[] = []): Row[] {
    return this.#call(sql, parameters).rows as Row[]
  }

  get<Row>(sql: string, parameters: readonly SqlValue[] = []): Row | undefined {
    return this.#call(sql, parameters).rows[0] as Row | undefined
  }

  returnsRows(sql: string): boolean {
    return this.#world.storage.returnsRows(sql)
  }

  /** As a killed process's transaction ends. */
  end(): void {
    if (this.transaction) this.#world.storage.rollBack(this.transaction)
    this.transaction = undefined
  }

  #call(sql: string, parameters: readonly SqlValue[]): Answer {
    const { storage, chance, weather, trace } = this.#world
    if (!this.transaction) return storage.read(sql, parameters)
    if (chance.is(weather.statementFails)) {
      trace(this.#process.name, 'a statement fails')
      if (chance.is(0.8)) throw new StatementFailed()
      // https://sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction
      this.end()
      throw new StorageUnavailable(new Error('database or disk is full'))
    }
    const answer = storage.run(this.transaction, sql, parameters)
    if (answer instanceof StoredTransaction) throw new Error('two write at once')
    return answer
  }
}

/** SQLite as one process has it: the real gate, transaction driver and transactions over tables in memory. */
export function sqliteEngine(world: World, process: VirtualProcess): Engine {
  const transactions = new SimulatedConnection(world, process)
  const batches = new SimulatedConnection(world, process)
  const connection = transactions as unknown as SqliteConnection
  const batchConnection = batches as unknown as SqliteConnection
  const gate = new WriteGate(process)
  const signals = new LocalSignals(process)
  const begin = async (connection: SqliteConnection): Promise<void> => connection.exec('begin immediate')

  async function batch<T>(lane: WritePriority, work: (connection: SqliteConnection) => T): Promise<T> {
    const release = await gate.acquire(lane)
    try {
      await begin(batchConnection)
      return finish(batchConnection, () => work(batchConnection))
    } finally {
      release()
    }
  }

  const parts = { connection, gate, begin }
  const { transaction } = lazyTransactions({
    engine: 'sqlite',
    open: (priority) => openSqliteTransaction(parts, priority),
    clock: process,
  })

  const database = {
    engine: 'sqlite',
    file: '/nowhere',
    readConnection: new SimulatedConnection(world, process),
    reader: readerOver((sql, parameters) => world.storage.read(sql, parameters)),
    batch,
    transaction,
    signal: (name: Signal) => signals.emit(name),
    signalOthers: () => undefined,
    onSignal: (name: Signal, listener: () => void) => signals.on(name, listener),
    onSetBack: () => () => undefined,
  } as unknown as SqliteDatabase
  const store = sqliteEventQueue({
    database,
    clock: process,
    onError: () => undefined,
    onMoved: () => undefined,
  })
  return {
    database,
    signals,
    store: {
      ...store,
      newClaim: () => world.newName(process.name),
      // The real one starts a thread that stores what is received; this is what else it does.
      acquireSession: async () => {
        await batch('work', (connection) => connection.run(releaseAllClaims))
      },
      close: () => Promise.resolve(),
    },
    share: (beforeCommit: BeforeCommit<ProcessedMarker>) =>
      new SharedTransactionQueue({
        engine: 'sqlite',
        open: (_group, signal) => openSqliteTransaction(parts, 'work', signal),
        beforeCommit,
        scheduler: process,
      }),
    async keep(events: readonly IncomingEvent[]) {
      const release = await gate.acquire('acknowledge')
      await new Promise<void>((resolve) => process.after(world.chance.next(), resolve))
      try {
        world.storage.atOnce((run) => insertEvents(asConnection(run), events))
      } finally {
        release()
      }
      signals.emit('event_queue')
    },
    kill() {
      transactions.end()
      batches.end()
    },
  }
}

/** What inserts events, over tables in memory. */
export function asConnection(
  run: (sql: string, parameters?: readonly SqlValue[]) => Answer,
): SqliteConnection {
  return {
    run,
    all: (sql: string, parameters: readonly SqlValue[]) => run(sql, parameters).rows,
    get: (sql: string, parameters: readonly SqlValue[]) => run(sql, parameters).rows[0],
  } as unknown as SqliteConnection
}
