import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { isForOwner, type Reach } from '../events/audience.ts'
import type { DeliverySearch, ResponseClass } from './delivery-filter.ts'
import type { DeliverySource } from './delivery-sources.ts'

/** SQL for the conditions of a search on `deliveries`, without the one that its source ensures. */
export function conditionsOf(
  filter: DeliverySearch,
  reach: Reach,
  ensured: DeliverySource['ensured'],
): RawBuilder<SqlBool>[] {
  const { subscriberId, owner, status, eventType, since, until, responseClass } = filter
  const conditions: RawBuilder<SqlBool>[] = []
  if (reach !== 'all') conditions.push(isForOwner(reach.owner))
  // A job deletes the deliveries of a removed subscriber by and by: pages must not be filled with them.
  if (ensured !== 'subscriber')
    conditions.push(sql`exists (select 1 from subscribers where subscribers.id = deliveries.subscriber_id)`)
  // A condition that holds anyway would be a reason for a planner to read all deliveries of the subscriber.
  if (subscriberId !== undefined && ensured !== 'subscriber')
    conditions.push(sql`deliveries.subscriber_id = ${subscriberId}`)
  if (owner !== undefined && ensured !== 'owner')
    conditions.push(owner === null ? sql`deliveries.owner is null` : sql`deliveries.owner = ${owner}`)
  if (status) conditions.push(sql`deliveries.status = ${status}`)
  if (eventType)
    conditions.push(sql`(select type from events where events.id = deliveries.event) = ${eventType}`)
  if (since !== undefined) conditions.push(sql`deliveries.created_at >= ${since}`)
  if (until !== undefined) conditions.push(sql`deliveries.created_at < ${until}`)
  if (responseClass) conditions.push(answeredWith(responseClass))
  return conditions
}

function answeredWith(responseClass: ResponseClass): RawBuilder<SqlBool> {
  const of = sql`attempts.delivery = deliveries.id and attempts.number = deliveries.attempts`
  const from = Number(responseClass[0]) * 100
  const status = responseClass === 'none' ? sql`status is null` : sql`status between ${from} and ${from + 99}`
  return sql<SqlBool>`exists (select 1 from attempts where ${of} and ${status})`
}
