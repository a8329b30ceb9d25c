import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import type { RecordAudit } from './audit.ts'

/** Reads and changes rows. Each change writes an entry of the audit log in its transaction. */
export abstract class AuditedStore {
  protected readonly database: Database
  protected readonly clock: Clock
  protected readonly record: RecordAudit

  constructor(database: Database, clock: Clock, record: RecordAudit) {
    this.database = database
    this.clock = clock
    this.record = record
  }
}
