import { CompiledQuery, type Insertable } from 'kysely'
import { encodeArrays, type Column } from '../../storage/postgres/driver/array-encoder.ts'
import { prepare } from '../../storage/postgres/driver/statement.ts'
import type { DeliveriesTable } from '../../storage/tables.ts'

/** More deliveries than this are not returned: the dispatcher reads them from the table. */
export const maxReturned = 1_000

/** Rows of one statement, which has one parameter for each column. */
export const rowsPerInsert = 20_000

/** A row that was inserted. */
export interface InsertedDelivery {
  id: number
  event: number
  subscriber_id: string
  due_at: number
  nonce: number | null
}

const returning = 'returning id, event, subscriber_id, due_at, nonce'

/** One parameter for all rows. SQLite parses JSON faster than it binds thousands of parameters. */
const insertListed = `
  insert into deliveries (event, subscriber_id, owner, status, attempts, attempts_before, due_at, created_at, nonce)
  select value ->> 0, value ->> 1, (select owner from subscribers where id = value ->> 1),
    'pending', 0, 0, value ->> 2, ?1, value ->> 3
  from json_each(?2) order by key`

export function insertAll(rows: readonly NewDelivery[]): CompiledQuery {
  const [{ created_at }] = rows as [NewDelivery]
  const json = JSON.stringify(
    rows.map(({ event, subscriber_id, due_at, nonce }) => [event, subscriber_id, due_at, nonce]),
  )
  return CompiledQuery.raw(rows.length > maxReturned ? insertListed : `${insertListed} ${returning}`, [
    created_at,
    json,
  ])
}

/**
 * Locks the rows of the subscribers and skips those that were removed meanwhile: the job that removes their deliveries would not see
 * one that is inserted later.
 */
const insertJoined = `
  insert into deliveries (event, subscriber_id, owner, status, attempts, attempts_before, due_at, created_at, nonce)
  select want.event, s.id, s.owner, 'pending', 0, 0, want.due_at, $5::bigint, want.nonce
  from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) as want (event, id, due_at, nonce)
    join subscribers s on s.id = want.id
  order by want.event, s.id
  for key share of s`

/** In the order of the parameters of `insertJoined`. */
const deliveryColumns: readonly Column<NewDelivery>[] = [
  { kind: 'bigints', read: ({ event }) => event },
  { kind: 'texts', read: ({ subscriber_id }) => subscriber_id },
  { kind: 'bigints', read: ({ due_at }) => due_at ?? null },
  { kind: 'bigints', read: ({ nonce }) => nonce ?? null },
]

export function insertUnlessRemoved(rows: readonly NewDelivery[]): CompiledQuery {
  const [{ created_at }] = rows as [NewDelivery]
  const values = [...encodeArrays(rows, deliveryColumns), created_at]
  // PostgreSQL joins many rows differently than few, so such a statement is planned each time.
  if (rows.length > maxReturned) return CompiledQuery.raw(insertJoined, values)
  return prepare(CompiledQuery.raw(`${insertJoined} ${returning}`, values))
}

export type NewDelivery = Insertable<DeliveriesTable>

export function newDelivery(
  event: { id: number; nonce: number },
  subscriberId: string,
  now: number,
  dueAt: number,
): NewDelivery {
  return {
    event: event.id,
    nonce: event.nonce,
    subscriber_id: subscriberId,
    status: 'pending',
    attempts: 0,
    attempts_before: 0,
    due_at: dueAt,
    created_at: now,
    finished_at: null,
  }
}
