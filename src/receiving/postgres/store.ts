import { randomUUID } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { PostgresDatabase } from '../../storage/database.ts'
import type { LeaveClaimer } from '../../storage/postgres/session/claimer.ts'
import { bounded, prepare } from '../../storage/postgres/driver/statement.ts'
import { anyForeignMigration } from '../../storage/schema-watch.ts'
import { poolRows } from '../../storage/postgres/pool/connection-shares.ts'
import { translated } from '../../storage/unavailable.ts'
import {
  type ClaimedEvent,
  type EventQueue,
  type InsertClaiming,
  type Kind,
  mostLookedAt,
  type PendingKind,
  type ProcessedMarker,
  type SlotsShared,
  type OnDuplicate,
  advance,
  orderKeysOf,
} from '../queue/store.ts'
import { eventInserter } from './insert-events.ts'
import { CompiledQuery } from 'kysely'
import { ClosingStatement } from '../../storage/lazy-transaction.ts'
import { type Column, encodeArrays } from '../../storage/postgres/driver/queries.ts'
import { ClaimLost } from '../worker/interruptions.ts'

/** Each step is one index seek, regardless of the number of rows between two kinds. */
const pendingKindsStatement = `
  with recursive kind as (
    (select source, type, due_at from event_queue
      where status = 'pending' and crashes is null and (source, type) > ($1, $2) and (claim is null or leased_until <= $4)
      order by source, type, due_at limit 1)
    union all
    select next.* from kind cross join lateral (
      select source, type, due_at from event_queue
      where status = 'pending' and crashes is null and (source, type) > (kind.source, kind.type) and (claim is null or leased_until <= $4)
      order by source, type, due_at limit 1
    ) next
  )
  select source, type, due_at as "dueAt" from kind limit $3`

const kindsAtWorkStatement = `
  select source, type from unnest($1::text[], $2::text[]) as kind (source, type) where exists (
    select from (
      select claim, leased_until from event_queue where status = 'pending' and source = kind.source and type = kind.type
      order by due_at limit ${mostLookedAt}
    ) first
    where claim is not null and leased_until > $3
  )`

/**
 * Due events are locked first and then found again by their ctid. For a join, the planner would read the whole event queue, up to
 * some hundred thousand rows, because it cannot know that at most 256 are due.
 *
 * Nothing is claimed after a breaking migration of a newer version (`SchemaWatch` notices it a moment later).
 *
 * The commit does not wait for the disk: a crash of the server that undoes a claim also ends the session that holds it, and a marker
 * checks the claim. https://www.postgresql.org/docs/current/wal-async-commit.html
 */
const claimStatement = `
  with want as materialized (
    select want.* from unnest($3::text[], $4::text[], $5::integer[], $6::bigint[]) as want (source, type, count, until),
      set_config('synchronous_commit', 'off', true) as durable
    where durable = 'off' and not exists (${anyForeignMigration})
  ), due as materialized (
    select next.place from want cross join lateral (
      select ctid as place from event_queue where status = 'pending' and source = want.source and type = want.type and due_at <= $1
        and crashes is null and (claim is null or leased_until <= $1)
      order by due_at limit want.count for update skip locked
    ) next
  ), claimed as (
    update event_queue set claim = $2, leased_until = want.until from want
    where event_queue.ctid = any(array(select place from due)) and event_queue.source = want.source and event_queue.type = want.type
    returning event_queue.event, event_queue.claim, event_queue.source, event_queue.event_id, event_queue.type, event_queue.attempts, event_queue.attempts_before, event_queue.order_key
  )
  select claimed.event, claimed.claim, claimed.source, claimed.event_id as "eventId", claimed.type, events.payload, events.headers,
    events.created_at as "receivedAt", claimed.attempts + 1 as attempts, claimed.attempts_before as "attemptsBefore",
    claimed.order_key as "orderKey"
  from claimed join events on events.id = claimed.event order by claimed.event`

const releaseAllButStatement = `
  update event_queue set claim = null, leased_until = null, alone_at = null
  where status = 'pending' and split_part(claim, ':', 1) = $1 and not exists (
    select from unnest($2::bigint[], $3::text[]) as held (event, claim)
    where held.event = event_queue.event and held.claim = event_queue.claim
  )`

