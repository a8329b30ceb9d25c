import type { AuditRow } from '../audit-log.ts'

/** A receiver of audit entries. */
export interface AuditDestination {
  /** Sends a batch, in order. @throws when the receiver does not accept it in time, or `signal` is aborted. */
  send(rows: readonly AuditRow[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
