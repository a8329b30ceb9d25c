import { CompiledQuery } from 'kysely'
import { sleep, type Clock } from '../../clock.ts'
import type { SqliteDatabase, Tx } from '../../storage/database.ts'
import type { Claim, ClaimedEvent, InboxStore } from '../store.ts'
import { KeeperClient } from './keeper-client.ts'

/**
 * Milliseconds that an acknowledgement waits for the right to write before it is spooled. Most transactions are shorter,
 * and a spooled event is written twice.
 */
const patience = 5
/** Milliseconds until a move is tried again that another process's lock, or a failure, was in the way of. */
const retryAfter = { locked: 20, failed: 250 }

const claimDue = `
  update inbox set claim = ?, due_at = ?, attempts = attempts + 1
  where event in (select event from inbox where status = 'pending' and due_at <= ? order by due_at limit ?)`
const readClaimed = `
  select inbox.event, inbox.source, inbox.event_id as eventId, inbox.type, events.payload, events.headers,
    events.created_at as receivedAt, inbox.attempts, inbox.attempts_before as attemptsBefore
  from inbox join events on events.id = inbox.event where inbox.status = 'pending' and inbox.due_at = ? and inbox.claim = ? order by inbox.event`
const mark = `update inbox set status = 'processed', processed_at = ?, claim = null where event = ? and claim = ? and status = 'pending'`
const giveBackAll = `update inbox set claim = null, due_at = ? where status = 'pending' and claim is not null`

export interface SqliteInboxParts {
  database: SqliteDatabase
  clock: Clock
  onError: (error: unknown) => void
  /** Called after events were moved from the spool into the inbox. */
  onMoved: () => void
}

/** SQLite's side of the inbox: a thread that stores, with a spool for when somebody else has the write lock. */
export function sqliteInbox({ database, clock, onError, onMoved }: SqliteInboxParts): InboxStore {
  const stopping = new AbortController()
  let moving: Promise<void> | undefined
  let spooled = 0
  const keeper = new KeeperClient(database.file, (count) => {
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
        if (!(await keeper.move())) return retryAfter.locked
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
    async keep(events) {
      const release = await database.hold('acknowledge', patience)
      try {
        await keeper.keep(events, release !== undefined)
      } finally {
        release?.()
      }
    },
    claim: ({ claim, now, until, limit }: Claim) =>
      database.batch('work', (connection) => {
        const { changes } = connection.run(claimDue, [claim, until, now, limit])
        return changes === 0 ? [] : connection.all<ClaimedEvent>(readClaimed, [until, claim])
      }),
    async markProcessed(tx: Tx, event, claim, now) {
      const { numAffectedRows } = await tx.executeQuery(CompiledQuery.raw(mark, [now, event, claim]))
      return numAffectedRows === 1n
    },
    // One process works on a file: claims from before its start are those of a process that ended.
    async recover(now) {
      keeper.start()
      await database.batch('work', (connection) => connection.run(giveBackAll, [now]))
    },
    // What is still spooled is moved at the next start.
    async close() {
      stopping.abort()
      await moving
      await keeper.close()
    },
  }
}