/** Milliseconds that the worker waits for an answer, so that it detects a silent path. */
const answerWithin = 5_000

/** PostgreSQL's side of the event queue. */
export function postgresEventQueue(parts: {
  database: PostgresDatabase
  clock: Clock
  onDuplicate?: OnDuplicate | undefined
}): EventQueue {
  const { database, clock, onDuplicate } = parts
  const { pool, claimer } = database
  let leave: LeaveClaimer | undefined

  const insertEvents = eventInserter(pool, clock, onDuplicate)

  const rows = <Row>(name: string, text: string, values: unknown[]): Promise<Row[]> =>
    poolRows<Row>(pool, { ...bounded(answerWithin, text, values), name })

  const insertClaiming: InsertClaiming = (...batch) => translated(insertEvents(...batch))

  return {
    commits: 4,
    async insert(events, within) {
      await insertClaiming(events, undefined, within)
    },
    insertClaiming,
    pendingKinds: ({ source, type }, limit, now) =>
      rows<PendingKind>('event_queue_kinds', pendingKindsStatement, [source, type, limit, now]),
    kindsAtWork: (kinds, now) =>
      rows<Kind>('event_queue_kinds_at_work', kindsAtWorkStatement, [
        ...arraysOf(kinds, 'source', 'type'),
        now,
      ]),
    newClaim: () => `${claimer.id}:${randomUUID()}`,
    claim: (wanted, claim, now) =>
      rows<ClaimedEvent>('event_queue_claim', claimStatement, [
        now,
        claim,
        ...arraysOf(wanted, 'source', 'type', 'count', 'until'),
      ]),
    markProcessed,
    async releaseAllBut(held) {
      await rows('event_queue_release_all_but', releaseAllButStatement, [
        String(claimer.id),
        ...arraysOf(held, 'event', 'claim'),
      ])
    },
    shareSlots(asked, now) {
      const values = [claimer.id, ...arraysOf(asked, 'key', 'limit', 'keeps', 'wants', 'until'), now]
      return poolRows<SlotsShared>(pool, { name: 'event_queue_slots', text: shareStatement, values })
    },
    async acquireSession(listener) {
      leave = await claimer.join(listener)
    },
    releaseSession: async (clean) => leave?.(clean),
    close: () => Promise.resolve(),
  }
}

/** The values of each of these fields, for the arrays of a statement. */
function arraysOf<Row>(rows: readonly Row[], ...fields: (keyof Row)[]): unknown[][] {
  return fields.map((field) => rows.map((row) => row[field]))
}

const markStatement = `
  update event_queue set status = 'processed', processed_at = mark.at, claim = null, leased_until = null, attempts = attempts + 1
  from unnest($1::bigint[], $2::text[], $3::bigint[]) as mark (event, claim, at)
  where event_queue.event = mark.event and event_queue.claim = mark.claim and status = 'pending'`

/** The same, but fails with division_by_zero unless it changes $4 rows: the commit was sent together with it. */
const markAllStatement = `
  with marked as (${markStatement} returning 1) select 1 / (count(*) = $4)::integer as held from marked`

/** In the order of the parameters of `markStatement`. */
const markColumns: readonly Column<ProcessedMarker>[] = [
  { kind: 'bigints', read: ({ event }) => event },
  { kind: 'texts', read: ({ claim }) => claim },
  { kind: 'bigints', read: ({ at }) => at },
]

const markProcessed: EventQueue['markProcessed'] = async (tx, marks) => {
  const values = encodeArrays(marks, markColumns)
  const keys = orderKeysOf(marks)
  if (keys.length === 0) {
    const query = prepare(CompiledQuery.raw(markAllStatement, [...values, marks.length]))
    return new ClosingStatement(query, (error) => (isDivisionByZero(error) ? new ClaimLost() : error))
  }
  const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(markStatement, values))
  if (numAffectedRows !== BigInt(marks.length)) throw new ClaimLost()
  await advance('postgres', tx, keys)
  return undefined
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const isDivisionByZero = (error: unknown): boolean => (error as { code?: string }).code === '22012'

/** See `share_handler_slots` in storage/migrations/0001-initial/limits.ts. */
const shareStatement = `
  select handler as key, held, share, freed
  from share_handler_slots($1, $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::bigint[], $7)`
