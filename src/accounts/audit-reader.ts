import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { AuditRow } from './audit-log.ts'

/** Rows that are read at once: few enough to hold nobody up on SQLite. */
const batch = 500

/** Which entries are read. */
export interface AuditStart {
  /** Behind the entry with this `seq`; 0 is the beginning. */
  after: number
  /** At this time or later, in milliseconds since 1970. */
  since?: number | undefined
}

/**
 * Reads the audit log in the order of `seq`. A page never holds a number above which an entry could still appear late, so who
 * goes on from the last number that they have misses no entry (docs/adr/0004 says the same of events).
 */
export class AuditReader {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The next entries, at most `limit`. */
  async page({ after, since }: AuditStart, limit: number): Promise<AuditRow[]> {
    const { reader } = this.#database
    // The horizon comes before the rows, in a statement of its own: the rows then are of a later snapshot.
    const horizon = await this.#horizon()
    return reader
      .selectFrom('audit_log')
      .selectAll()
      .where('seq', '>', after)
      .$if(horizon !== undefined, (query) => query.where('seq', '<=', horizon!))
      .$if(since !== undefined, (query) => query.where('created_at', '>=', since!))
      .orderBy('seq')
      .limit(limit)
      .execute()
  }

  /**
   * All entries up to now, page by page. The next page is read when the one before was taken; no transaction stays open
   * meanwhile, however slow the reader is.
   * @param wanted aborted when the reader is gone
   */
  async *pages(start: AuditStart, wanted?: AbortSignal): AsyncGenerator<AuditRow[]> {
    for (let after = await this.#begin(start); wanted?.aborted !== true;) {
      const rows = await this.page({ ...start, after }, batch)
      if (rows.length > 0) yield rows
      if (rows.length < batch) return
      after = rows.at(-1)!.seq
    }
  }

  /** Behind which `seq` to begin, so that what is older than `since` is not read through. */
  async #begin({ after, since }: AuditStart): Promise<number> {
    if (since === undefined) return after
    const row = await this.#database.reader
      .selectFrom('audit_log')
      .select((eb) => eb.fn.min<number | null>('seq').as('first'))
      .where('created_at', '>=', since)
      .executeTakeFirstOrThrow()
    return row.first === null ? after : Math.max(after, row.first - 1)
  }

  /** On SQLite transactions write one after the other: what is visible is complete. */
  async #horizon(): Promise<number | undefined> {
    if (this.#database.engine === 'sqlite') return undefined
    const { rows } = await sql<{ horizon: number }>`select audit_horizon() as horizon`.execute(
      this.#database.reader,
    )
    return rows[0]!.horizon
  }
}
