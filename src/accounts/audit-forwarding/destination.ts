import type { AuditRow } from '../audit-log.ts'

/** Where entries are forwarded to. */
export interface AuditDestination {
  /** Sends a batch, in order. @throws when it was not taken, or not in time, or `signal` is aborted. */
  send(rows: readonly AuditRow[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
