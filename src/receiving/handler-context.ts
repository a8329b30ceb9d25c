import { computedProperty } from '../runtime/computed-property.ts'
import type { Tx } from '../storage/database.ts'
import type { HandlerContext, HandlerLog } from './config.ts'
import { noProviderToken } from './declared-handlers.ts'
import type { LazySignal } from './lazy-signal.ts'

/** What a handler gets beside the event. The signal is made at the first look at it. */
export class ContextOfHandler implements HandlerContext {
  static readonly #signal = computedProperty<ContextOfHandler>((context) => context.#aborted.signal)
  readonly tx: HandlerContext['tx']
  readonly emit: HandlerContext['emit']
  readonly log: HandlerLog
  readonly dryRun: boolean
  readonly providerToken = noProviderToken
  declare readonly signal: AbortSignal
  readonly #aborted: LazySignal

  constructor(tx: Tx, emit: HandlerContext['emit'], log: HandlerLog, aborted: LazySignal, dryRun: boolean) {
    // The service's own tables are not the user's business: they see theirs.
    this.tx = tx as unknown as HandlerContext['tx']
    this.emit = emit
    this.log = log
    this.dryRun = dryRun
    this.#aborted = aborted
    Object.defineProperty(this, 'signal', ContextOfHandler.#signal)
  }
}
