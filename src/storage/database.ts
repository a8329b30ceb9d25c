import type { CompiledQuery, Kysely, QueryResult, Transaction as KyselyTransaction } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { RowsStatement, RowValue } from './postgres/driver/queries.ts'
import type { SessionCheck } from './postgres/driver/session-client.ts'
import type { Replica } from './postgres/replica.ts'
import type { Claimer } from './postgres/session/claimer.ts'
import type { SqliteConnection, SqlValue, WriteSession } from './sqlite/connection.ts'
import type { OpenFile } from './sqlite/files.ts'
import type { Repeated } from './sqlite/database-thread.ts'
import type { LazyTransaction } from './lazy-transaction.ts'
import type { Tables } from './tables.ts'
import type { SharedTransactions, BeforeCommit } from './sharing/shared-transaction-queue.ts'

/** A transaction of the service's own tables. */
export type Tx = KyselyTransaction<Tables>

/** What a query can run on: the reader of the database, or a transaction. */
export type Queryable = Kysely<Tables>

/**
 * The priorities of writers on SQLite, most urgent first: acknowledgements of received webhooks, requests of clients, and
 * background work including handlers.
 */
export type WritePriority = 'acknowledge' | 'request' | 'work'

/**
 * Runs a statement as the last one of the transaction, together with its commit (see ClosingStatement). To be called once. The
 * result arrives with the commit, so the work must not wait for it.
 */
export type RunLast = (query: CompiledQuery) => Promise<QueryResult<unknown>>

export interface TransactionOptions {
  priority?: WritePriority
  /** Milliseconds from the first query; then the transaction is rolled back and its queries fail. Default 10,000. */
  timeLimit?: number
}

/** Names of signals that wake workers. */
export type Signal = 'event_queue' | 'deliveries' | 'jobs' | 'migrated' | 'scheduled'

/** Topics of ids for other processes: changed subscribers, subscribers whose queues have more to deliver, and nonces of removed payloads. */
export type Topic = 'subscriber' | 'subscriber_queue' | 'payload'

/** Lets a process cache sessions and keys, although any process may revoke them. */
export interface Revocations {
  /**
   * Announces within a transaction that cached data about a subject (an id of at most 100 characters) is void. The transaction
   * then resolves when every process has heard it.
   */
  announce(tx: Tx, subject: string): Promise<void>
  /** Calls `listener` for each announcement of any process; without a subject if the whole cache is void. */
  listen(listener: (subject: string | undefined) => void): void
  /**
   * Whether the cache may be used now, because all announcements until now were heard. Always false on SQLite, where a read is
   * cheap and other processes cannot be heard.
   */
  readonly current: boolean
}

