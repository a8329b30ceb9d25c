import type { CompiledQuery, Kysely, QueryResult, Transaction as KyselyTransaction } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { ClosingStatement } from './closing-statement.ts'
import type { Moment } from './moment.ts'
import type { RowsStatement, RowValue } from './postgres/driver/queries.ts'
import type { SessionCheck } from './postgres/driver/session-client.ts'
import type { SharedSession } from './postgres/session/shared-session.ts'
import type { SqliteConnection } from './sqlite/connection.ts'
import type { Repeated } from './sqlite/statement-tasks.ts'
import type { Tables } from './tables.ts'

/** A transaction of the service's own tables. */
export type Tx = KyselyTransaction<Tables>
/** What a query may run on: the reading side of the database, or a transaction. */
export type Queryable = Kysely<Tables>

/**
 * The priorities of writers on SQLite, most urgent first: acknowledgements of received webhooks, requests of clients, and
 * background work including handlers.
 */
export type WritePriority = 'acknowledge' | 'request' | 'work'

/**
 * Has a statement run as the transaction's last one, by its commit: on PostgreSQL both are one round trip. To be called once,
 * and its answer is not to be waited for before the commit. When the statement fails, so does the commit.
 */
export type RunLast = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/** A transaction that begins at its first query, so that slow work before it holds nothing. */
export interface LazyTransaction {
  readonly tx: Tx
  /** Runs work that uses `tx`, so that a wait for a lock that this very transaction holds is an error, no deadlock. */
  within<T>(work: () => T): T
  /** See RunLast. */
  readonly last: RunLast
  commit(): Promise<void>
  /** Safe to call at any time, also after a commit or a failure. */
  rollback(): Promise<void>
}

export interface TransactionOptions {
  priority?: WritePriority
  /** Milliseconds from the first query; then the transaction is rolled back and its queries fail. Default 10,000. */
  timeLimit?: number
}

export interface ScopeOptions {
  /** Whether the scope gets a transaction of its own. */
  alone: boolean
  /** Milliseconds from the first query until the scope is rolled back. */
  timeLimit: number
  /** A shorter limit for scopes that share a transaction, because others wait for their turns. */
  turnLimit: number
  /** Called when a limit ended the scope. `early` if the scope would have had more time alone. */
  onTimeLimit: (early: boolean) => void
  /**
   * On PostgreSQL: the group with which the scope shares a limited number of connections. While few are free, a group that
   * has a connection waits for groups that have none.
   */
  share: string
}

/**
 * A unit of work in a savepoint of a transaction. It begins at its first query, so that slow work before that holds nothing. It
 * can be rolled back alone, and may be committed together with other scopes.
 */
export interface SavepointScope<Note> {
  readonly tx: Tx
  /** Whether it ended by `release`: then only a failure of its commit undoes it. */
  readonly released: boolean
  /** Whether it waits for its turn while other scopes use the database. */
  readonly isWaiting: boolean
  /** Milliseconds that it has waited for its turn. */
  readonly waited: number
  /** Milliseconds since its first query. */
  readonly took: number
  /** Runs work that uses `tx`, so that waiting for a lock that this scope holds is an error instead of a deadlock. */
  within<T>(work: () => T): T
  /**
   * Ends the scope; its work waits for the commit. `committed` rejects with SharedCommitFailed if a transaction that it
   * shared failed, whichever scope caused that.
   */
  release(note: Note): Promise<{ committed: Promise<void> }>
  /** Rolls the scope back. Safe to call at any time, also after `release` or a failure: then it does nothing. */
  rollback(): Promise<void>
}

/** Transactions that scopes share. A scope that fails does not affect the others. */
export interface SharedTransactions<Note> {
  begin(options: ScopeOptions): SavepointScope<Note>
}

/**
 * Runs the last statements before a commit, for all scopes of the transaction, given the notes of their releases. Returns the
 * final statement if that is to be sent together with the commit.
 * @throws when the transaction must not commit.
 */
export type BeforeCommit<Note> = (tx: Tx, notes: readonly Note[]) => Promise<ClosingStatement | undefined>

/** Names of what sleeping workers are woken by. */
export type Signal = 'event_queue' | 'deliveries' | 'jobs' | 'migrated'

/**
 * What other processes are told of by ids: rows of what they keep in memory that were changed, and subscribers whose lanes
 * have more to deliver.
 */
export type Topic = 'subscriber' | 'lane'

/** Lets a process keep in memory what it read about access, although any process may take it back. */
export interface Revocations {
  /**
   * Says, within a transaction, that what is kept about a subject (an id, of at most 100 characters) is not so any more.
   * The transaction then resolves when every process has heard it.
   */
  announce(tx: Tx, subject: string): Promise<void>
  /** Calls `listener` for each announcement of any process; without a subject when everything must be forgotten. */
  listen(listener: (subject: string | undefined) => void): void
  /**
   * Whether what is kept may be used now: everything that was announced until now has been heard. Always false on
   * SQLite, where other processes cannot be heard, and where a read costs less than asking would.
   */
  readonly current: boolean
}

