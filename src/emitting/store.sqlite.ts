import { CompiledQuery, sql } from 'kysely'
import type { Queryable, SqliteDatabase } from '../storage/database.ts'
import type { SqliteConnection, SqlValue } from '../storage/sqlite/connection.ts'
import {
  activeSubscribersIn,
  isRetry,
  nextDue,
  subscribersPerScan,
  dueColumns,
  type DueDelivery,
  type Completion,
  type DeliveryStore,
  type DueSubscribers,
  type ReadRequest,
} from './store.ts'

const nextPending = `
  select subscriber_id as id from deliveries indexed by deliveries_due
  where status = 'pending' and subscriber_id >= ? order by subscriber_id limit 1`
const nextActive = `
  select id from subscribers indexed by subscribers_active where status = 'active' and id > ? order by id limit 1`

// No row for a subscriber that is not active.
const isDue = `select ${nextDue('sqlite')} <= ? as due from subscribers s where s.id = ? and s.status = 'active'`

const oldest = `
  select id, due from (
    select s.id, ${nextDue('sqlite')} as due from subscribers s where s.status = 'active' and s.rate_limit is null
  ) where due <= ? order by due limit ?`

const pending = `select ${dueColumns} from deliveries d indexed by deliveries_due
  where d.subscriber_id = ? and d.status = 'pending' and ${isRetry} = ?`

// Two statements: for (due_at, id) > (?, ?) SQLite reads all deliveries with that due_at, perhaps a million.
const dueWith = `${pending} and d.due_at = ? and d.id > ? order by d.id limit ?`
const dueAfter = `${pending} and d.due_at > ? and d.due_at <= ? order by d.due_at, d.id limit ?`

const firstPending = `select * from (
  select ${dueColumns} from deliveries d indexed by deliveries_in_order
  where d.subscriber_id = ? and d.status = 'pending' order by d.id limit 1
) where "dueAt" <= ?`

// A delivery with another nonce is not updated: it belongs to another event, since the file was replaced (docs/adr/0029).
// A delivery that was replayed during the attempt keeps its status. A success is applied even if another process
// recorded an attempt meanwhile, unless the delivery was replayed since.
const finish = `
  update deliveries set attempts = attempts + 1, status = case when status = 'pending' then ?2 else status end,
    due_at = case when status = 'pending' then ?3 else due_at end,
    finished_at = case when status = 'pending' then ?4 else finished_at end,
    attempts_before = attempts_before + case when planned_at > ?7 and status = 'pending' and ?2 = 'pending' then 1 else 0 end,
    planned_at = null
  where id = ?5 and nonce is ?6 and (attempts = ?1 - 1 or (?2 = 'delivered' and status = 'pending' and ?1 > attempts_before))`

// With the number from the statement before. If that updated nothing, an attempt with the number exists.
const record = `
  insert into attempts (delivery, number, at, duration_ms, status, error, failure, phases, request_headers,
    response_headers, request_body, response_body)
  select id, attempts, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 from deliveries where id = ?1 and nonce is ?12
  on conflict do nothing`

/** One process serves a file, so it owns all queues. A thread writes completions. */
export function sqliteDeliveryStore(database: SqliteDatabase): DeliveryStore {
  const { reader, readConnection } = database
  return {
    activeSubscribers: activeSubscribersIn(reader),
    readPayloads: readPayloadsFrom(reader),
    acquireSession: () => Promise.resolve(),
    subscribersDue: async (now, after) => subscribersDue(readConnection, now, after),
    claim: (subscriberIds) => Promise.resolve([...subscriberIds]),
    release: () => Promise.resolve(),
    readDue: async (requests, now) => requests.flatMap((request) => readDue(readConnection, request, now)),
    complete: (completions) =>
      database.batchInThread('work', [
        { sql: finish, rows: completions.map(toFinish) },
        { sql: record, rows: completions.map(toRecord) },
      ]),
    completeWithin,
    leaseValid: () => true,
    releaseSession: () => Promise.resolve(),
    async oldestDue(now, busy) {
      const rows = readConnection.all<{ id: string; due: number }>(oldest, [now, busy.size + 1])
      return rows.find(({ id }) => !busy.has(id))?.due
    },
  }
}

function readDue(reader: SqliteConnection, request: ReadRequest, now: number): DueDelivery[] {
  const { subscriberId } = request
  const rows = (sql: string, ...parameters: number[]): DueDelivery[] =>
    reader
      .arrays<[number, number, number, number, number, number | null, number | null]>(sql, [
        subscriberId,
        ...parameters,
      ])
      .map(([id, event, number, begun, dueAt, nonce, plannedAt]) => ({
        id,
        event,
        subscriberId,
        number,
        begun,
        dueAt,
        nonce,
        plannedAt,
      }))
  if (request.ordered) return rows(firstPending, now)
  const { behind, count } = request
  const retries = request.retries ? 1 : 0
  const found = behind.id === 0 ? [] : rows(dueWith, retries, behind.dueAt, behind.id, count)
  const rest = count - found.length
  return rest === 0 ? found : found.concat(rows(dueAfter, retries, behind.dueAt, now, rest))
}

function readPayloadsFrom(db: Queryable): DeliveryStore['readPayloads'] {
  return async (events, longest) => {
    if (events.length === 0) return new Map()
    const found = await db
      .selectFrom('events')
      .leftJoin('idempotency_keys', 'idempotency_keys.event', 'events.id')
      .select(['events.id', 'events.event_id', 'type', 'payload', 'nonce', 'headers', 'audience'])
      .where('events.id', 'in', [...events])
      .$if(longest !== undefined, (all) => all.where(sql<number>`octet_length(payload)`, '<=', longest!))
      .execute()
    return new Map(found.map(({ id, ...rest }) => [id, rest]))
  }
}

function subscribersDue(reader: SqliteConnection, now: number, after: string): DueSubscribers {
  const ids: string[] = []
  let last = after
  let from: string | undefined = behind(after)
  for (let step = 0; step < subscribersPerScan; step += 1) {
    const id: string | undefined = from && reader.get<{ id: string }>(nextPending, [from])?.id
    if (id === undefined) return { ids, next: undefined }
    const active: { due: number } | undefined = reader.get(isDue, [now, id])
    if (active?.due) ids.push(id)
    // Skips all subscribers that are not active up to the next active one.
    from = active ? behind(id) : reader.get<{ id: string }>(nextActive, [id])?.id
    last = id
  }
  return { ids, next: last }
}

const completeWithin: DeliveryStore['completeWithin'] = async (tx, completions) => {
  const counted = new Set<number>()
  for (const completion of completions) {
    const finished = await tx.executeQuery(CompiledQuery.raw(finish, toFinish(completion)))
    if (finished.numAffectedRows !== 1n) continue
    await tx.executeQuery(CompiledQuery.raw(record, toRecord(completion)))
    counted.add(completion.delivery.id)
  }
  return counted
}

/** The smallest text that sorts after `id`, for all texts that ids can be. */
function behind(id: string): string {
  return `${id}\u0001`
}

function toFinish({ delivery, status, dueAt, finishedAt, attempt }: Completion): SqlValue[] {
  return [delivery.number, status, dueAt, finishedAt, delivery.id, delivery.nonce, attempt.at]
}

function toRecord({ delivery, attempt }: Completion): SqlValue[] {
  return [
    delivery.id,
    attempt.at,
    attempt.durationMs,
    attempt.status,
    attempt.error,
    attempt.failure,
    attempt.phases,
    attempt.requestHeaders,
    attempt.responseHeaders,
    attempt.requestBody ?? null,
    attempt.responseBody,
    delivery.nonce,
  ]
}
