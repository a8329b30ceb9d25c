import { CompiledQuery } from 'kysely'
import type { Engine } from '../storage/query-runner.ts'
import type { EmittedEvent } from './config.ts'
import { runHandlers, turnLimit, type AttemptParts } from './attempt.ts'
import { TransactionTimeout } from './interruptions.ts'
import { LazySignal } from './lazy-signal.ts'
import type { Plan } from './plan.ts'
import type { ClaimedEvent } from './store.ts'

export interface RehearseParts extends AttemptParts {
  engine: Engine
}

/**
 * Runs the handlers of an event in a transaction, emits their events, and rolls everything back. Effects outside of the transaction
 * remain. Returns the events that the handlers emitted.
 * @throws the error of a handler, or why its writes or events could not be stored; HandlerTimeout,
 * WaitedForTransaction, TransactionTimeout, the reason of a stop, StorageUnavailable.
 */
export function rehearse(claimed: ClaimedEvent, plan: Plan, parts: RehearseParts): Promise<EmittedEvent[]> {
  const { transactions, aborts, emitWithin, transactionTimeout = plan.timeout } = parts
  const { promise, resolve, reject } = Promise.withResolvers<EmittedEvent[]>()
  const aborted = new LazySignal()
  const scope = transactions.begin({
    alone: true,
    timeLimit: transactionTimeout,
    turnLimit,
    share: plan.group.key,
    onTimeLimit: () => end(new TransactionTimeout(transactionTimeout)),
  })
  const ended = aborts.onAbort(end)
  runAndUndo().then(resolve, reject).finally(ended)
  return promise

  async function runAndUndo(): Promise<EmittedEvent[]> {
    try {
      return await scope.within(work)
    } finally {
      await scope.rollback()
    }
  }

  async function work(): Promise<EmittedEvent[]> {
    const emitted = await runHandlers(claimed, { plan, scope, aborted, end, dryRun: true }, parts)
    aborted.throwIfAborted()
    if (emitted.length > 0) await emitWithin(scope.tx, emitted, claimed.event)
    // A commit would check these now: https://www.postgresql.org/docs/current/sql-set-constraints.html
    if (parts.engine === 'postgres')
      await scope.tx.executeQuery(CompiledQuery.raw('set constraints all immediate'))
    return emitted
  }

  /** Does not wait for a handler that ignores its signal. */
  function end(reason: Error): void {
    ended()
    reject(reason)
    scope.rollback().catch(() => undefined)
    aborted.abort(reason)
  }
}
