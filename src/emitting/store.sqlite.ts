import type { SqliteDatabase } from '../storage/database.ts'
import type { Claimed, DeliveryQueue } from './store.ts'

interface ClaimedRow {
  id: number
  event: number
  attempts: number
  attempts_before: number
}

const lease = 'update deliveries set claim = ?, due_at = ?, attempts = attempts + 1 where id'
const returning = 'returning id, event, attempts, attempts_before'

const claimDue = `${lease} in (
  select id from deliveries where subscriber_id = ? and status = 'pending' and due_at <= ? order by due_at, id limit ?
) ${returning}`

const claimNext = `${lease} = (
  select id from deliveries indexed by deliveries_in_order where subscriber_id = ? and status = 'pending' order by id limit 1
) and due_at <= ? ${returning}`

const finish = `update deliveries set status = ?, due_at = ?, finished_at = ?, claim = null
  where id = ? and claim = ? and status = 'pending'`

const record = `insert into attempts
  (delivery, number, at, duration_ms, status, error, failure, phases, request_headers, response_headers, response_body)
  select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where exists (select 1 from deliveries where id = ?) on conflict do nothing`

const back = `update deliveries set claim = null, due_at = ?, attempts = attempts - 1
  where id = ? and claim = ? and status = 'pending'`

/** One synchronous batch per call, so that one sync of the disk serves many deliveries. */
export function sqliteQueue(database: SqliteDatabase): DeliveryQueue {
  return {
    claim: (wanted, now, claim) =>
      database.batch('work', (connection) =>
        wanted.flatMap(({ subscriberId, count, ordered, leaseUntil }) => {
          const rows = ordered
            ? connection.all<ClaimedRow>(claimNext, [claim, leaseUntil, subscriberId, now])
            : connection.all<ClaimedRow>(claimDue, [claim, leaseUntil, subscriberId, now, count])
          return rows.map(({ id, event, attempts, attempts_before }): Claimed => ({
            id,
            event,
            subscriberId,
            number: attempts,
            begun: attempts - attempts_before,
            claim,
          }))
        }),
      ),

    complete: (completions) =>
      database.batch('work', (connection) => {
        for (const { delivery, status, dueAt, finishedAt, attempt } of completions) {
          const { at, durationMs, error, failure, phases, requestHeaders, responseHeaders, responseBody } =
            attempt
          connection.run(finish, [status, dueAt, finishedAt, delivery.id, delivery.claim])
          connection.run(record, [
            delivery.id,
            delivery.number,
            at,
            durationMs,
            attempt.status,
            error,
            failure,
            phases,
            requestHeaders,
            responseHeaders,
            responseBody,
            delivery.id,
          ])
        }
      }),

    giveBack: (deliveries, now) =>
      database.batch('work', (connection) => {
        for (const { id, claim } of deliveries) connection.run(back, [now, id, claim])
      }),
  }
}
