import { randomUUID } from 'node:crypto'
import type { SqliteConnection } from '../../storage/sqlite/connection.ts'
import {
  type ClaimedEvent,
  type ClaimRequest,
  type EventQueue,
  type Kind,
  mostLookedAt,
  type PendingKind,
  advance,
  orderKeysOf,
} from '../queue/store.ts'
import { EventInserter, type EventInserterParts } from './event-inserter.ts'
import { CompiledQuery } from 'kysely'
import { ClaimLost } from '../worker/interruptions.ts'

// Two statements: for (source, type) > (?, ?), SQLite first reads all rows that are equal, the whole backlog (measured: 17 ms).
const nextTypePending = `
  select source, type, due_at as dueAt from event_queue where status = 'pending' and crashes is null and source = ? and type > ?
    and (claim is null or leased_until <= ?)
  order by type, due_at limit 1`
const nextSourcePending = `
  select source, type, due_at as dueAt from event_queue where status = 'pending' and crashes is null and source > ?
    and (claim is null or leased_until <= ?)
  order by source, type, due_at limit 1`
const atWork = `
  select 1 as found from (
    select claim, leased_until from event_queue where status = 'pending' and source = ? and type = ? order by due_at limit ${mostLookedAt}
  ) where claim is not null and leased_until > ? limit 1`
const claimDue = `
  update event_queue set claim = ?, leased_until = ? where event in (
    select event from event_queue where status = 'pending' and source = ? and type = ? and due_at <= ?
      and crashes is null and (claim is null or leased_until <= ?)
    order by due_at limit ?
  ) returning event, claim, source, event_id as eventId, type, attempts + 1 as attempts, attempts_before as attemptsBefore,
    order_key as orderKey`
const readPayload = 'select payload, headers, created_at as receivedAt from events where id = ?'
/** Releases the claims of processes that ended: one process works on a file. `alone_at` shows what it ran alone. */
export const releaseAllClaims = `
  update event_queue set claim = null, leased_until = null, crashes = case when claim = '' then crashes else coalesce(crashes, 0) end
  where status = 'pending' and claim is not null`

type Payload = Pick<ClaimedEvent, 'payload' | 'headers' | 'receivedAt'>

/** The event queue on SQLite. One process works on a file. */
export function sqliteEventQueue(parts: EventInserterParts): EventQueue {
  const { database } = parts
  const { readConnection } = database
  const inserter = new EventInserter(parts)
  return {
    // SQLite has one write lock.
    commits: 1,
    insert: (events) => inserter.insert(events),
    checkSpool: () => inserter.checkSpool(),
    pendingKinds: async (after, limit, now) => pendingKinds(readConnection, after, limit, now),
    kindsAtWork: async (kinds, now) =>
      kinds.filter(({ source, type }) => readConnection.get(atWork, [source, type, now]) !== undefined),
    newClaim: randomUUID,
    claim: (wanted, claim, now) =>
      database.batch('work', (connection) =>
        wanted.flatMap((kind) => claimKind(connection, kind, claim, now)),
      ),
    markProcessed,
    // Claims from before the start are those of a process that ended.
    async acquireSession() {
      inserter.start()
      await database.batch('work', (connection) => connection.run(releaseAllClaims))
    },
    releaseSession: () => Promise.resolve(),
    close: () => inserter.close(),
  }
}

/** Each step is one index seek, regardless of the number of rows between two kinds. */
function pendingKinds(reader: SqliteConnection, after: Kind, limit: number, now: number): PendingKind[] {
  const kinds: PendingKind[] = []
  for (let last: Kind | undefined = after; last && kinds.length < limit;) {
    const next: PendingKind | undefined =
      reader.get<PendingKind>(nextTypePending, [last.source, last.type, now]) ??
      reader.get<PendingKind>(nextSourcePending, [last.source, now])
    if (next) kinds.push(next)
    last = next
  }
  return kinds
}

function claimKind(
  connection: SqliteConnection,
  { source, type, count, until }: ClaimRequest,
  claim: string,
  now: number,
): ClaimedEvent[] {
  return connection
    .all<Omit<ClaimedEvent, keyof Payload>>(claimDue, [claim, until, source, type, now, now, count])
    .toSorted((a, b) => a.event - b.event)
    .map((row) => Object.assign(row, connection.get<Payload>(readPayload, [row.event])!))
}

const markOne = `
  update event_queue set status = 'processed', processed_at = ?, claim = null, leased_until = null, attempts = attempts + 1
  where event = ? and claim = ? and status = 'pending'`

const markProcessed: EventQueue['markProcessed'] = async (tx, marks) => {
  for (const { event, claim, at } of marks) {
    const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(markOne, [at, event, claim]))
    if (numAffectedRows !== 1n) throw new ClaimLost()
  }
  await advance('sqlite', tx, orderKeysOf(marks))
  return undefined
}
