import type { Clock } from '../clock.ts'
import type { Database, LazyTransaction, Tx } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { EmittedEvent, HandlerContext } from './config.ts'
import { noProviderToken } from './declared-handlers.ts'
import type { Plan } from './plan.ts'
import { receivedEvent } from './received-event.ts'
import type { ClaimedEvent, InboxStore } from './store.ts'

/** Inserts events and their deliveries in the caller's transaction. */
export type EmitWithin = (tx: Tx, events: readonly EmittedEvent[]) => Promise<unknown>

export interface AttemptParts {
  database: Database
  store: InboxStore
  clock: Clock
  log: Log
  emitWithin: EmitWithin
  /** Milliseconds that a transaction may be open, where there is such a bound beside the handlers' time. */
  transactionTimeout: number | undefined
}

/** The handler took longer than it may. */
export class HandlerTimeout extends Error {
  constructor(timeout: number) {
    super(`the handler did not end within ${timeout} ms: its signal was aborted and its work rolled back`)
    this.name = 'HandlerTimeout'
  }
}

/** A handler kept its transaction open for too long. */
export class TransactionTimeout extends Error {
  constructor(timeout: number) {
    super(
      `the handler's transaction was open for more than ${timeout} ms, while nobody else could write, and was rolled back: do slow work (calls, waiting) before the first use of tx, or raise HANDLER_TRANSACTION_TIMEOUT`,
    )
    this.name = 'TransactionTimeout'
  }
}

/** A handler called `emit` when it had returned: its work is committed by then, or is about to be. */
export class EmittedTooLate extends Error {
  constructor(type: string) {
    super(
      `emit was called with ${JSON.stringify(type)} after its handler had ended, so the event is not sent: await everything before the handler returns`,
    )
    this.name = 'EmittedTooLate'
  }
}

/**
 * Runs the handlers of a claimed event and commits their work, the events that they emitted and the processed-event
 * marker together. `lost`: somebody else holds the event by now, so nothing was kept.
 * @throws what a handler threw, HandlerTimeout, TransactionTimeout, the reason of `stop`, StorageUnavailable; then all
 * is rolled back.
 */
export async function attempt(
  claimed: ClaimedEvent,
  claim: string,
  plan: Plan,
  stop: AbortSignal,
  parts: AttemptParts,
): Promise<'processed' | 'lost'> {
  const { database, store, clock, emitWithin, transactionTimeout = plan.timeout } = parts
  const open = new AbortController()
  const transaction = database.begin({
    lane: 'work',
    timeLimit: transactionTimeout,
    onTimeLimit: () => open.abort(new TransactionTimeout(transactionTimeout)),
    share: plan.lane.key,
  })
  const signal = AbortSignal.any([stop, open.signal])
  try {
    const emitted = await runHandlers(claimed, plan, transaction, signal, parts)
    const kept = await unlessAborted(signal, transaction, finish)
    if (!kept) {
      await transaction.rollback()
      return 'lost'
    }
    await transaction.commit()
    if (emitted.length > 0) database.signal('deliveries')
    return 'processed'

    async function finish(): Promise<boolean> {
      if (!(await store.markProcessed(transaction.tx, claimed.event, claim, clock.now()))) return false
      if (emitted.length > 0) await emitWithin(transaction.tx, emitted)
      return true
    }
  } catch (error) {
    await transaction.rollback()
    throw error
  }
}

/** One after the other, each within its own time. */
async function runHandlers(
  claimed: ClaimedEvent,
  plan: Plan,
  transaction: LazyTransaction,
  stop: AbortSignal,
  { clock, log }: AttemptParts,
): Promise<EmittedEvent[]> {
  const event = receivedEvent(claimed)
  const emitted: EmittedEvent[] = []
  const { source, event: number, eventId, type } = claimed
  const handlerLog = log.child({ source, event: number, eventId, type })
  for (const { handle, timeout } of plan.handlers) {
    const limit = new AbortController()
    const cancel = clock.after(timeout, () => limit.abort(new HandlerTimeout(timeout)))
    const signal = AbortSignal.any([limit.signal, stop])
    let ended = false
    const context: HandlerContext = {
      // The service's own tables are not the user's business: they see theirs.
      tx: transaction.tx as unknown as HandlerContext['tx'],
      emit(one) {
        signal.throwIfAborted()
        if (ended) {
          const error = new EmittedTooLate(one.type)
          // Whoever called it may be a promise that nobody looks at.
          handlerLog.error({ err: error }, 'an event was not emitted')
          throw error
        }
        emitted.push(checked(one))
      },
      signal,
      providerToken: noProviderToken,
      log: handlerLog,
    }
    try {
      await unlessAborted(signal, transaction, async () => {
        try {
          await handle(event, context)
        } finally {
          ended = true
        }
      })
    } finally {
      cancel()
    }
  }
  return emitted
}

function checked({ type, data, id }: EmittedEvent): EmittedEvent {
  if (typeof type !== 'string' || type === '') throw new TypeError('emit: the event has no type')
  return { type, data, ...(id !== undefined && { id }) }
}

/**
 * A handler that ignores its signal goes on, but nobody waits for it, and its transaction is over before it hears of
 * the signal.
 */
function unlessAborted<T>(
  signal: AbortSignal,
  transaction: LazyTransaction,
  work: () => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      // Should it fail, whoever gets the reason tries again and sees why.
      transaction.rollback().catch(() => undefined)
      reject(signal.reason as Error)
    }
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    transaction
      .within(work)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort))
  })
}
