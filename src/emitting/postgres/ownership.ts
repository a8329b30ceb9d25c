import type { Claimer } from '../../storage/postgres/session/claimer.ts'
import { anyForeignMigration } from '../../storage/schema-watch.ts'
import { isRetry, nextDue, subscribersPerScan, type DeliveryStore } from '../store.ts'
import type { Run } from './run.ts'

// Each step is one index seek, however many deliveries lie between two subscribers. The order names all columns of the index, so
// that no other index provides it: the index of the log would be read through to the first pending delivery. `ordered` is null
// for a subscriber that is not active.
const nextPending = (from: string): string => `
  select d.subscriber_id as id, (
    select s.ordered from subscribers s where s.id = d.subscriber_id and s.status = 'active'
  ) as ordered from (
    select d.subscriber_id from deliveries d where d.status = 'pending' and d.subscriber_id >= ${from}
    order by d.subscriber_id, ${isRetry}, d.due_at, d.id limit 1
  ) d`

const nextActive = (behind: string): string => `
  select s.id from (
    select s.id, s.status from subscribers s where s.status || ':' || s.id > 'active:' || ${behind}
    order by s.status || ':' || s.id limit 1
  ) s where s.status = 'active'`

// One step skips all subscribers that are not active up to the next active one. No id lies between an id and the same id with
// U+0001 at its end.
const dueSubscribers = `
  with recursive waiting as (
    (select id, ordered, 1 as step from (${nextPending('$1 || chr(1)')}) as first)
    union all
    select next.id, next.ordered, waiting.step + 1 from waiting
    cross join lateral (${nextPending(`
      case when waiting.ordered is null then (${nextActive('waiting.id')}) else waiting.id || chr(1) end`)}) as next
    where waiting.step < ${subscribersPerScan}
  )
  select s.id, case when s.ordered is null then false else ${nextDue('postgres')} <= $2 and not exists (
    select from queue_owners o where o.subscriber_id = s.id and o.dispatcher <> $3
  ) end as due from waiting s order by s.id`

// Locks the rows of the subscribers, so that none is removed before the row of its queue is inserted. Where it is there, nothing is locked:
// a lock is written to the log, and the commit would wait for the disk.
const take = `
  with taken as (
    insert into queue_owners (subscriber_id, dispatcher)
    select s.id, $1 from subscribers s where s.id = any($2) and s.status = 'active'
      and not exists (select from queue_owners o where o.subscriber_id = s.id)
      and not exists (${anyForeignMigration})
    order by s.id for key share
    on conflict do nothing returning subscriber_id
  )
  select subscriber_id as id from taken
  union all select subscriber_id from queue_owners where subscriber_id = any($2) and dispatcher = $1`

// A locked row is being deleted: by a take-over, or with its subscriber. Waiting for it in another order would be a deadlock.
const release = `
  delete from queue_owners where subscriber_id in (
    select subscriber_id from queue_owners where dispatcher = $1 and subscriber_id = any($2) for update skip locked
  )`

const oldest = `
  select id, due from (
    select s.id, ${nextDue('postgres')} as due from subscribers s
    where s.status = 'active' and s.rate_limit is null and not exists (
      select from queue_owners o where o.subscriber_id = s.id and o.dispatcher is distinct from $3
    )
  ) waiting where due <= $1 order by due limit $2`

type Ownership =
  | 'acquireSession'
  | 'subscribersDue'
  | 'claim'
  | 'release'
  | 'leaseValid'
  | 'releaseSession'
  | 'oldestDue'

/** @param seek runs statements that PostgreSQL must plan with index seeks */
export function ownershipIn(run: Run, seek: Run, claimer: Claimer): Pick<DeliveryStore, Ownership> {
  return {
    acquireSession: (listener) => claimer.start(listener),
    async subscribersDue(now, after) {
      const values = [after, now, claimer.id]
      const rows = await seek<{ id: string; due: boolean }>('due', dueSubscribers, values)
      const ids = rows.filter(({ due }) => due).map(({ id }) => id)
      return { ids, next: rows.length < subscribersPerScan ? undefined : rows.at(-1)!.id }
    },
    async claim(subscriberIds) {
      const rows = await run<{ id: string }>('take', take, [claimer.id, subscriberIds])
      return rows.map(({ id }) => id)
    },
    async release(subscriberIds) {
      await run('release', release, [claimer.id, subscriberIds])
    },
    leaseValid: () => claimer.isLeaseValid,
    releaseSession: () => claimer.close(),
    async oldestDue(now, busy) {
      const values = [now, busy.size + 1, claimer.lastId ?? null]
      const rows = await seek<{ id: string; due: number }>('oldest', oldest, values)
      return rows.find(({ id }) => !busy.has(id))?.due
    },
  }
}
