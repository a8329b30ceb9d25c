import type { CompiledQuery, QueryResult } from 'kysely'
import type { Tx } from './database.ts'
import { transactionOver, type Engine } from './query-runner.ts'
import { rejectBeyondTransaction } from './statement-kinds.ts'
import { TransactionOver } from './transaction-over.ts'

/** What lending needs of a transaction. */
interface Lender {
  readonly engine: Engine
  /** Runs a single statement of the user's code. */
  run(query: CompiledQuery): Promise<QueryResult<unknown>>
  /** Ends what such a statement may have changed besides rows: settings, temporary tables, locks of the session. */
  restore(): Promise<void>
  /** Ends the transaction now, with the statement that is running. */
  abandon(): void
}

const lenders = new WeakMap<Tx, Lender>()

/** Makes a transaction known to `lend`. */
export function makeLendable(tx: Tx, lender: Lender): void {
  lenders.set(tx, lender)
}

/**
 * Lends a transaction of the service to the user's code, as a `Tx` of its own: statements whose effect would outlive the transaction
 * are rejected, and other effects than rows end with `work`. If `work` rejects while its statement is running, the transaction ends.
 * @throws StatementRejected, from statements
 */
export async function lend<T>(tx: Tx, work: (lent: Tx) => Promise<T>): Promise<T> {
  const lender = lenders.get(tx)
  if (!lender) throw new Error('only a whole transaction can be lent')
  const { engine } = lender
  const running = new Set<Promise<unknown>>()
  let [isOver, wasUsed] = [false, false]
  const lent = transactionOver(engine, async (query) => {
    rejectBeyondTransaction(engine, query.sql)
    if (isOver) throw new TransactionOver('committed')
    wasUsed = true
    const result = lender.run(query)
    running.add(result)
    try {
      return await result
    } finally {
      running.delete(result)
    }
  })
  try {
    const result = await work(lent)
    // Of statements that it did not wait for.
    await Promise.allSettled(running)
    isOver = true
    // Also after an insert, which may have run a trigger.
    if (wasUsed) await lender.restore()
    return result
  } catch (error) {
    isOver = true
    if (running.size > 0) lender.abandon()
    throw error
  }
}
