import { CompiledQuery } from 'kysely'
import type { Database, Tx } from '../../storage/database.ts'
import type { EmittedEvent } from '../config.ts'
import {
  type AttemptParts,
  type LogOfHandlers,
  runHandlers,
  turnLimit,
  LazySignal,
} from '../worker/attempt.ts'
import { HandlerTimeout, TransactionTimeout } from '../worker/interruptions.ts'
import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import { postgresRecorder } from './postgres-writes.ts'
import { sqliteRecorder } from './sqlite-writes.ts'
import type { WriteRecorder, Writes } from './writes.ts'

export interface RehearseParts extends Omit<AttemptParts, 'log'> {
  database: Database
  log: LogOfHandlers
}

/** What handlers did before everything was rolled back. */
interface Rehearsed {
  /** What a handler threw, or why its writes or events could not be stored. */
  readonly error?: unknown
  readonly emitted: readonly EmittedEvent[]
  readonly writes: Writes
}

/** Milliseconds of a dry run at most, whatever its handlers may take. */
export const dryRunLimit = 30_000

/**
 * Runs the handlers of an event in a transaction, emits their events, and rolls everything back. Effects outside of the transaction
 * remain. Ends at the time limits of the handlers and of dry runs, and when the service stops.
 */
export function rehearse(claimed: ClaimedEvent, plan: Plan, parts: RehearseParts): Promise<Rehearsed> {
  const { transactions, aborts, emitWithin, clock, database, transactionTimeout = plan.timeout } = parts
  const { promise, resolve } = Promise.withResolvers<Rehearsed>()
  const aborted = new LazySignal()
  let recorder: WriteRecorder | undefined
  let isSettled = false
  const scope = transactions.begin({
    alone: true,
    timeLimit: Math.min(transactionTimeout, dryRunLimit),
    turnLimit,
    group: plan.group.key,
    async prepare(tx) {
      recorder = await recorderOf(database, tx)
    },
    onEnd: () => end(new TransactionTimeout(transactionTimeout)),
  })
  const cancelTimer = clock.after(dryRunLimit, () => end(new HandlerTimeout(dryRunLimit)))
  const stopListening = aborts.onAbort(end)
  void work().then(resolve).finally(settle)
  return promise

  async function work(): Promise<Rehearsed> {
    const readWrites = async (): Promise<Writes> => (await recorder?.read()) ?? nothing
    let writes = nothing
    try {
      const run = { plan, scope, aborted, end, trace: {}, dryRun: true }
      const emitted = await runHandlers(claimed, run, parts)
      aborted.throwIfAborted()
      writes = await readWrites()
      if (emitted.length > 0) await emitWithin(scope.tx, emitted, claimed.event)
      if (database.engine === 'postgres' && recorder) await checkConstraints(scope.tx)
      return { emitted, writes }
    } catch (error) {
      if (writes === nothing) writes = await readWrites().catch(() => unreadable)
      // Its events may be what cannot be stored, or shown.
      return { error, emitted: [], writes }
    } finally {
      await scope.rollback()
    }
  }

  function settle(): void {
    isSettled = true
    stopListening()
    cancelTimer()
    recorder?.close()
    recorder = undefined
  }

  /** Does not wait for a handler that ignores its signal. */
  function end(error: Error): boolean {
    if (isSettled) return false
    settle()
    resolve({ error, emitted: [], writes: unreadable })
    scope.rollback().catch(() => undefined)
    aborted.abort(error)
    return true
  }
}

const nothing: Writes = { tables: [], notes: [] }
const unreadable: Writes = {
  tables: [],
  notes: ['The writes could not be read, because the transaction had ended.'],
}

/** A commit would check those that are deferred: https://www.postgresql.org/docs/current/sql-set-constraints.html */
async function checkConstraints(tx: Tx): Promise<void> {
  await tx.executeQuery(CompiledQuery.raw('set constraints all immediate'))
}

function recorderOf(database: Database, tx: Tx): WriteRecorder | Promise<WriteRecorder> {
  return database.engine === 'sqlite' ? sqliteRecorder(database) : postgresRecorder(database, tx)
}
