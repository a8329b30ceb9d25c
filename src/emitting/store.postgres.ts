import { CompiledQuery } from 'kysely'
import type { PostgresDatabase } from '../storage/database.ts'
import type { LeaveClaimer } from '../storage/postgres/session/claimer.ts'
import { bounded, prepare, toResult } from '../storage/postgres/driver/statement.ts'
import { kyselyOver } from '../storage/query-runner.ts'
import { translated } from '../storage/unavailable.ts'
import {
  activeSubscribersIn,
  type Completion,
  type DeliveryStore,
  dueColumns,
  type DueDelivery,
  type EventPayload,
  inOrder,
  isRetry,
  nextDue,
  subscribersPerScan,
} from './store.ts'
import { poolRows } from '../storage/postgres/pool/connection-shares.ts'
import { type Column, encodeArrays, queryArrays } from '../storage/postgres/driver/queries.ts'
import { anyForeignMigration } from '../storage/schema-watch.ts'

/**
 * Milliseconds until a statement counts as failed, so that a broken network path does not stop the dispatcher. The batch is then
 * written again, which has no effect if the first write was committed.
 */
const answerWithin = 5_000

/** Runs a named statement, which each connection plans once. */
type Run = <Row>(name: string, text: string, values: unknown[]) => Promise<Row[]>

function runOn(pool: PostgresDatabase['pool']): Run {
  return (name, text, values) =>
    poolRows(pool, { ...bounded(answerWithin, text, values), name: `emitting_${name}` })
}

// Named statements are planned once, without the values. The literal 'pending' lets them use the partial indexes. Scans and reads
// run on sessions without sorts (`seeks`), and only one index provides their order: with a choice, outdated statistics could let
// PostgreSQL sort a million waiting rows for each batch.

/**
 * The owner of a queue is a row of `queue_owners` that names a claimer, which lives as long as the session of its process.
 * @param onError called if the queues could not be released at the end
 */
export function postgresDeliveryStore(
  database: PostgresDatabase,
  onError: (error: unknown) => void,
): DeliveryStore {
  const { pool, seeks, claimer } = database
  let leave: LeaveClaimer | undefined
  const reader = kyselyOver('postgres', async ({ sql, parameters }: CompiledQuery) =>
    toResult(await translated(pool.query(bounded(answerWithin, sql, [...parameters])))),
  )
  const run = runOn(pool)
  // Runs statements that PostgreSQL must plan with index seeks.
  const seek = runOn(seeks)
  return {
    activeSubscribers: activeSubscribersIn(reader),
    readPayloads: readPayloadsBy(run),
    readDue: readDueBy(seek),
    ...completionsIn(pool),
    async acquireSession(listener) {
      leave = await claimer.join(listener)
    },
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
    async releaseSession() {
      if (!leave) return
      // The claimer stays while handlers run, for longer than the attempts.
      await run('release', release, [claimer.lastId, null]).catch(onError)
      await leave(true)
    },
    async oldestDue(now, busy) {
      const values = [now, busy.size + 1, claimer.lastId ?? null]
      const rows = await seek<{ id: string; due: number }>('oldest', oldest, values)
      return rows.find(({ id }) => !busy.has(id))?.due
    },
  }
}

// The same text for any number of events: a process that owns queues runs it for each notification of other processes.
const payloads = `
  select events.id, events.event_id, events.type, events.payload, events.nonce, events.headers, idempotency_keys.audience
  from events left join idempotency_keys on idempotency_keys.event = events.id
  where events.id = any($1) and ($2::bigint is null or octet_length(payload) <= $2)`

const readDue = `
  select due.* from unnest($2::text[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[])
    as want (subscriber, retries, due_at, id, count)
  cross join lateral (
    select d.subscriber_id as "subscriberId", ${dueColumns} from deliveries d
    where d.subscriber_id = want.subscriber and d.status = 'pending' and ${isRetry} = want.retries
      and (d.due_at, d.id) > (want.due_at, want.id) and d.due_at <= $1
    order by d.due_at, d.id limit want.count
  ) due`

const readFirst = `
  select due.* from unnest($2::text[]) as want (subscriber)
  cross join lateral (
    select d.subscriber_id as "subscriberId", ${dueColumns} from deliveries d where d.subscriber_id = want.subscriber and d.status = 'pending'
    order by ${inOrder.postgres} limit 1
  ) due where due."dueAt" <= $1`

function readDueBy(seek: Run): DeliveryStore['readDue'] {
  return async (requests, now) => {
    const behind = requests.filter((request) => !request.ordered)
    const ordered = requests.filter((request) => request.ordered)
    const rows = await Promise.all([
      behind.length === 0
        ? []
        : seek<DueDelivery>('read_due', readDue, [
            now,
            behind.map(({ subscriberId }) => subscriberId),
            behind.map(({ retries }) => (retries ? 1 : 0)),
            behind.map(({ behind: { dueAt } }) => dueAt),
            behind.map(({ behind: { id } }) => id),
            behind.map(({ count }) => count),
          ]),
      ordered.length === 0
        ? []
        : seek<DueDelivery>('read_first', readFirst, [now, ordered.map(({ subscriberId }) => subscriberId)]),
    ])
    return rows.flat()
  }
}

function readPayloadsBy(run: Run): DeliveryStore['readPayloads'] {
  return async (events, longest) => {
    if (events.length === 0) return new Map()
    const rows = await run<EventPayload & { id: number }>('payloads', payloads, [events, longest ?? null])
    return new Map(rows.map(({ id, ...rest }) => [id, rest]))
  }
}

