import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { AuditedStore } from '../../accounts/audit/audited-store.ts'
import type { Tx } from '../../storage/database.ts'
import { lockOwner } from './owner-lock.ts'

/** The display names of owners. */
export class OwnerNames extends AuditedStore {
  /** The names of those owners that have one. */
  async of(owners: readonly (string | null)[]): Promise<Map<string, string>> {
    const asked = [...new Set(owners)].filter((owner) => owner !== null)
    if (asked.length === 0) return new Map()
    const rows = await this.database.readerAside
      .selectFrom('owner_names')
      .select(['owner', 'name'])
      .where('owner', 'in', asked)
      .execute()
    return new Map(rows.map(({ owner, name }) => [owner, name]))
  }

  /** @param name null removes it */
  async set(owner: string, name: string | null, origin: AuditOrigin): Promise<void> {
    await this.database.transaction((tx) => this.setWithin(tx, owner, name, origin))
  }

  async setWithin(tx: Tx, owner: string, name: string | null, origin: AuditOrigin): Promise<void> {
    await lockOwner(this.database.engine, tx, owner)
    const before = await tx
      .selectFrom('owner_names')
      .select('name')
      .where('owner', '=', owner)
      .executeTakeFirst()
    if ((before?.name ?? null) === name) return
    if (name === null) await tx.deleteFrom('owner_names').where('owner', '=', owner).execute()
    else {
      const row = { name, updated_at: this.clock.now() }
      await tx
        .insertInto('owner_names')
        .values({ owner, ...row })
        .onConflict((conflict) => conflict.column('owner').doUpdateSet(row))
        .execute()
    }
    await this.record(tx, { action: 'owner.named', target: `owner:${owner}`, ...origin })
  }
}
