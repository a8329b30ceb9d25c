import { computedProperty } from '../../runtime/computed-property.ts'
import type { Tx } from '../../storage/database.ts'
import type { HandlerContext, HandlerLog } from '../config.ts'
import { noProviderToken } from '../handlers/declared-handlers.ts'
import type { LazySignal } from './lazy-signal.ts'

export interface HandlerContextParts {
  readonly tx: Tx
  readonly emit: HandlerContext['emit']
  readonly log: HandlerLog
  readonly aborted: LazySignal
  readonly dryRun: boolean
}

/** The second argument of handlers. The signal is created at its first use. */
export class ContextOfHandler implements HandlerContext {
  static readonly #signal = computedProperty<ContextOfHandler>((context) => context.#aborted.signal)
  readonly tx: HandlerContext['tx']
  readonly emit: HandlerContext['emit']
  readonly log: HandlerLog
  readonly dryRun: boolean
  readonly providerToken = noProviderToken
  declare readonly signal: AbortSignal
  readonly #aborted: LazySignal

  constructor({ tx, emit, log, aborted, dryRun }: HandlerContextParts) {
    // To handlers, `tx` has the types of the user's own tables.
    this.tx = tx as unknown as HandlerContext['tx']
    this.emit = emit
    this.log = log
    this.dryRun = dryRun
    this.#aborted = aborted
    Object.defineProperty(this, 'signal', ContextOfHandler.#signal)
  }
}
