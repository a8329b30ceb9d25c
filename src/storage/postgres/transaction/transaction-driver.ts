import type { PoolClient } from 'pg'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { ClosingStatement } from '../../transaction-over.ts'
import type { OpenTransaction, TransactionDriver } from '../../sharing/transaction-driver.ts'
import { kindOf } from '../../statement-kinds.ts'
import { StorageUnavailable, translateError } from '../../unavailable.ts'
import { queryBatch } from '../driver/queries.ts'
import { closeConnection } from '../driver/session-client.ts'
import type { ConnectionShares } from '../pool/connection-shares.ts'
import { bounded, nameOf, toResult, usersStatement } from '../driver/statement.ts'
import { commitOn, releaseLocks, sessionReset } from './transaction.ts'

/** The share of the connections for transactions that several scopes share. */
export const sharedByAll = 'shared'

/** Opens transactions on a pool of pipelined connections. */
export function postgresTransactions(parts: {
  /** Its connections are pipelined: a statement is sent before the previous one is answered, so a savepoint costs no round trip. */
  pool: { connect(): Promise<PoolClient> }
  shares: ConnectionShares
  /** Milliseconds that a statement may take, instead of the pool's limit. The server does not enforce it. */
  answerWithin: number
  /** Runs one statement with several lists of values. Default `queryBatch`. */
  together?: typeof queryBatch
}): OpenTransaction {
  const { pool, shares } = parts
  const statements = { within: parts.answerWithin, together: parts.together ?? queryBatch }
  return async (share, signal) => {
    const leaveShare = await shares.enter(share ?? sharedByAll, signal)
    try {
      const client = await pool.connect()
      return new PostgresTransactionDriver(client, leaveShare, {
        ...statements,
        isShared: share === undefined,
      })
    } catch (error) {
      leaveShare()
      throw translateError(error)
    }
  }
}

interface StatementOptions {
  /** Whether several scopes share the transaction. */
  readonly isShared: boolean
  readonly within: number
  readonly together: typeof queryBatch
}

/**
 * Milliseconds that a statement in a shared transaction waits for a lock. The transaction holds the locks of all its scopes, and shared
 * transactions of two processes may each want a lock of the other: the server would need its `deadlock_timeout`, a second, to end that.
 */
const lockWithin = 50

/** Milliseconds that the end of a transaction may take; its statements may take as long as their handlers. */
const endWithin = 10_000
const commit = bounded(endWithin, 'commit')
const rollback = bounded(endWithin, `rollback; ${releaseLocks}`)

class PostgresTransactionDriver implements TransactionDriver {
  readonly #client: PoolClient
  readonly #leaveShare: () => void
  readonly #options: StatementOptions
  #isReleased = false
  #onEnd: (() => void) | undefined
  /** Numbers the savepoints: if setting or releasing one fails, a rollback must not hit another one. */
  #savepoints = 0
  /** Whether a statement failed within the savepoint and none has succeeded since, as after a rollback to the handler's own savepoint. */
  #failed = false
  /** Whether the connection must be closed: another one may lead to a server that is available. */
  #useless = false
  /** Statements whose answers are not needed: they are sent together with the next statement. */
  readonly #unsent: string[]
  /** What ends all that handlers changed in the session. */
  readonly #reset: readonly string[]
  /** Whether a statement of the present scope may have changed more than rows. */
  #mayHaveChanged = false
  /** Whether the statements that follow are those of the service before the commit. */
  #isOwn = false

  constructor(client: PoolClient, leaveShare: () => void, options: StatementOptions) {
    this.#client = client
    this.#leaveShare = leaveShare
    this.#options = options
    this.#reset = sessionReset(client)
    this.#unsent = ['begin', ...this.#limits]
  }

