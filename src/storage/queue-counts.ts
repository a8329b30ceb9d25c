import { sql, type RawBuilder } from 'kysely'
import type { Database } from './database.ts'

/** Rows that one number counts at most, so that a long queue costs no more than this. */
export const mostCounted = 10_000

/** A number of rows, up to `mostCounted`. */
export interface Count {
  count: number
  /** Whether there are more. */
  more: boolean
}

interface QueueCounts {
  /**
   * Received events that wait for a handler: all, those that are due, and those that failed before. Blocked ones wait for
   * another event of their order key, and are not among `waiting`.
   */
  receiving: { waiting: Count; due: Count; retrying: Count; blocked: Count; failed: Count }
  /** Deliveries that wait for an attempt, the same. Those of paused subscribers wait, and are not due. */
  emitting: { waiting: Count; due: Count; retrying: Count; dead: Count }
}

interface Row {
  waiting: number
  due: number
  retrying: number
  blocked: number
  over: number
}

/** Counts what waits in the queues, by partial indexes. @param now milliseconds since 1970 */
export async function countQueues(database: Database, now: number): Promise<QueueCounts> {
  const some = mostCounted + 1
  // SQLite would read the index of all failures.
  const retried = sql.raw(database.engine === 'sqlite' ? 'indexed by event_queue_retrying' : '')
  const received = await one(
    database,
    sql<Row>`select count(*) as waiting, sum(case when due_at <= ${now} then 1 else 0 end) as due,
      (select count(*) from (select 1 from event_queue ${retried}
        where status = 'pending' and failed_at is not null limit ${some}) r) as retrying,
      (select count(*) from (select 1 from event_queue where status = 'blocked' limit ${some}) b) as blocked,
      (select count(*) from (select 1 from event_queue where status = 'failed' limit ${some}) f) as over
      from (select due_at from event_queue where status = 'pending' limit ${some}) w`,
  )
  const emitted = await one(
    database,
    sql<Row>`select count(*) as waiting,
      sum(case when due_at <= ${now} and active then 1 else 0 end) as due,
      sum(case when attempts > 0 then 1 else 0 end) as retrying, 0 as blocked,
      (select count(*) from (select 1 from deliveries d join subscribers s on s.id = d.subscriber_id
        where d.status = 'dead' limit ${some}) f) as over
      from (select d.due_at, d.attempts, s.status = 'active' as active from deliveries d
        join subscribers s on s.id = d.subscriber_id where d.status = 'pending' limit ${some}) w`,
  )
  return {
    receiving: { ...counts(received), blocked: bounded(received.blocked), failed: bounded(received.over) },
    emitting: { ...counts(emitted), dead: bounded(emitted.over) },
  }
}

async function one({ readerAside: reader }: Database, query: RawBuilder<Row>): Promise<Row> {
  const { rows } = await query.execute(reader)
  return rows[0]!
}

/** Of a queue that is longer than the bound, only the part that was looked at is known. */
function counts({ waiting, due, retrying }: Row): Record<'waiting' | 'due' | 'retrying', Count> {
  const { more } = bounded(waiting)
  const part = (count: number | null): Count => {
    const known = bounded(count ?? 0)
    return { ...known, more: known.more || more }
  }
  return { waiting: bounded(waiting), due: part(due), retrying: part(retrying) }
}

function bounded(count: number): Count {
  return { count: Math.min(count, mostCounted), more: count > mostCounted }
}
