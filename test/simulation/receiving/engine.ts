import type { Database } from '../../../src/storage/database.ts'
import type {
  BeforeCommit,
  SharedTransactions,
} from '../../../src/storage/sharing/shared-transaction-queue.ts'
import type { EventQueue, IncomingEvent, ProcessedMarker } from '../../../src/receiving/queue/store.ts'
import type { LocalSignals } from '../../../src/storage/signals.ts'

/** A database as one process has it. */
export interface Engine {
  readonly database: Database
  readonly store: EventQueue
  readonly signals: LocalSignals
  share(beforeCommit: BeforeCommit<ProcessedMarker>): SharedTransactions<ProcessedMarker>
  /** Stores what was received. @throws when it is not known whether it was stored. */
  keep(events: readonly IncomingEvent[]): Promise<void>
  /** The process is no more: what it had open is rolled back. */
  kill(): void
}