  /** The handler's time limit holds instead of the server's limit for other statements; `answerWithin` enforces it. */
  get #limits(): string[] {
    const locks = this.#options.isShared ? [`set local lock_timeout = ${lockWithin}`] : []
    return ['set local statement_timeout to default', ...locks]
  }

  onLost(listener: (error: unknown) => void): void {
    this.#onEnd = () => listener(new StorageUnavailable('the connection of the transaction was lost'))
    this.#client.once('end', this.#onEnd)
  }

  isContended(): boolean {
    return false
  }

  savepoint(): void {
    this.#savepoints += 1
    this.#failed = false
    this.#unsent.push(`savepoint ${this.#name}`)
  }

  releaseSavepoint(answered: boolean): void {
    // The status is unknown before the first answer. It is also outdated right after an error: the error arrives before it.
    if (this.#failed || (answered && this.#client.getTransactionStatus() === 'E'))
      throw new Error('a statement in the transaction failed, so it was rolled back')
    this.#unsent.push(`release savepoint ${this.#name}`)
    // The next scope must not see its settings and temporary tables.
    if (this.#mayHaveChanged && this.#options.isShared) this.#unsent.push(...this.#reset, ...this.#limits)
    this.#mayHaveChanged = false
  }

  rollbackToSavepoint(): void {
    this.#unsent.push(`rollback to savepoint ${this.#name}`, `release savepoint ${this.#name}`)
    if (this.#mayHaveChanged) this.#unsent.push(releaseLocks)
    this.#mayHaveChanged = false
  }

  async run(query: CompiledQuery, own = false): Promise<QueryResult<unknown>> {
    if (own) this.#beginOwn()
    else this.#mayHaveChanged ||= !kindOf('postgres', query.sql).isPlain
    this.#sendUnsent()
    try {
      const result = toResult(
        await this.#client.query(usersStatement(query, own ? endWithin : this.#options.within)),
      )
      this.#failed = false
      return result
    } catch (error) {
      this.#failed = true
      const failure = translateError(error)
      this.#useless ||= failure instanceof StorageUnavailable
      throw failure
    }
  }

  async runTogether(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    this.#sendUnsent()
    const results: QueryResult<unknown>[] = []
    const batches = [...placesByText(queries)].map(async ([text, places]) => {
      const values = places.map((place) => queries[place]!.parameters)
      const statement = { text, name: nameOf(text, true) }
      const counts = await this.#options.together(this.#client, statement, values, this.#options.within)
      for (const [index, place] of places.entries())
        results[place] = { rows: [], numAffectedRows: BigInt(counts[index]!) }
    })
    try {
      await Promise.all(batches)
      this.#failed = false
      return results
    } catch (error) {
      this.#failed = true
      // No other statement may be sent before all of these are answered.
      await Promise.allSettled(batches)
      throw translateError(error)
    }
  }

  async commit(closing?: ClosingStatement): Promise<void> {
    this.#beginOwn()
    this.#sendUnsent()
    try {
      await commitOn(this.#client, commit, closing, () =>
        this.#client.query(usersStatement(closing!.query, endWithin)),
      )
    } catch (error) {
      await this.#release(true)
      throw translateError(error)
    }
    await this.#release(false)
  }

  async rollback(broken = false): Promise<void> {
    if (this.#isReleased) return
    try {
      // Without a rollback, closing the connection cancels its statement and makes the server roll back.
      if (!broken) await this.#client.query(rollback)
      await this.#release(broken || this.#useless)
    } catch {
      // The connection is lost, and the server rolls back by itself. The caller has seen the error already.
      await this.#release(true)
    }
  }

  get #name(): string {
    return `postern_part_${this.#savepoints}`
  }

  /**
   * Ends what handlers changed, also inside of functions: the statements of the service follow, and the next user of the connection. The
   * service locks in an order of its own, so that it may wait for locks.
   */
  #beginOwn(): void {
    if (!this.#isOwn) this.#unsent.push(...this.#reset)
    this.#isOwn = true
  }

  /** An error here makes all later statements fail, and the commit reports it. */
  #sendUnsent(): void {
    if (this.#unsent.length > 0) this.#client.query(this.#unsent.splice(0).join('; '), () => undefined)
  }

  /** Resolves when the connection is free, or is no more. */
  async #release(broken: boolean): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    if (this.#onEnd) this.#client.removeListener('end', this.#onEnd)
    if (broken) await closeConnection(this.#client)
    else this.#client.release()
    this.#leaveShare()
  }
}

/** The indexes of the queries that have the same text. */
function placesByText(queries: readonly CompiledQuery[]): Map<string, number[]> {
  const byText = new Map<string, number[]>()
  for (const [index, { sql }] of queries.entries()) {
    const places = byText.get(sql)
    if (places) places.push(index)
    else byText.set(sql, [index])
  }
  return byText
}
