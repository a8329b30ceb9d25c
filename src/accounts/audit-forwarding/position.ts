import { hash } from 'node:crypto'
import type { Database } from '../../storage/database.ts'
import type { AuditExportsTable } from '../../storage/tables.ts'
import { AuditReader } from '../audit-reader.ts'

/** Milliseconds that a claim lasts without being renewed: longer than one batch may take. */
const claimLasts = 60_000
/** Characters of an error that are kept. */
const longestError = 300

/** How far a destination is. */
export type ExportState = Pick<AuditExportsTable, 'position' | 'failing_since' | 'last_error'>

/**
 * The position of one destination in the audit log, kept in the database. One process at a time holds the claim to forward;
 * it moves the position only while it does.
 */
export class ExportPosition {
  readonly #database: Database
  readonly #reader: AuditReader
  readonly #destination: string

  /** @param url the destination's address, of which only the hash is kept: it may hold credentials */
  constructor(database: Database, url: string) {
    this.#database = database
    this.#reader = new AuditReader(database)
    this.#destination = hash('sha256', url)
  }

  /** Of a destination that never took anything: the beginning of the log. */
  async state(): Promise<ExportState> {
    const row = await this.#database.reader
      .selectFrom('audit_exports')
      .select(['position', 'failing_since', 'last_error'])
      .where('destination', '=', this.#destination)
      .executeTakeFirst()
    return row ?? { position: 0, failing_since: null, last_error: null }
  }

  /** When the oldest entry was written that the destination has not taken, in milliseconds since 1970; `undefined` without one. */
  async oldestWaiting(): Promise<number | undefined> {
    const { position } = await this.state()
    const [row] = await this.#reader.page({ after: position }, 1)
    return row?.created_at
  }

  /** Claims the destination, or renews the claim. Gives the position, `undefined` while another process has the claim. */
  async claim(claim: string, now: number): Promise<number | undefined> {
    return this.#database.transaction(
      async (tx) => {
        const first = { destination: this.#destination, position: 0, updated_at: now }
        const empty = { claim: null, claimed_until: null, failing_since: null, last_error: null }
        await tx
          .insertInto('audit_exports')
          .values({ ...first, ...empty })
          .onConflict((conflict) => conflict.doNothing())
          .execute()
        const row = await tx
          .updateTable('audit_exports')
          .set({ claim, claimed_until: now + claimLasts })
          .where('destination', '=', this.#destination)
          .where((eb) =>
            eb.or([eb('claim', 'is', null), eb('claim', '=', claim), eb('claimed_until', '<=', now)]),
          )
          .returning('position')
          .executeTakeFirst()
        return row?.position
      },
      { priority: 'work' },
    )
  }

  /** Notes what the destination took, and renews the claim. False when another process has the claim by now. */
  moved(claim: string, position: number, now: number): Promise<boolean> {
    const took = { position, failing_since: null, last_error: null, updated_at: now }
    return this.#update(claim, { ...took, claimed_until: now + claimLasts })
  }

  /** Notes why the destination took nothing. The claim is kept until `again`, so that no other process tries before. */
  async failed(claim: string, error: string, now: number, again: number): Promise<void> {
    const { failing_since } = await this.state()
    await this.#update(claim, {
      failing_since: failing_since ?? now,
      last_error: error.slice(0, longestError).toWellFormed().replaceAll('\0', ''),
      claimed_until: again,
      updated_at: now,
    })
  }

  /** Lets another process go on at once. */
  async release(claim: string): Promise<void> {
    await this.#update(claim, { claim: null, claimed_until: null })
  }

  async #update(claim: string, change: Partial<AuditExportsTable>): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.transaction(
      (tx) =>
        tx
          .updateTable('audit_exports')
          .set(change)
          .where('destination', '=', this.#destination)
          .where('claim', '=', claim)
          .executeTakeFirst(),
      { priority: 'work' },
    )
    return numUpdatedRows > 0n
  }
}