// A delivery with another nonce is not updated: it belongs to another event, since the database was restored (docs/adr/0029).
// A delivery that was replayed during the attempt keeps its status. A success is applied even if another process
// recorded an attempt meanwhile, unless the delivery was replayed since.
const complete = {
  name: 'emitting_complete',
  text: `
  with result as (
    select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
      $7::integer[], $8::integer[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[], $15::bytea[],
      $16::bigint[])
      as r (id, number, status, due_at, finished_at, at, duration_ms, http_status, error, failure, phases,
        request_headers, response_headers, request_body, response_body, nonce)
  ), finished as (
    update deliveries d set attempts = d.attempts + 1, status = case when d.status = 'pending' then r.status else d.status end,
      due_at = case when d.status = 'pending' then r.due_at else d.due_at end,
      finished_at = case when d.status = 'pending' then r.finished_at else d.finished_at end,
      attempts_before = d.attempts_before +
        case when d.planned_at > r.at and d.status = 'pending' and r.status = 'pending' then 1 else 0 end,
      planned_at = null
    from result r where d.id = r.id and d.nonce is not distinct from r.nonce and (
      d.attempts = r.number - 1 or (r.status = 'delivered' and d.status = 'pending' and r.number > d.attempts_before)
    )
    returning d.id, d.attempts
  )
  insert into attempts (delivery, number, at, duration_ms, status, error, failure, phases, request_headers,
    response_headers, request_body, response_body)
  select r.id, finished.attempts, r.at, r.duration_ms, r.http_status, r.error, r.failure, r.phases, r.request_headers,
    r.response_headers, r.request_body, r.response_body
  from result r join finished on finished.id = r.id on conflict do nothing`,
}

const completeReturning = `${complete.text} returning delivery`

function completionsIn(pool: PostgresDatabase['pool']): Pick<DeliveryStore, 'complete' | 'completeWithin'> {
  return {
    async complete(completions) {
      await translated(
        queryArrays(pool, complete, { rows: sorted(completions), columns: completionColumns }, answerWithin),
      )
    },
    async completeWithin(tx, completions) {
      const values = encodeArrays(sorted(completions), completionColumns)
      const query = prepare(CompiledQuery.raw(completeReturning, values))
      const recorded = (await tx.executeQuery(query)) as { rows: { delivery: number }[] }
      return new Set(recorded.rows.map(({ delivery }) => delivery))
    },
  }
}

/** In the order of the parameters of `complete`. */
const completionColumns: readonly Column<Completion>[] = [
  { kind: 'bigints', read: ({ delivery }) => delivery.id },
  { kind: 'integers', read: ({ delivery }) => delivery.number },
  { kind: 'texts', read: ({ status }) => status },
  { kind: 'bigints', read: ({ dueAt }) => dueAt },
  { kind: 'bigints', read: ({ finishedAt }) => finishedAt },
  { kind: 'bigints', read: ({ attempt }) => attempt.at },
  { kind: 'integers', read: ({ attempt }) => attempt.durationMs },
  { kind: 'integers', read: ({ attempt }) => attempt.status },
  { kind: 'texts', read: ({ attempt }) => attempt.error },
  { kind: 'texts', read: ({ attempt }) => attempt.failure },
  { kind: 'texts', read: ({ attempt }) => attempt.phases },
  { kind: 'texts', read: ({ attempt }) => attempt.requestHeaders },
  { kind: 'texts', read: ({ attempt }) => attempt.responseHeaders },
  { kind: 'bytes', read: ({ attempt }) => attempt.requestBody ?? null },
  { kind: 'bytes', read: ({ attempt }) => attempt.responseBody },
  { kind: 'bigints', read: ({ delivery }) => delivery.nonce },
]

/** In one order, so that two processes that record the same deliveries cannot deadlock. */
function sorted(completions: readonly Completion[]): Completion[] {
  return completions.toSorted((a, b) => a.delivery.id - b.delivery.id)
}

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
    select from queue_owners o where o.subscriber_id = s.id and o.claimer <> $3
  ) end as due from waiting s order by s.id`

// Locks the rows of the subscribers, so that none is removed before the row of its queue is inserted. Where it is there, nothing is locked:
// a lock is written to the log, and the commit would wait for the disk.
const take = `
  with taken as (
    insert into queue_owners (subscriber_id, claimer)
    select s.id, $1 from subscribers s where s.id = any($2) and s.status = 'active'
      and not exists (select from queue_owners o where o.subscriber_id = s.id)
      and not exists (${anyForeignMigration})
    order by s.id for key share
    on conflict do nothing returning subscriber_id
  )
  select subscriber_id as id from taken
  union all select subscriber_id from queue_owners where subscriber_id = any($2) and claimer = $1`

// Without subscribers, all queues of the process. A locked row is being deleted: by a take-over, or with its subscriber. Waiting for it in another order would be a deadlock.
const release = `
  delete from queue_owners where subscriber_id in (
    select subscriber_id from queue_owners
    where claimer = $1 and ($2::text[] is null or subscriber_id = any($2)) for update skip locked
  )`

const oldest = `
  select id, due from (
    select s.id, ${nextDue('postgres')} as due from subscribers s
    where s.status = 'active' and s.rate_limit is null and not exists (
      select from queue_owners o where o.subscriber_id = s.id and o.claimer is distinct from $3
    )
  ) waiting where due <= $1 order by due limit $2`
