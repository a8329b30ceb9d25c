import { lockSpaces } from '../../storage/advisory-locks.ts'
import { CompiledQuery } from 'kysely'
import type { Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'

/** On SQLite: makes the next event of an order key (given twice) pending if none is. */
export const advanceOne = `
  update event_queue set status = 'pending' where event = (
    select min(event) from event_queue where order_key = ? and status = 'blocked'
  ) and not exists (select 1 from event_queue where order_key = ? and status = 'pending')`

/** On PostgreSQL: locks these keys until the end of the transaction. */
export const lockKeys = `
  select pg_advisory_xact_lock(${lockSpaces.orderKeys}, hash)
  from (select distinct hashtext(key) as hash from unnest($1::text[]) as key order by hash) as keys`

/** On PostgreSQL: `advanceOne` for many keys. A statement of its own sees the commits before the lock. */
export const advanceAll = `
  update event_queue set status = 'pending' where event in (
    select next.event from unnest($1::text[]) as wanted (key) cross join lateral (
      select min(event) as event from event_queue where order_key = wanted.key and status = 'blocked'
    ) next
    where not exists (select from event_queue where order_key = wanted.key and status = 'pending')
  )`

export function orderKeysOf(events: Iterable<{ readonly orderKey: string | null }>): string[] {
  const keys = new Set<string>()
  for (const { orderKey } of events) if (orderKey !== null) keys.add(orderKey)
  return [...keys]
}

/** Makes the next event of each order key pending. Call it last in a transaction: on PostgreSQL it locks the keys. */
export async function advance(engine: Engine, tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return
  if (engine === 'sqlite') {
    for (const key of keys) await tx.executeQuery(CompiledQuery.raw(advanceOne, [key, key]))
    return
  }
  await tx.executeQuery(CompiledQuery.raw(lockKeys, [keys]))
  await tx.executeQuery(CompiledQuery.raw(advanceAll, [keys]))
}
