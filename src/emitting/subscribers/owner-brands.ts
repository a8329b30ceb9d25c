import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { AuditedStore } from '../../accounts/audit/audited-store.ts'
import type { Queryable } from '../../storage/database.ts'
import { lockOwner } from './owner-lock.ts'

/** How the portal of one owner looks. What is null is as the settings say. */
export interface OwnerBrand {
  name: string | null
  /** `#rrggbb`. */
  color: string | null
  /** A `data:` URI of an image. */
  logo: string | null
}

/** The brand of an owner without one. */
export const noBrand: OwnerBrand = { name: null, color: null, logo: null }

export class OwnerBrands extends AuditedStore {
  async get(owner: string, db: Queryable = this.database.reader): Promise<OwnerBrand> {
    const row = await db
      .selectFrom('owner_brands')
      .select(['name', 'color', 'logo'])
      .where('owner', '=', owner)
      .executeTakeFirst()
    return row ?? noBrand
  }

  /** Changes the given fields. A brand without a value is no row. */
  async change(owner: string, change: Partial<OwnerBrand>, origin: AuditOrigin): Promise<OwnerBrand> {
    return this.database.transaction(async (tx) => {
      await lockOwner(this.database.engine, tx, owner)
      const before = await this.get(owner, tx)
      const after = { ...before, ...change }
      const fields = (['name', 'color', 'logo'] as const).filter((field) => before[field] !== after[field])
      if (fields.length === 0) return before
      const row = { ...after, updated_at: this.clock.now() }
      if (Object.values(after).every((value) => value === null))
        await tx.deleteFrom('owner_brands').where('owner', '=', owner).execute()
      else
        await tx
          .insertInto('owner_brands')
          .values({ owner, ...row })
          .onConflict((conflict) => conflict.column('owner').doUpdateSet(row))
          .execute()
      await this.record(tx, {
        action: 'portal.brand_changed',
        target: `owner:${owner}`,
        detail: { fields: fields.join(' ') },
        ...origin,
      })
      return after
    })
  }
}
