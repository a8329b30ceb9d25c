import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** The audience of an event for all subscribers, of every owner and without an owner. */
export const everybody = '*'

/** The name of a tenant or user: 1 to 256 visible ASCII characters, except `*` alone. */
export const ownerPattern = '^(?!\\*$)[!-~]{1,256}$'
/** The same in words. */
export const ownerForm = 'The id of an owner: 1 to 256 visible ASCII characters without spaces, and not `*`'

/**
 * Whether an event for `audience` is for a subscriber of `owner`. An event without an audience goes to subscribers
 * without an owner only: a forgotten audience must not show one tenant's data to another.
 * @param ownerlessGetAll whether subscribers without an owner also get events for an owner
 */
export function isFor(audience: string | null, owner: string | null, ownerlessGetAll: boolean): boolean {
  if (audience === everybody) return true
  return owner === null ? audience === null || ownerlessGetAll : owner === audience
}

/**
 * SQL for `isFor`, about the event of a row of `deliveries`. Subscribers with an owner only get such deliveries, but versions
 * up to 1.0 let a subscriber change its owner.
 */
export function isForOwner(owner: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(select idempotency_keys.audience from idempotency_keys where idempotency_keys.event = deliveries.event) in (${owner}, ${everybody})`
}

/** The same for the owner of the delivery's subscriber; true for a subscriber without an owner. */
export const isForItsOwner = sql<SqlBool>`(
  select s.owner is null or k.audience in (s.owner, ${sql.lit(everybody)})
  from subscribers s left join idempotency_keys k on k.event = deliveries.event where s.id = deliveries.subscriber_id)`

/** The subscribers that a caller can see and change: all of them (admins), or those of one owner. */
export type Reach = 'all' | { readonly owner: string }

export function reaches(reach: Reach, owner: string | null): boolean {
  return reach === 'all' || reach.owner === owner
}
