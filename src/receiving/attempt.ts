import type { Clock } from '../clock.ts'
import type { Database, LazyTransaction, Tx } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { EmittedEvent, Handler, HandlerContext } from './config.ts'
import { noProviderToken } from './declared-handlers.ts'
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
  /** Milliseconds that the handlers of one event may take together. */
  timeout: number
}

/** The handler took longer than it may. */
export class HandlerTimeout extends Error {
  constructor(timeout: number) {
    super(`the handler did not end within ${timeout} ms: its signal was aborted and its work rolled back`)
    this.name = 'HandlerTimeout'
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
 * @throws what a handler threw, HandlerTimeout, the reason of `stop`, StorageUnavailable; then all is rolled back.
 */
export async function attempt(
  claimed: ClaimedEvent,
  claim: string,
  handlers: readonly Handler[],
  stop: AbortSignal,
  parts: AttemptParts,
): Promise<'processed' | 'lost'> {
  const { database, store, clock, timeout, emitWithin } = parts
  const transaction = database.begin({ lane: 'work', timeLimit: timeout })
  const limit = new AbortController()
  const cancel = clock.after(timeout, () => limit.abort(new HandlerTimeout(timeout)))
  const signal = AbortSignal.any([limit.signal, stop])
  try {
    const emitted = await unlessAborted(
      signal,
      transaction.within(() => runHandlers(claimed, handlers, transaction, signal, parts.log)),
    )
    const kept = await unlessAborted(
      signal,
      transaction.within(() => finish()),
    )
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
  } finally {
    cancel()
  }
}

async function runHandlers(
  claimed: ClaimedEvent,
  handlers: readonly Handler[],
  transaction: LazyTransaction,
  signal: AbortSignal,
  log: Log,
): Promise<EmittedEvent[]> {
  const event = receivedEvent(claimed)
  const emitted: EmittedEvent[] = []
  const { source, event: number, eventId, type } = claimed
  const handlerLog = log.child({ source, event: number, eventId, type })
  for (const handler of handlers) {
    let ended = false
    const context: HandlerContext = {
      // The service's own tables are not the user's business: they see theirs.
      tx: transaction.tx as unknown as HandlerContext['tx'],
      emit(one) {
        if (ended) {
          const error = new EmittedTooLate(String(one?.type))
          // Whoever called it may be a promise that nobody looks at.
          handlerLog.error({ err: error }, 'an event was not emitted')
          throw error
        }
        signal.throwIfAborted()
        emitted.push(checked(one))
      },
      signal,
      providerToken: noProviderToken,
      log: handlerLog,
    }
    try {
      await handler(event, context)
    } finally {
      ended = true
    }
  }
  return emitted
}

function checked({ type, data, id }: EmittedEvent): EmittedEvent {
  if (typeof type !== 'string' || type === '') throw new TypeError('emit: the event has no type')
  return { type, data, ...(id !== undefined && { id }) }
}

/** A handler that ignores its signal goes on, but nobody waits for it, and its transaction is over. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
