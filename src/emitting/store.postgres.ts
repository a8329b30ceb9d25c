import type { QueryResultRow } from 'pg'
import type { PostgresDatabase } from '../storage/database.ts'
import { translateError } from '../storage/unavailable.ts'
import type { Claimed, DeliveryQueue, Wanted } from './store.ts'

interface ClaimedRow {
  id: number
  event: number
  subscriber_id: string
  attempts: number
  attempts_before: number
}

// Named statements are planned once, without the values: the literal 'pending' keeps the partial indexes in use.
const lease = `update deliveries d set claim = $1, due_at = picked.lease, attempts = d.attempts + 1
  from picked where d.id = picked.id returning d.id, d.event, d.subscriber_id, d.attempts, d.attempts_before`

const wantedRows = 'unnest($2::text[], $3::bigint[], $4::integer[]) as want (subscriber, lease, count)'

const claimDue = `with picked as (
  select due.id, want.lease from ${wantedRows} cross join lateral (
    select id from deliveries where subscriber_id = want.subscriber and status = 'pending' and due_at <= $5
    order by due_at limit want.count for update skip locked
  ) due
) ${lease}`

// The first pending one is found without a lock: a locked one must block the others, and not be passed over.
const claimNext = `with picked as (
  select due.id, want.lease from ${wantedRows} cross join lateral (
    select id from deliveries where id = (
      select min(first.id) from deliveries first where first.subscriber_id = want.subscriber and first.status = 'pending'
    ) and status = 'pending' and due_at <= $5 limit want.count for update skip locked
  ) due
) ${lease}`

// Rows are locked in the order of their ids, so that two processes cannot wait for each other.
const complete = `with result as (
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[],
    $8::integer[], $9::integer[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[])
    as r (id, claim, status, due_at, finished_at, number, at, duration_ms, http_status, error, failure, phases, request_headers, response_headers, response_body)
), held as (
  select d.id from deliveries d join result r on r.id = d.id order by d.id for no key update of d
), finished as (
  update deliveries d set status = r.status, due_at = r.due_at, finished_at = r.finished_at, claim = null
  from result r join held on held.id = r.id where d.id = r.id and d.claim = r.claim and d.status = 'pending'
)
insert into attempts (delivery, number, at, duration_ms, status, error, failure, phases, request_headers, response_headers, response_body)
select r.id, r.number, r.at, r.duration_ms, r.http_status, r.error, r.failure, r.phases, r.request_headers, r.response_headers, r.response_body
from result r join held on held.id = r.id on conflict do nothing`

const giveBack = `update deliveries d set claim = null, due_at = $3, attempts = d.attempts - 1
  from unnest($1::bigint[], $2::text[]) as r (id, claim) where d.id = r.id and d.claim = r.claim and d.status = 'pending'`

/** One statement per call: each is a transaction of its own, in one round trip. */
export function postgresQueue(database: PostgresDatabase): DeliveryQueue {
  async function run<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    try {
      return (await database.pool.query<Row>({ name: `emitting_${name}`, text, values })).rows
    } catch (error) {
      throw translateError(error)
    }
  }

  async function claimBy(
    name: string,
    text: string,
    wanted: readonly Wanted[],
    now: number,
    claim: string,
  ): Promise<Claimed[]> {
    if (wanted.length === 0) return []
    const rows = await run<ClaimedRow>(name, text, [
      claim,
      wanted.map(({ subscriberId }) => subscriberId),
      wanted.map(({ leaseUntil }) => leaseUntil),
      wanted.map(({ count }) => count),
      now,
    ])
    return rows.map(({ id, event, subscriber_id, attempts, attempts_before }) => ({
      id,
      event,
      subscriberId: subscriber_id,
      number: attempts,
      begun: attempts - attempts_before,
      claim,
    }))
  }

  return {
    async claim(wanted, now, claim) {
      const free = await claimBy(
        'claim_due',
        claimDue,
        wanted.filter(({ ordered }) => !ordered),
        now,
        claim,
      )
      const ordered = await claimBy(
        'claim_next',
        claimNext,
        wanted.filter(({ ordered }) => ordered),
        now,
        claim,
      )
      return [...free, ...ordered]
    },

    async complete(completions) {
      const column = <T>(of: (completion: (typeof completions)[number]) => T): T[] => completions.map(of)
      await run('complete', complete, [
        column(({ delivery }) => delivery.id),
        column(({ delivery }) => delivery.claim),
        column(({ status }) => status),
        column(({ dueAt }) => dueAt),
        column(({ finishedAt }) => finishedAt),
        column(({ delivery }) => delivery.number),
        column(({ attempt }) => attempt.at),
        column(({ attempt }) => attempt.durationMs),
        column(({ attempt }) => attempt.status),
        column(({ attempt }) => attempt.error),
        column(({ attempt }) => attempt.failure),
        column(({ attempt }) => attempt.phases),
        column(({ attempt }) => attempt.requestHeaders),
        column(({ attempt }) => attempt.responseHeaders),
        column(({ attempt }) => attempt.responseBody && Buffer.from(attempt.responseBody)),
      ])
    },

    async giveBack(deliveries, now) {
      await run('give_back', giveBack, [
        deliveries.map(({ id }) => id),
        deliveries.map(({ claim }) => claim),
        now,
      ])
    },
  }
}
