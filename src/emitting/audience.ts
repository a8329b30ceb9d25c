import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** As an event's audience: the subscribers of all owners, and those without one. */
export const everybody = '*'

/** A tenant or user as a caller names it: visible ASCII, 1 to 256 characters, but `*` alone. */
export const ownerPattern = '^(?!\\*$)[!-~]{1,256}$'

/**
 * Whether an event for `audience` is for a subscriber of `owner`. An event without an audience goes to subscribers
 * without an owner only: a forgotten audience must not show one tenant's data to another.
 * @param ownerlessGetAll whether those without an owner also get what is addressed to an owner
 */
export function isFor(audience: string | null, owner: string | null, ownerlessGetAll: boolean): boolean {
  if (audience === everybody) return true
  return owner === null ? audience === null || ownerlessGetAll : owner === audience
}

/**
 * Whether the event of a row of `deliveries` is for an owner, as SQL: what `isFor` says. Nothing else is made for an
 * owner's subscribers, but versions up to 1.0 let a subscriber change its owner.
 */
export function isForOwner(owner: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(select outbox.audience from outbox where outbox.event = deliveries.event) in (${owner}, ${everybody})`
}

/** The same for the owner that the subscriber of the delivery has; any event is for one without an owner. */
export const isForItsOwner = sql<SqlBool>`(
  select s.owner is null or o.audience in (s.owner, ${sql.lit(everybody)})
  from subscribers s left join outbox o on o.event = deliveries.event where s.id = deliveries.subscriber_id)`

/** Whose subscribers somebody may see and change: everybody's, as admins do, or those of one owner. */
export type Reach = 'all' | { readonly owner: string }

export function reaches(reach: Reach, owner: string | null): boolean {
  return reach === 'all' || reach.owner === owner
}
