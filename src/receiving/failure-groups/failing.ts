import { sql } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import type { Kind } from '../queue/store.ts'

/** What one call reads at most: groups of each handler, and events of each group that have failed, or that are retried. */
const most = { groups: 5, events: 500 }

/** The events of a group whose last attempt failed after a time. */
export interface FailingGroup extends Kind {
  /** The id of the handler that failed. Source and type are those of one of its newest events. */
  readonly handler: string
  /** At most `most.events`, as `retrying`. */
  readonly failed: number
  readonly retrying: number
  /** The earliest of the last failures, in milliseconds since 1970. */
  readonly since: number
}

/**
 * Reads the groups with events whose last attempt failed after `after` and that were not processed since, the newest failure first. They
 * are chosen for each handler by itself, so that a handler with many failures hides no other.
 * @param after milliseconds since 1970
 */
export async function readFailing(reader: Queryable, after: number): Promise<FailingGroup[]> {
  // Both are limited before the time is compared, so that a group with many older failures costs no more.
  const failed = sql`select failed_at from event_queue where failure_group = recent.id and status = 'failed'
    order by event desc limit ${sql.lit(most.events)}`
  const retrying = sql`select failed_at from event_queue where failure_group = recent.id and status = 'pending' and failed_at is not null
    order by event desc limit ${sql.lit(most.events)}`
  const { rows } = await sql<FailingGroup>`
    with recent as (
      select * from (
        select id, handler, last_at, row_number() over (partition by handler order by last_at desc, id) as place from failure_groups
        where last_at > ${after} and (
          exists (select 1 from event_queue q where q.failure_group = failure_groups.id and q.status = 'failed')
          or exists (select 1 from event_queue q where q.failure_group = failure_groups.id and q.status = 'pending' and q.failed_at is not null))
      ) active where place <= ${sql.lit(most.groups)}
    ), counted as (
      select handler, last_at,
        (select count(*) from (${failed}) latest where failed_at > ${after}) as failed,
        (select count(*) from (${retrying}) latest where failed_at > ${after}) as retrying,
        (select min(failed_at) from (select * from (${failed}) one union all select * from (${retrying}) other) latest
          where failed_at > ${after}) as since,
        coalesce(
          (select max(event) from event_queue where failure_group = recent.id and status = 'failed'),
          (select max(event) from event_queue where failure_group = recent.id and status = 'pending')) as newest
      from recent
    )
    select handler, failed, retrying, since, source, type from counted join event_queue on event_queue.event = newest
    where since is not null order by last_at desc`.execute(reader)
  return rows
}
