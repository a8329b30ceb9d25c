import type { EndedBy, SavepointScope } from '../../storage/sharing/savepoint-scope.ts'
import type { SharedTransactions } from '../../storage/sharing/shared-transaction-queue.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Tx } from '../../storage/database.ts'
import { begin, end, spans, withContext } from '../../telemetry/spans.ts'
import { depthOf, EventLoop, longestChain, passedOn } from '../../telemetry/propagation.ts'
import type { EmittedEvent, HandlerContext, HandlerLog, ReceivedEvent } from '../config.ts'
import type { BlockedLoop } from './blocked-loop.ts'
import {
  EmittedTooLate,
  HandlerTimeout,
  HeldUpOthers,
  TransactionTimeout,
  WaitedForTransaction,
} from './interruptions.ts'
import type { Plan } from '../handlers/plan.ts'
import { computedProperty, receivedEvent } from './received-event.ts'
import type { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import type { ClaimedEvent, ProcessedMarker } from '../queue/store.ts'
import { noProviderToken } from '../handlers/declared-handlers.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Milliseconds that one handler may delay the others that share its transaction. */
export const turnLimit = 250

/**
 * Inserts events and their deliveries in the caller's transaction. Returns a function to call after the commit, which starts the deliveries.
 * @param causedBy the number of the event that caused them
 */
export type EmitWithin = (tx: Tx, events: readonly CausedEvent[], causedBy: number) => Promise<() => void>

/** An event of a handler. */
interface CausedEvent extends EmittedEvent {
  /** Headers of its deliveries, as JSON. See `passedOn`. */
  readonly headers: string | null
}

export interface AttemptParts extends Pick<ModuleParts, 'clock' | 'log'> {
  transactions: SharedTransactions<ProcessedMarker>
  emitWithin: EmitWithin
  aborts: AbortBroadcast
  /** Milliseconds that a transaction may be open, if that is limited beside the handlers' time. */
  transactionTimeout: number | undefined
  /** Finds handlers that block the event loop. */
  loop?: BlockedLoop | undefined
}

/** What is told about the handlers of one attempt. */
export interface AttemptTrace {
  /** The id of the handler that began last. */
  handler?: string
  /** Of its span, if it is traced. */
  traceparent?: string | undefined
  /** Called for each handler that ended without an error, with its milliseconds. */
  readonly onEnd?: ((handler: string, duration: number) => void) | undefined
}

/** The result of successful handlers, whose work is about to be committed. */
interface Attempted {
  /** Resolves after the commit; rejects if it failed. */
  readonly committed: Promise<void>
  /** To be called after the commit: starts the deliveries of what the handlers emitted. */
  readonly startDeliveries: (() => void) | undefined
  /** Milliseconds of its turn in the transaction. */
  readonly took: number
}

/**
 * Runs the handlers of a claimed event and commits their work, the events that they emitted and the processed-event
 * marker together, possibly with those of other events; `alone` requests a transaction of its own.
 * @throws what a handler threw, HandlerTimeout, WaitedForTransaction, TransactionTimeout, HeldUpOthers and SharedCommitFailed (to be tried
 * alone), ClaimLost, the reason of a stop, StorageUnavailable; then all is undone.
 */
export function attempt(
  claimed: ClaimedEvent,
  plan: Plan,
  alone: boolean,
  parts: AttemptParts,
  trace: AttemptTrace = {},
): Promise<Attempted> {
  const { transactions, clock, aborts, emitWithin, transactionTimeout = plan.timeout } = parts
  const { promise, resolve, reject } = Promise.withResolvers<Attempted>()
  const aborted = new LazySignal()
  let hasFailed = false
  const scope = transactions.begin({
    alone,
    timeLimit: transactionTimeout,
    turnLimit,
    group: plan.group.key,
    onEnd: (by) => end(reasonOf(by, transactionTimeout)),
  })
  const stopListening = aborts.onAbort(end)
  void work()
  return promise

  async function work(): Promise<void> {
    try {
      const emitted = await runHandlers(claimed, { plan, scope, aborted, end, trace }, parts)
      aborted.throwIfAborted()
      const startDeliveries =
        emitted.length > 0 ? await emitWithin(scope.tx, emitted, claimed.event) : undefined
      const { event, claim, orderKey } = claimed
      const { committed } = await scope.release({ event, claim, orderKey, at: clock.now() })
      resolve({ committed, startDeliveries, took: scope.took })
    } catch (error) {
      fail(error)
    } finally {
      stopListening()
    }
  }

  /**
   * Ends the transaction before it aborts the signal. A handler that ignores the signal continues, but is not waited for. Returns
   * false if the attempt had ended.
   */
  function end(reason: Error): boolean {
    if (scope.released || hasFailed) return false
    stopListening()
    fail(reason)
    aborted.abort(reason)
    return true
  }

  function fail(reason: unknown): void {
    hasFailed = true
    // If this fails, the next attempt fails too and reports the error.
    scope.rollback().catch(() => undefined)
    reject(reason)
  }
}

function reasonOf(by: EndedBy, transactionTimeout: number): Error {
  if (by === 'time limit') return new TransactionTimeout(transactionTimeout)
  if (by === 'connection lost') return new StorageUnavailable('the connection of the transaction was lost')
  return new HeldUpOthers()
}

/** Makes the log of one run. */
export interface LogOfHandlers {
  child(bindings: object): HandlerLog
}

interface HandlerRun {
  readonly plan: Plan
  readonly scope: SavepointScope<ProcessedMarker>
  readonly aborted: LazySignal
  /** Ends the run at a time limit, or for an error outside of the handlers' promises. Returns false if it had ended. */
  readonly end: (reason: Error) => boolean
  readonly trace: AttemptTrace
  readonly dryRun?: boolean
}

/** Runs the handlers one after the other, each within its own time limit. Returns the events that they emitted. */
export async function runHandlers(
  claimed: ClaimedEvent,
  { plan, scope, aborted, end, trace, dryRun = false }: HandlerRun,
  { clock, log, loop }: Pick<AttemptParts, 'clock' | 'loop'> & { log: LogOfHandlers },
): Promise<CausedEvent[]> {
  const event = receivedEvent(claimed)
  const emitted: CausedEvent[] = []
  const { source, event: number, eventId, type } = claimed
  let child: HandlerLog | undefined
  const handlerLog = (): HandlerLog =>
    (child ??= log.child({ source, event: number, eventId, type, ...(dryRun && { dryRun }) }))
  for (const { id, handle, timeout } of plan.handlers) {
    trace.handler = id
    const startedAt = clock.now()
    const waitedBefore = scope.waited
    const cancel = clock.after(timeout, () => {
      const waited = scope.waited - waitedBefore
      // A transaction that arrived shortly before the limit did not help either: waiting for half of the time counts as the cause.
      const heldUp = scope.isWaiting || waited > timeout / 2
      end(heldUp ? new WaitedForTransaction(waited, timeout) : new HandlerTimeout(timeout))
    })
    let ended = false
    const emit = (one: EmittedEvent): void => {
      aborted.throwIfAborted()
      if (ended) throw emittedTooLate(one, handlerLog())
      // Short numbers such as 1e400 are searched for here, because most payloads are not emitted.
      event.rememberNumbers()
      if (depthOf(event.headers) >= longestChain) throw endWith(new EventLoop(), fail)
      emitted.push(checked(one, carried(one, event.headers)))
    }
    const fail = (error: Error): boolean => {
      if (!end(error)) return false
      trace.handler = id
      return true
    }
    const context = new ContextOfHandler({ tx: scope.tx, emit, log: handlerLog, aborted, dryRun })
    const call = { handler: id, source, event: number, type, fail }
    const start = (): unknown => scope.within(() => handle(event, context), call)
    const stopWatching = loop?.watch(call)
    const stopMeasuring = (): void => {
      cancel()
      stopWatching?.()
    }
    // For a handler that never ends.
    aborted.onAbort(stopMeasuring)
    try {
      await (loop ? loop.start(call, start) : start())
    } finally {
      ended = true
      stopMeasuring()
    }
    aborted.throwIfAborted()
    trace.onEnd?.(id, Math.max(0, clock.now() - startedAt))
  }
  return emitted
}

/** The headers of its deliveries. */
function carried({ type }: EmittedEvent, headers: ReceivedEvent['headers']): string | null {
  if (!spans.emit.start.hasSubscribers) return passedOn(headers)
  const work = begin('emit', headers, { 'postern.type': type })
  end(work)
  return passedOn(withContext(headers, work))
}

/** The caller may be a promise that is not awaited, so the error is logged too. */
function emittedTooLate({ type }: EmittedEvent, log: HandlerLog): Error {
  const error = new EmittedTooLate(type)
  log.error({ err: error }, 'an event was not emitted')
  return error
}

/** Ends the attempt with an error that is about to be thrown: the handler may catch it. */
function endWith(error: Error, end: (error: Error) => unknown): Error {
  end(error)
  return error
}

const optional = ['id', 'audience', 'deliverAt', 'delay', 'channels', 'tags', 'payloadRetention'] as const

function checked(given: EmittedEvent, headers: string | null): CausedEvent {
  const { type, data } = given
  if (typeof type !== 'string' || type === '') throw new TypeError('emit: the event has no type')
  const event: CausedEvent = { type, data, headers }
  for (const name of optional) if (given[name] !== undefined) Object.assign(event, { [name]: given[name] })
  return event
}

interface HandlerContextParts {
  readonly tx: Tx
  readonly emit: HandlerContext['emit']
  readonly log: () => HandlerLog
  readonly aborted: LazySignal
  readonly dryRun: boolean
}

/** The second argument of handlers. The signal and the log are created at their first use: few handlers need them. */
export class ContextOfHandler implements HandlerContext {
  static readonly #log = computedProperty<ContextOfHandler>((context) => context.#makeLog())
  static readonly #signal = computedProperty<ContextOfHandler>((context) => context.#aborted.signal)
  readonly tx: HandlerContext['tx']
  readonly emit: HandlerContext['emit']
  declare readonly log: HandlerLog
  readonly dryRun: boolean
  readonly providerToken = noProviderToken
  declare readonly signal: AbortSignal
  readonly #makeLog: () => HandlerLog
  readonly #aborted: LazySignal

  constructor({ tx, emit, log, aborted, dryRun }: HandlerContextParts) {
    // To handlers, `tx` has the types of the user's own tables.
    this.tx = tx as unknown as HandlerContext['tx']
    this.emit = emit
    this.#makeLog = log
    this.dryRun = dryRun
    this.#aborted = aborted
    Object.defineProperty(this, 'log', ContextOfHandler.#log)
    Object.defineProperty(this, 'signal', ContextOfHandler.#signal)
  }
}

/** Creates its AbortSignal on demand: most handlers do not use one, and it costs as much as the rest of an attempt. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listener: (() => void) | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /**
   * Sets the function that is called on abort, before the listeners of the signal. A method, because with a property that runs set to
   * closures V8 copied four times as much in its young-generation collections (`bench process`, Node 26).
   */
  onAbort(listener: () => void): void {
    this.#listener = listener
  }

  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#listener?.()
    this.#controller?.abort(reason)
  }

  throwIfAborted(): void {
    if (this.#reason) throw this.#reason
  }
}
