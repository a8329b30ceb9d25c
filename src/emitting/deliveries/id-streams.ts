import { sql } from 'kysely'
import type { IdStream } from '../../storage/id-order.ts'
import type { DeliveryStatus } from '../../storage/tables.ts'

export type OpenStatus = Exclude<DeliveryStatus, 'delivered'>

/** Deliveries of a subscriber, of an owner or of all, of a status or of any. */
export function deliveryStream({
  subscriberId,
  owner,
  status,
}: {
  subscriberId?: string | undefined
  owner?: string | undefined
  status?: OpenStatus | undefined
}): IdStream {
  const all = { table: 'deliveries', id: 'id', first: {} } as const
  const isOpen = `status <> 'delivered'`
  if (subscriberId !== undefined) {
    const own = { ...all, first: { subscriber_id: sql`${subscriberId}` } }
    if (status === undefined) return { ...own, index: 'deliveries_of_subscriber' }
    const where = `status = '${status}'`
    return status === 'dead'
      ? { ...own, index: 'deliveries_dead_of_subscriber', where }
      : { ...own, index: 'deliveries_in_order', key: 'id + 0', where }
  }
  const withStatus = status && { status: sql.lit(status) }
  if (owner === undefined)
    return withStatus ? { ...all, index: 'deliveries_open', first: withStatus, where: isOpen } : all
  const first = { owner: sql`${owner}`, ...withStatus }
  return withStatus
    ? { ...all, index: 'deliveries_open_of_owner', first, where: `owner is not null and ${isOpen}` }
    : { ...all, index: 'deliveries_of_owner', first, where: 'owner is not null' }
}

/** The emitted events of a type. */
export function eventsOfType(type: string): IdStream {
  const index = 'events_emitted_by_type'
  return { table: 'events', id: 'id', index, first: { type: sql`${type}` }, where: `direction = 'emitted'` }
}

/** The emitted events for an audience: an owner, or `everybody`. Without one, all. */
export function eventsFor(audience?: string): IdStream {
  const all = { table: 'idempotency_keys', id: 'event', first: {} } as const
  if (audience === undefined) return all
  const [index, where] = ['idempotency_keys_of_audience', 'audience is not null']
  return { ...all, index, first: { audience: sql`${audience}` }, where }
}
