import { CompiledQuery } from 'kysely'
import type { SqliteDatabase, Tx } from '../storage/database.ts'
import type { SqliteConnection, SqlValue } from '../storage/sqlite/connection.ts'
import type { IncomingEvent } from './incoming.ts'
import type { Spool } from './spool.ts'
import type { Claim, ClaimedEvent, InboxStore } from './store.ts'

const insertInbox = `
  insert into inbox (event, source, event_id, type, status, due_at, processed_at) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (source, event_id) do nothing`
const insertEvent = `
  insert into events (id, event_id, direction, source, type, content_type, payload, headers, created_at)
  values (?, ?, 'received', ?, ?, ?, ?, ?, ?)`
const claimDue = `
  update inbox set claim = ?, due_at = ?, attempts = attempts + 1
  where event in (select event from inbox where status = 'pending' and due_at <= ? order by due_at limit ?)`
const readClaimed = `
  select inbox.event, inbox.source, inbox.event_id as eventId, inbox.type, events.payload, events.headers,
    events.created_at as receivedAt, inbox.attempts, inbox.attempts_before as attemptsBefore
  from inbox join events on events.id = inbox.event where inbox.status = 'pending' and inbox.due_at = ? and inbox.claim = ? order by inbox.event`
const mark = `update inbox set status = 'processed', processed_at = ?, claim = null where event = ? and claim = ? and status = 'pending'`
const giveBackAll = `update inbox set claim = null, due_at = ? where status = 'pending' and claim is not null`

/** SQLite's side of the inbox: synchronous batches, with a spool for when somebody else has the write lock. */
export function sqliteInbox(database: SqliteDatabase, spool: Spool): InboxStore {
  return {
    keep(events) {
      if (!spool.keepDirectly(events)) spool.add(events)
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
      await database.batch('work', (connection) => connection.run(giveBackAll, [now]))
    },
    close: () => spool.close(),
  }
}

/**
 * Inserts what is not there yet, inside the caller's transaction. It holds the write lock, so the next number of the log
 * can be read once and counted on; the key of the inbox decides what is new.
 */
export function insertEvents(connection: SqliteConnection, events: Iterable<IncomingEvent>): void {
  let next =
    (connection.get<{ seq: number }>(`select seq from sqlite_sequence where name = 'events'`)?.seq ?? 0) + 1
  for (const event of events) {
    const { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt } = event
    const processedAt: SqlValue = status === 'processed' ? receivedAt : null
    if (connection.run(insertInbox, [next, source, eventId, type, status, dueAt, processedAt]).changes === 0)
      continue
    connection.run(insertEvent, [next, eventId, source, type, contentType, payload, headers, receivedAt])
    next += 1
  }
}
