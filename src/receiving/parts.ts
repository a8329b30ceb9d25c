import type { Random } from '../runtime/clock.ts'
import type { ModuleParts } from '../http/service-module.ts'
import type { EmitWithin } from './worker/attempt.ts'
import type { ReceivingConfig } from './config.ts'
import { type ProviderTokenSource } from './handlers/declared-handlers.ts'
import type { OpenSpool } from './spool/file-spool.ts'

export interface ReceivingParts extends ModuleParts {
  config?: ReceivingConfig | undefined
  random?: Random
  /** Emits events in a handler's transaction. */
  emitWithin: EmitWithin
  /** For handlers that declare `providerTokens`. */
  providerTokens?: ProviderTokenSource
  /** Stores events while the database is unavailable. The caller closes it after this room has stopped. */
  spool?: OpenSpool | undefined
}
