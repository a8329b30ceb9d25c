import { hash } from 'node:crypto'
import type { Database } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { storableText } from '../../storage/sql-text.ts'
import { auditEntriesAfter } from '../audit/audit-reader.ts'

/** Milliseconds after which a claim expires unless it is renewed: longer than the timeout of a batch. */
const claimTime = 60_000
/** Characters of an error that are stored. */
const longestError = 300

/** The progress of a destination. */
type ExportState = Pick<Row<'audit_exports'>, 'position' | 'failing_since' | 'last_error'>

/**
 * The position of one destination in the audit log, stored in the database. One process at a time holds the claim of a
 * destination, and only this process advances the position.
 */
export class ExportPosition {
  readonly #database: Database
  readonly #destination: string

  /** @param url the address of the destination. Only its hash is stored, since it may contain credentials. */
  constructor(database: Database, url: string) {
    this.#database = database
    this.#destination = hash('sha256', url)
  }

  /** The progress; position 0 for a destination that has accepted nothing yet. */
  async state(): Promise<ExportState> {
    const row = await this.#database.reader
      .selectFrom('audit_exports')
      .select(['position', 'failing_since', 'last_error'])
      .where('destination', '=', this.#destination)
      .executeTakeFirst()
    return row ?? { position: 0, failing_since: null, last_error: null }
  }

  /** The time of the oldest entry that is not forwarded yet, in milliseconds since 1970; `undefined` if all are forwarded. */
  async oldestWaiting(): Promise<number | undefined> {
    const { position } = await this.state()
    const [row] = await auditEntriesAfter(this.#database, { after: position }, 1)
    return row?.created_at
  }

  /** Claims the destination or renews the claim. Returns the position; `undefined` while another process has the claim. */
  async claim(claim: string, now: number): Promise<number | undefined> {
    return this.#database.inBackground(async (tx) => {
      const first = { destination: this.#destination, position: 0, updated_at: now }
      const empty = { claim: null, claimed_until: null, failing_since: null, last_error: null }
      await tx
        .insertInto('audit_exports')
        .values({ ...first, ...empty })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const row = await tx
        .updateTable('audit_exports')
        .set({ claim, claimed_until: now + claimTime })
        .where('destination', '=', this.#destination)
        .where((eb) =>
          eb.or([eb('claim', 'is', null), eb('claim', '=', claim), eb('claimed_until', '<=', now)]),
        )
        .returning('position')
        .executeTakeFirst()
      return row?.position
    })
  }

  /** Stores the position after a batch was accepted and renews the claim. False when another process has claimed it. */
  advance(claim: string, position: number, now: number): Promise<boolean> {
    const progress = { position, failing_since: null, last_error: null, updated_at: now }
    return this.#update(claim, { ...progress, claimed_until: now + claimTime })
  }

  /** Stores why a batch was not accepted. The claim lasts until `retryAt`, so that no other process tries before. */
  async recordFailure(claim: string, error: string, now: number, retryAt: number): Promise<void> {
    const { failing_since } = await this.state()
    await this.#update(claim, {
      failing_since: failing_since ?? now,
      last_error: storableText(error, longestError),
      claimed_until: retryAt,
      updated_at: now,
    })
  }

  /** Ends the claim, so that another process can continue at once. */
  async release(claim: string): Promise<void> {
    await this.#update(claim, { claim: null, claimed_until: null })
  }

  async #update(claim: string, change: Partial<Row<'audit_exports'>>): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.inBackground((tx) =>
      tx
        .updateTable('audit_exports')
        .set(change)
        .where('destination', '=', this.#destination)
        .where('claim', '=', claim)
        .executeTakeFirst(),
    )
    return numUpdatedRows > 0n
  }
}
