import { randomUUID } from 'node:crypto'
import { CompiledQuery } from 'kysely'
import { sleep, type Clock } from '../../runtime/clock.ts'
import type { SqliteDatabase, Tx } from '../../storage/database.ts'
import { ClaimLost } from '../interruptions.ts'
import { advance } from '../advance.ts'
import { orderKeysOf } from '../order-keys.ts'
import { mostLookedAt, type ClaimedEvent, type EventQueue, type Kind, type PendingKind } from '../store.ts'
import { EventWriterClient } from './event-writer-client.ts'

/**
 * Milliseconds that an acknowledgement waits for the right to write before it is spooled. Most transactions are shorter,
 * and a spooled event is written twice.
 */
const maxWait = 5
/** Milliseconds until a move is tried again that another process's lock, or a failure, was in the way of. */
const retryAfter = { locked: 20, failed: 250 }

// Two seeks: asked for (source, type) > (?, ?), SQLite reads all that equals it first, the whole backlog (measured: 17 ms).
const nextTypePending = `
  select source, type, due_at as dueAt from event_queue where status = 'pending' and source = ? and type > ?
    and (claim is null or leased_until <= ?)
  order by type, due_at limit 1`
const nextSourcePending = `
  select source, type, due_at as dueAt from event_queue where status = 'pending' and source > ? and (claim is null or leased_until <= ?)
  order by source, type, due_at limit 1`
const atWork = `
  select 1 as found from (
    select claim, leased_until from event_queue where status = 'pending' and source = ? and type = ? order by due_at limit ${mostLookedAt}
  ) where claim is not null and leased_until > ? limit 1`
const claimDue = `
  update event_queue set claim = ?, leased_until = ?, attempts = attempts + 1 where event in (
    select event from event_queue where status = 'pending' and source = ? and type = ? and due_at <= ?
      and (claim is null or leased_until <= ?)
    order by due_at limit ?
  ) returning event, claim, source, event_id as eventId, type, attempts, attempts_before as attemptsBefore,
    order_key as orderKey`
const readPayload = 'select payload, headers, created_at as receivedAt from events where id = ?'
const markOne = `
  update event_queue set status = 'processed', processed_at = ?, claim = null, leased_until = null where event = ? and claim = ? and status = 'pending'`
/** What processes that ended had claimed, since one process works on a file. */
export const giveBackAll = `update event_queue set claim = null, leased_until = null where status = 'pending' and claim is not null`

type Payload = Pick<ClaimedEvent, 'payload' | 'headers' | 'receivedAt'>

export interface SqliteEventQueueParts {
  database: SqliteDatabase
  clock: Clock
  onError: (error: unknown) => void
  /** Called after events were moved from the spool into the event queue. */
  onMoved: () => void
}

/** SQLite's side of the event queue: a thread that stores, with a spool for when somebody else has the write lock. */
export function sqliteEventQueue({ database, clock, onError, onMoved }: SqliteEventQueueParts): EventQueue {
  const reader = database.readConnection
  const stopping = new AbortController()
  let moving: Promise<void> | undefined
  let spooled = 0
  const writer = new EventWriterClient(database.file, (count) => {
    spooled = count
    if (count > 0 && !stopping.signal.aborted) moving ??= moveAll().finally(() => (moving = undefined))
  })

  async function moveAll(): Promise<void> {
    while (spooled > 0 && !stopping.signal.aborted) {
      const pause = await moveSome()
      if (pause > 0) await sleep(clock, pause, stopping.signal).catch(() => undefined)
    }
  }

  /** Returns the milliseconds to wait before going on. */
  async function moveSome(): Promise<number> {
    try {
      const release = await database.hold('acknowledge')
      try {
        if (!(await writer.move())) return retryAfter.locked
      } finally {
        release?.()
      }
      onMoved()
      return 0
    } catch (error) {
      onError(error)
      return retryAfter.failed
    }
  }

  return {
    // There is one right to write; what comes meanwhile is the next batch.
    commits: 1,
    // One process works on a file.
    slots: undefined,
    async insert(events) {
      const release = await database.hold('acknowledge', maxWait)
      try {
        await writer.insert(events, release !== undefined)
      } finally {
        release?.()
      }
    },
    // Each step is one seek, whatever lies between two kinds.
    async pendingKinds(after, limit, now) {
      const kinds: PendingKind[] = []
      for (let last: Kind | undefined = after; last && kinds.length < limit;) {
        const next: PendingKind | undefined =
          reader.get<PendingKind>(nextTypePending, [last.source, last.type, now]) ??
          reader.get<PendingKind>(nextSourcePending, [last.source, now])
        if (next) kinds.push(next)
        last = next
      }
      return kinds
    },
    kindsAtWork: async (kinds, now) =>
      kinds.filter(({ source, type }) => reader.get(atWork, [source, type, now]) !== undefined),
    newClaim: randomUUID,
    claim: (wanted, claim, now) =>
      database.batch('work', (connection) =>
        wanted.flatMap(({ source, type, count, until }) =>
          connection
            .all<Omit<ClaimedEvent, keyof Payload>>(claimDue, [claim, until, source, type, now, now, count])
            .toSorted((a, b) => a.event - b.event)
            .map((row): ClaimedEvent =>
              Object.assign(row, connection.get<Payload>(readPayload, [row.event])!),
            ),
        ),
      ),
    async mark(tx: Tx, marks) {
      for (const { event, claim, at } of marks) {
        const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(markOne, [at, event, claim]))
        if (numAffectedRows !== 1n) throw new ClaimLost()
      }
      await advance('sqlite', tx, orderKeysOf(marks))
      return undefined
    },
    // One process works on a file: claims from before its start are those of a process that ended.
    async attend() {
      writer.start()
      await database.batch('work', (connection) => connection.run(giveBackAll))
    },
    leave: () => Promise.resolve(),
    // What is still spooled is moved at the next start.
    async close() {
      stopping.abort()
      await moving
      await writer.close()
    },
  }
}
