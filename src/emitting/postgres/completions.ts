import { CompiledQuery } from 'kysely'
import type { PostgresDatabase } from '../../storage/database.ts'
import { encodeArrays, type Column } from '../../storage/postgres/driver/array-encoder.ts'
import { queryArrays } from '../../storage/postgres/driver/queries.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import { type Completion, type DeliveryStore } from '../store.ts'
import { translated } from '../../storage/unavailable.ts'
import { answerWithin } from './run.ts'

// A delivery with another nonce is not updated: it belongs to another event, since the database was restored (docs/adr/0029).
// A delivery that was replayed during the attempt keeps its status. A success is applied even if another process
// recorded an attempt meanwhile, unless the delivery was replayed since.
const complete = {
  name: 'emitting_complete',
  text: `
  with result as (
    select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
      $7::integer[], $8::integer[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[], $15::bigint[])
      as r (id, number, status, due_at, finished_at, at, duration_ms, http_status, error, failure, phases,
        request_headers, response_headers, response_body, nonce)
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
    response_headers, response_body)
  select r.id, finished.attempts, r.at, r.duration_ms, r.http_status, r.error, r.failure, r.phases, r.request_headers,
    r.response_headers, r.response_body
  from result r join finished on finished.id = r.id on conflict do nothing`,
}

const completeReturning = `${complete.text} returning delivery`

export function completionsIn(
  pool: PostgresDatabase['pool'],
): Pick<DeliveryStore, 'complete' | 'completeWithin'> {
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
  { kind: 'bytes', read: ({ attempt }) => attempt.responseBody },
  { kind: 'bigints', read: ({ delivery }) => delivery.nonce },
]

/** In one order, so that two processes that record the same deliveries cannot deadlock. */
function sorted(completions: readonly Completion[]): Completion[] {
  return completions.toSorted((a, b) => a.delivery.id - b.delivery.id)
}