export interface CommonDatabase {
  /** Reads only. On SQLite it has its own connection, which writers never block. */
  readonly reader: Queryable
  /**
   * As `reader`, for reads that may take milliseconds, such as those of pages. On SQLite they run in a thread of their own, one after
   * the other, so that acknowledgements do not wait for them.
   */
  readonly slowReader: Queryable
  /**
   * Runs `work` in a transaction that commits when it resolves and rolls back when it throws.
   * @throws StorageUnavailable; if the database became unavailable during the commit, it is unknown whether the commit is durable.
   * Callers make a repetition harmless by unique keys and claims.
   */
  transaction<T>(work: (tx: Tx, last: RunLast) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** As `transaction`, with the priority `work`. */
  inBackground<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a single writing statement as a transaction: on PostgreSQL one round trip instead of three. */
  single<T>(statement: (db: Queryable) => Promise<T>): Promise<T>
  /** Runs inserts in one transaction: on PostgreSQL as one statement in one round trip. None may need the effect of another. */
  insertTogether(inserts: readonly CompiledQuery[]): Promise<void>
  begin(options?: TransactionOptions): LazyTransaction
  /** Transactions that short pieces of work share, because a commit costs more than most of them. */
  share<Note>(beforeCommit: BeforeCommit<Note>): SharedTransactions<Note>
  /** Wakes the listeners of every process, those of this one at once. A lost signal is harmless, because listeners also poll. */
  signal(name: Signal): void
  /** Wakes the listeners of this process alone. Returns whether there are any. */
  signalHere(name: Signal): boolean
  /** Wakes the listeners of the other processes. */
  signalOthers(name: Signal): void
  onSignal(name: Signal, listener: () => void): () => void
  /**
   * Sends an id (at most 36 characters, no spaces) to all other processes within milliseconds. It may be lost, as a signal. On
   * SQLite it does nothing.
   */
  publish(topic: Topic, id: string): void
  /** Calls `listener` with the ids that other processes send. */
  onPublished(topic: Topic, listener: (id: string) => void): () => void
  readonly revocations: Revocations
  /** Records numbers of events and deliveries that the database assigned, to detect if it assigns them again. */
  recordNumbers(event: number, delivery: number): void
  /**
   * Calls `listener` when the database may have returned to an earlier state (docs/adr/0029), so that data read before is void.
   * Never on SQLite, where a replaced file is not served until the next start.
   */
  onSetBack(listener: () => void): () => void
  /**
   * Writes nothing, so that it costs little. A full disk shows at the next write only: see receiving/store-events.ts.
   * @throws StorageUnavailable if the database does not answer; on PostgreSQL also if the server is read-only; on SQLite also if the file was
   * removed or replaced, or if one writer keeps all others waiting
   */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface SqliteDatabase extends CommonDatabase {
  readonly engine: 'sqlite'
  readonly file: string
  /** The file for connections of other threads. */
  readonly opened: OpenFile
  readonly readConnection: SqliteConnection
  /**
   * Reads rows as arrays in a thread of its own, one statement after the other. It has the condition `inTime`.
   * @param limit milliseconds from now. Then the statement ends with the code SQLITE_INTERRUPT, 9.
   */
  readonly readWithin: (limit: number, sql: string, parameters: readonly SqlValue[]) => Promise<SqlValue[][]>
  /**
   * A number that changes with every commit: while it is the same, `readConnection` reads the same. Writes of this process show
   * at once, commits of other processes within 5 milliseconds: the number is cached that long, because reading it costs as much as a
   * short page.
   */
  dataVersion(): number
  /** Makes this process the only one that serves the file, until `close`. @throws FileInUse */
  own(): void
  /**
   * Runs `work` synchronously in one transaction. Rejects if the work or the commit fails; then it is rolled back.
   */
  batch<T>(priority: WritePriority, work: (connection: SqliteConnection) => T): Promise<T>
  /** As `batch`, for a fixed list of statements, which run in a thread of their own. */
  batchInThread(priority: WritePriority, statements: readonly Repeated[]): Promise<void>
  /**
   * Acquires the right to write, for a writer with its own connection (another thread). Resolves with the release function, or with
   * `undefined` after `within` milliseconds, if given. Another process may still have the lock of the file.
   */
  hold(priority: WritePriority, within?: number): Promise<(() => void) | undefined>
  /** Records the writes of the transaction that is open now. To be called within it, and closed at its end. */
  watchWrites(): WriteSession
}

export interface PostgresDatabase extends CommonDatabase {
  readonly engine: 'postgres'
  readonly pool: Pool
  /**
   * For index seeks: PostgreSQL plans no sort and no scan of a table if an index has the order, regardless of statistics. The
   * statements must have names, so that each connection plans them once.
   */
  readonly seeks: Pool
  /** The standby, if one is configured. */
  readonly replica: Replica | undefined
  /**
   * Runs work that takes a connection of the pool for reads. A limit leaves connections for other work.
   * @param isQuick whether the work is expected to take milliseconds: then the limit is higher. Default false.
   * @throws StorageUnavailable if it cannot begin within seconds
   */
  readonly lists: <T>(work: () => Promise<T>, isQuick?: boolean) => Promise<T>
  /** The same for work that holds a connection for minutes: one at a time. */
  readonly maintenance: <T>(work: () => Promise<T>) => Promise<T>
  /** Runs a statement of a list on the caller's connection, or on one of the pool. */
  readonly rows: (statement: RowsStatement, client?: PoolClient) => Promise<RowValue[][]>
  /** Connections that keep their session between transactions. Behind some poolers, those of `pool` do not. */
  readonly sessions: Pool
  /** Owns the claims of this process, and proves that it is alive. */
  readonly claimer: Claimer
  /** Closes all sessions at once and refuses new ones, as if the process had ended. */
  readonly abandon: (why: Error) => void
  /** Adds a check to all new sessions, before their first use. */
  readonly addCheck: (check: SessionCheck) => void
  /** @throws UnsuitablePooler */
  readonly checkPooling: () => Promise<void>
}

export type Database = SqliteDatabase | PostgresDatabase
