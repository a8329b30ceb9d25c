/** The first key of the advisory locks on order keys: no other locks have it, since a key may hash to any number. */
const lockSpace = 7_229

/** On SQLite: makes the next event of an order key (given twice) pending, when none is. */
export const advanceOne = `
  update event_queue set status = 'pending' where event = (
    select min(event) from event_queue where order_key = ? and status = 'blocked'
  ) and not exists (select 1 from event_queue where order_key = ? and status = 'pending')`

/** On PostgreSQL: what decides about the events of these keys waits for whoever does so now. */
export const lockKeys = `
  select pg_advisory_xact_lock(${lockSpace}, hash)
  from (select distinct hashtext(key) as hash from unnest($1::text[]) as key order by hash) as keys`

/** On PostgreSQL: the same as `advanceOne`, for many; a statement of its own, which sees what was committed before the lock. */
export const advanceAll = `
  update event_queue set status = 'pending' where event in (
    select next.event from unnest($1::text[]) as wanted (key) cross join lateral (
      select min(event) as event from event_queue where order_key = wanted.key and status = 'blocked'
    ) next
    where not exists (select from event_queue where order_key = wanted.key and status = 'pending')
  )`

/** The order keys of those that have one, each once. */
export function orderKeysOf(events: Iterable<{ readonly orderKey: string | null }>): string[] {
  const keys = new Set<string>()
  for (const { orderKey } of events) if (orderKey !== null) keys.add(orderKey)
  return [...keys]
}
