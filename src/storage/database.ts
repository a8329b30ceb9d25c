import type { Kysely, Transaction as KyselyTransaction } from 'kysely'
import type { Pool } from 'pg'
import type { SqliteConnection } from './sqlite/connection.ts'
import type { Tables } from './tables.ts'

/** A transaction of the service's own tables. */
export type Tx = KyselyTransaction<Tables>
/** What a query may run on: the reading side of the database, or a transaction. */
export type Queryable = Kysely<Tables>

/**
 * Who waits for the right to write, most urgent first: acknowledgements of received webhooks; requests that a client
 * waits for; the service's own background work and users' handlers.
 */
export type Lane = 'acknowledge' | 'request' | 'work'

/** A transaction that begins at its first query, so that slow work before it holds nothing. */
export interface LazyTransaction {
  readonly tx: Tx
  /** Whether a query was made. */
  readonly begun: boolean
  /** Runs work that uses `tx`, so that a wait for a lock that this very transaction holds is an error, no deadlock. */
  within<T>(work: () => T): T
  commit(): Promise<void>
  /** Safe to call at any time, also after a commit or a failure. */
  rollback(): Promise<void>
}

export interface TransactionOptions {
  lane?: Lane
  /** Milliseconds from the first query; then the transaction is rolled back and its queries fail. Default 10,000. */
  timeLimit?: number
}

/** Names of what sleeping workers are woken by. */
export type Signal = 'inbox' | 'deliveries' | 'jobs' | 'revocations'

interface CommonDatabase {
  /** Reads only. On SQLite a connection of its own, which a writer never blocks. */
  readonly reader: Queryable
  /** Runs `work` in a transaction that commits when it resolves and rolls back when it throws. */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  begin(options?: TransactionOptions): LazyTransaction
  /** Wakes the listeners of every process (of this one at once). Losing one is harmless: listeners poll as well. */
  signal(name: Signal): void
  onSignal(name: Signal, listener: () => void): () => void
  /** Throws StorageUnavailable when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface SqliteDatabase extends CommonDatabase {
  readonly engine: 'sqlite'
  readonly file: string
  readonly readConnection: SqliteConnection
  /**
   * Runs `work` synchronously in one transaction on the connection of the service's own writes. Rejects when the
   * commit fails; then nothing of it is kept.
   */
  batch<T>(lane: Lane, work: (connection: SqliteConnection) => T): Promise<T>
  /**
   * As `batch`, but wholly synchronous, and only if the right to write is free now, in this process and in the file;
   * otherwise `undefined` and nothing is done. What must not wait for a handler's transaction asks this way.
   */
  batchNow<T>(work: (connection: SqliteConnection) => T): { value: T } | undefined
}

export interface PostgresDatabase extends CommonDatabase {
  readonly engine: 'postgres'
  readonly pool: Pool
}

export type Database = SqliteDatabase | PostgresDatabase
