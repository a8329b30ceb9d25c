import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { ClosingStatement } from '../../lazy-transaction.ts'
import type { OpenTransaction, TransactionDriver } from '../../sharing/transaction-driver.ts'
import { kindOf } from '../../statement-kinds.ts'
import { StorageUnavailable, translated, translateError } from '../../unavailable.ts'
import { queryBatch } from '../driver/queries.ts'
import { closeConnection } from '../driver/session-client.ts'
import type { ConnectionShares } from '../pool/connection-shares.ts'
import { bounded, nameOf, toResult, toStatement, usersStatement } from '../driver/statement.ts'
import { releaseLocks, sessionReset } from './transaction.ts'

/** The share of the connections for transactions that several scopes share. */
export const sharedByAll = 'shared'

/** How a transaction bounds its statements. */
interface StatementLimits {
  /** Statements behind `begin`. */
  readonly settings: readonly string[]
  /** Whether several scopes share the transaction. */
  readonly isShared: boolean
  /** Milliseconds for a statement of the user's code, and for one of the service. Default: the pool's limit. */
  readonly within?: number
  readonly ownWithin?: number
  /** Runs one statement with several lists of values. */
  readonly together: typeof queryBatch
}

const ofService: StatementLimits = { settings: [], isShared: false, together: queryBatch }

/** Opens a transaction of the service. */
export async function openOwnTransaction(pool: Pool): Promise<TransactionDriver> {
  return new PostgresTransactionDriver(await translated(pool.connect()), ofService)
}

/**
 * Milliseconds that a statement in a shared transaction waits for a lock. The transaction holds the locks of all its scopes, and shared
 * transactions of two processes may each want a lock of the other: the server would need its `deadlock_timeout`, a second, to end that.
 */
const lockWithin = 50
/** Milliseconds for a statement of the service in the transaction of a handler, and for its end. */
const ownWithin = 10_000

/** Opens transactions for handlers on a pool of pipelined connections. */
export function postgresTransactions(parts: {
  /** Its connections are pipelined: a statement is sent before the previous one is answered, so a savepoint costs no round trip. */
  pool: { connect(): Promise<PoolClient> }
  shares: ConnectionShares
  /** Milliseconds that a statement may take, instead of the pool's limit. The server does not enforce it. */
  answerWithin: number
  /** Runs one statement with several lists of values. Default `queryBatch`. */
  together?: typeof queryBatch
}): OpenTransaction {
  const { pool, shares, answerWithin: within, together = queryBatch } = parts
  // The handler's time limit applies instead of the server's limit for other statements; `within` enforces it.
  const settings = ['set local statement_timeout to default']
  const alone: StatementLimits = { settings, isShared: false, within, ownWithin, together }
  const withLocks = [...settings, `set local lock_timeout = ${lockWithin}`]
  const shared: StatementLimits = { ...alone, settings: withLocks, isShared: true }
  return async (share, signal) => {
    const leaveShare = await shares.enter(share ?? sharedByAll, signal)
    try {
      const limits = share === undefined ? shared : alone
      return new PostgresTransactionDriver(await pool.connect(), limits, leaveShare)
    } catch (error) {
      leaveShare()
      throw translateError(error)
    }
  }
}

class PostgresTransactionDriver implements TransactionDriver {
  readonly #client: PoolClient
  readonly #limits: StatementLimits
  /** Only for transactions of handlers. */
  readonly #leaveShare: (() => void) | undefined
  #isReleased = false
  #onEnd: (() => void) | undefined
  /** Numbers the savepoints: if setting or releasing one fails, a rollback must not hit another one. */
  #savepoints = 0
  /** Whether a statement failed within the savepoint and none has succeeded since, as after a rollback to the handler's own savepoint. */
  #failed = false
  /** Set if the server is unavailable: then the connection is closed, because another one may lead to an available server. */
  #unavailable: StorageUnavailable | undefined
  /** Statements whose answers are not needed: they are sent together with the next statement. */
  readonly #unsent: string[]
  /** Whether a statement of the present scope may have changed more than rows. */
  #mayHaveChanged = false
  /** Whether nothing that the user's code changed is left in the session. */
  #isOwn: boolean