/** A standby, for reads that may be behind by a bounded time. */
export interface Replica {
  /**
   * Whether a read on the standby may well succeed: asked before each, and by this the measuring goes on. The first one after a pause is
   * always refused.
   * @param maxAge milliseconds
   */
  usable(maxAge: number): boolean
  /**
   * Runs a statement of a list on the standby. `asOf`: everything that was committed before that moment is in the rows.
   * @throws ReplicaBehind when they would be older than `maxAge` milliseconds, or the standby is out of reach; what else the
   * statement fails with
   */
  rows(statement: RowsStatement, maxAge: number): Promise<{ rows: RowValue[][]; asOf: Moment }>
}

interface CommonDatabase {
  /** Reads only. On SQLite a connection of its own, which a writer never blocks. */
  readonly reader: Queryable
  /** Runs `work` in a transaction that commits when it resolves and rolls back when it throws. */
  transaction<T>(work: (tx: Tx, last: RunLast) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Runs a single writing statement, which is a transaction by itself: on PostgreSQL one round trip instead of three. */
  single<T>(statement: (db: Queryable) => Promise<T>): Promise<T>
  begin(options?: TransactionOptions): LazyTransaction
  /** Transactions that short pieces of work share, since a commit costs more than most of them do. */
  share<Note>(beforeCommit: BeforeCommit<Note>): SharedTransactions<Note>
  /** Wakes the listeners of every process (of this one at once). Losing one is harmless: listeners poll as well. */
  signal(name: Signal): void
  /** Wakes the listeners of this process alone. Returns whether there are any. */
  signalHere(name: Signal): boolean
  /** Wakes the listeners of the other processes. */
  signalOthers(name: Signal): void
  onSignal(name: Signal, listener: () => void): () => void
  /**
   * Tells all other processes of an id (of at most 36 characters, without spaces), within some milliseconds. As with `signal`,
   * what is lost costs time only. On SQLite nobody hears it.
   */
  tell(topic: Topic, id: string): void
  /** Calls `listener` for what other processes tell. */
  onTold(topic: Topic, listener: (id: string) => void): () => void
  readonly revocations: Revocations
  /** Numbers of events and deliveries that were given out to this process: lower ones are not to be given out again. */
  saw(event: number, delivery: number): void
  /**
   * Calls `listener` when the database was taken back to an earlier state, or moved, so that this may be (docs/adr/0029): what
   * was read before is not so any more. On SQLite a file that is replaced is not served until the next start.
   */
  onSetBack(listener: () => void): () => void
  /** Throws StorageUnavailable when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface SqliteDatabase extends CommonDatabase {
  readonly engine: 'sqlite'
  readonly file: string
  readonly readConnection: SqliteConnection
  /**
   * A number that changes with every commit: as long as it is the same, so is what `readConnection` reads. SQLite is asked
   * once in a turn of the loop, and again behind each write of this process: to ask costs as much as to read a short page.
   * A commit of another process is seen in the next turn.
   */
  dataVersion(): number
  /** Makes this process the one that serves the file, until `close`. @throws FileInUse */
  own(): void
  /**
   * Runs `work` synchronously in one transaction on the connection of the service's own writes. Rejects when the
   * commit fails; then nothing of it is kept.
   */
  batch<T>(priority: WritePriority, work: (connection: SqliteConnection) => T): Promise<T>
  /** As `batch`, for statements that are known beforehand: a thread carries them out, and the loop goes on meanwhile. */
  batchAside(priority: WritePriority, statements: readonly Repeated[]): Promise<void>
  /**
   * The right to write, for somebody who writes over a connection of their own (another thread): resolves with the
   * function that gives it back, or with `undefined` when it is not had within so many milliseconds, if any are given. The file's own
   * lock may still be taken, by another process.
   */
  hold(priority: WritePriority, within?: number): Promise<(() => void) | undefined>
}

export interface PostgresDatabase extends CommonDatabase {
  readonly engine: 'postgres'
  readonly pool: Pool
  /**
   * For statements that are seeks and nothing else: none is planned as a sort or as a scan of a table where an index has
   * the order, whatever is known of the tables. To be named, and planned once on each connection.
   */
  readonly seeks: Pool
  /** The standby, where one is configured. */
  readonly replica: Replica | undefined
  /**
   * Runs work that takes a connection of the pool for statements that may read much. Only so many do so at once that others
   * find a connection. @throws StorageUnavailable when it cannot begin within some seconds
   */
  readonly lists: <T>(work: () => Promise<T>) => Promise<T>
  /** The same for work that keeps a connection for minutes or longer: one at a time. */
  readonly maintenance: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * Runs a statement of a list, as `lists` does, on a connection of the pool; or at once, on one that the caller has of it.
   */
  readonly rows: (statement: RowsStatement, client?: PoolClient) => Promise<RowValue[][]>
  /** Connections that keep their session from one transaction to the next, which those of `pool` do not behind some poolers. */
  readonly sessions: Pool
  /** The session on which this process proves that it lives. */
  readonly claiming: SharedSession
  /** Ends all sessions at once, as the end of the process would, and makes no more: what is under way is rolled back. */
  readonly abandon: (why: Error) => void
  /** Has every session that is made from now on, in a pool or beside it, checked before its first use. */
  readonly addCheck: (check: SessionCheck) => void
  /** @throws UnsuitablePooler where a pooler lies between that takes away what the service needs. */
  readonly checkPooling: () => Promise<void>
}

export type Database = SqliteDatabase | PostgresDatabase