  constructor(client: PoolClient, limits: StatementLimits, leaveShare?: () => void) {
    this.#client = client
    this.#limits = limits
    this.#leaveShare = leaveShare
    this.#unsent = ['begin', ...limits.settings]
    this.#isOwn = leaveShare === undefined
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
    if (this.#mayHaveChanged && this.#limits.isShared)
      this.#unsent.push(...sessionReset(this.#client), ...this.#limits.settings)
    this.#mayHaveChanged = false
  }

  rollbackToSavepoint(): void {
    this.#unsent.push(`rollback to savepoint ${this.#name}`, `release savepoint ${this.#name}`)
    if (this.#mayHaveChanged) this.#unsent.push(releaseLocks)
    this.#mayHaveChanged = false
  }

  async run(query: CompiledQuery, own = false): Promise<QueryResult<unknown>> {
    if (own) this.#beginOwn()
    else {
      this.#mayHaveChanged ||= !kindOf('postgres', query.sql).isPlain
      this.#isOwn = false
    }
    this.#sendUnsent()
    try {
      const statement = own ? this.#ownStatement(query) : usersStatement(query, this.#limits.within)
      const result = toResult(await this.#client.query(statement))
      this.#failed = false
      return result
    } catch (error) {
      this.#failed = true
      const failure = translateError(error)
      if (failure instanceof StorageUnavailable) this.#unavailable ??= failure
      // Statements that were sent behind the failed one get only the error that the transaction is aborted.
      throw isAborted(error) ? (this.#unavailable ?? failure) : failure
    }
  }

  async runTogether(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    this.#sendUnsent()
    const results: QueryResult<unknown>[] = []
    const batches = [...placesByText(queries)].map(async ([text, places]) => {
      const values = places.map((place) => queries[place]!.parameters)
      const statement = { text, name: nameOf(text, true) }
      const counts = await this.#limits.together(this.#client, statement, values, this.#limits.within)
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

  async restore(): Promise<void> {
    if (this.#isOwn) return
    await translated(this.#client.query(sessionReset(this.#client).join('; ')))
    this.#isOwn = true
  }

  async commit(closing?: ClosingStatement, within?: number): Promise<void> {
    this.#beginOwn()
    // COMMIT is sent behind it, and closing the connection would not take that back. So the server bounds its time.
    if (closing && within !== undefined) this.#unsent.push(`set local statement_timeout = ${within}`)
    this.#sendUnsent()
    try {
      const closed = closing && this.#close(closing)
      closed?.catch(() => undefined)
      const { command } = await this.#client.query(this.#ownEnd('commit'))
      // If a statement of the transaction failed, the server answers COMMIT with ROLLBACK instead of an error.
      if (command !== 'COMMIT') {
        await closed
        throw new Error('a statement in the transaction failed, so it was rolled back')
      }
    } catch (error) {
      await this.#release(true)
      throw translateError(error)
    }
    await this.#release(false)
  }

  async #close(closing: ClosingStatement): Promise<void> {
    try {
      closing.succeed(toResult(await this.#client.query(this.#ownStatement(closing.query))))
    } catch (error) {
      throw closing.fail(translateError(error))
    }
  }

  async rollback(broken = false): Promise<void> {
    if (this.#isReleased) return
    try {
      // Without a rollback, closing the connection cancels its statement and makes the server roll back.
      if (!broken) await this.#client.query(this.#ownEnd(`rollback; ${releaseLocks}`))
      await this.#release(broken || this.#unavailable !== undefined)
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
    if (!this.#isOwn) this.#unsent.push(...sessionReset(this.#client))
    this.#isOwn = true
  }

  /** An error here makes all later statements fail, and the commit reports it. */
  #sendUnsent(): void {
    if (this.#unsent.length > 0) this.#client.query(this.#unsent.splice(0).join('; '), () => undefined)
  }

  #ownStatement(query: CompiledQuery): QueryConfig {
    const { ownWithin: within } = this.#limits
    return within === undefined
      ? toStatement(query)
      : { ...bounded(within, query.sql), ...toStatement(query) }
  }

  #ownEnd(text: string): QueryConfig {
    const { ownWithin: within } = this.#limits
    return within === undefined ? { text } : bounded(within, text)
  }

  /** Resolves when the connection is free. Of a handler, whose work may run again at once, also when the server has ended its statements. */
  async #release(broken: boolean): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    if (this.#onEnd) this.#client.removeListener('end', this.#onEnd)
    if (broken && this.#leaveShare) await closeConnection(this.#client)
    else this.#client.release(broken)
    this.#leaveShare?.()
  }
}

/** in_failed_sql_transaction */
const isAborted = (error: unknown): boolean => (error as { code?: string }).code === '25P02'

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
