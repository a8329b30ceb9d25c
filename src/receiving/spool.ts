import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sleep, type Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { SqliteDatabase } from '../storage/database.ts'
import { SqliteConnection } from '../storage/sqlite/connection.ts'
import type { IncomingEvent } from './incoming.ts'
import { insertEvents } from './store.sqlite.ts'

/** Spooled events that one transaction moves: a few milliseconds of the write lock. */
const step = 500
/** Bytes of payload that may lie in the spool; above it, requests are refused until the lock is free again. */
const mostBytes = 256 * 1024 * 1024
const retryAfter = 250

interface Spooled extends IncomingEvent {
  seq: number
}

const createTable = `
  create table if not exists spool (
    seq integer primary key autoincrement, source text not null, event_id text not null, type text not null,
    content_type text not null, payload blob not null, headers text not null, received_at integer not null,
    status text not null, due_at integer not null
  ) strict`
const insert = `
  insert into spool (source, event_id, type, content_type, payload, headers, received_at, status, due_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const oldest = `
  select seq, source, event_id as eventId, type, content_type as contentType, payload, headers,
    received_at as receivedAt, status, due_at as dueAt
  from spool order by seq limit ?`

export interface SpoolParts {
  database: SqliteDatabase
  clock: Clock
  onError: (error: unknown) => void
  /** Called after events were moved into the inbox. */
  onMoved: () => void
}

/**
 * Where acknowledged events are kept while somebody else holds the write lock of the database: a second, small SQLite
 * file beside it (`<file>-spool`), as durable, with a lock of its own. An acknowledgement so never waits for a handler's
 * transaction. The events move on as soon as the lock is free, in their order and before any later one. A crash between
 * the move and the deletion here moves them again, and the key of the inbox makes that nothing.
 */
export class Spool {
  readonly #parts: SpoolParts
  readonly #file: string
  readonly #stopping = new AbortController()
  #connection: SqliteConnection | undefined
  #count = 0
  #bytes = 0
  #moving: Promise<void> | undefined

  constructor(parts: SpoolParts) {
    this.#parts = parts
    this.#file = `${parts.database.file}-spool`
    if (existsSync(this.#file)) this.#open()
    if (this.#count > 0) this.#move()
  }

  /** Events that lie in the spool. */
  get count(): number {
    return this.#count
  }

  /** Stores into the database itself, behind what is spooled; false when the lock is not free or too much is spooled. */
  keepDirectly(events: readonly IncomingEvent[]): boolean {
    if (this.#count > step) return false
    const spooled = this.#count > 0 ? this.#oldest() : []
    const done = this.#parts.database.batchNow((connection) => {
      insertEvents(connection, spooled)
      insertEvents(connection, events)
    })
    if (!done) return false
    this.#forget(spooled)
    return true
  }

  /** @throws Problem `overloaded` when the spool is full; StorageUnavailable. */
  add(events: readonly IncomingEvent[]): void {
    if (this.#bytes > mostBytes) throw new Problem('overloaded', { retryAfter: 1 })
    const connection = this.#connection ?? this.#open()
    inTransaction(connection, () => {
      for (const event of events) {
        const { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt } = event
        connection.run(insert, [
          source,
          eventId,
          type,
          contentType,
          payload,
          headers,
          receivedAt,
          status,
          dueAt,
        ])
      }
    })
    for (const { payload } of events) this.#bytes += payload.length
    this.#count += events.length
    this.#move()
  }

  /** Moves what it can while the database is still open, then closes the file. What stays is moved at the next start. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#moving
    this.#connection?.close()
    this.#connection = undefined
  }

  #open(): SqliteConnection {
    const connection = new SqliteConnection(this.#file)
    connection.exec(createTable)
    const found = connection.get<{ count: number; bytes: number }>(
      'select count(*) as count, coalesce(sum(length(payload)), 0) as bytes from spool',
    )
    this.#count = found?.count ?? 0
    this.#bytes = found?.bytes ?? 0
    return (this.#connection = connection)
  }

  #oldest(): Spooled[] {
    return this.#connection?.all<Spooled>(oldest, [step]) ?? []
  }

  #forget(moved: readonly Spooled[]): void {
    const last = moved.at(-1)
    if (!last || !this.#connection) return
    // Two moves of the same rows may overlap: what counts is what this one deleted.
    const { changes } = this.#connection.run('delete from spool where seq between ? and ?', [
      moved[0]!.seq,
      last.seq,
    ])
    if (changes === moved.length) for (const { payload } of moved) this.#bytes -= payload.length
    this.#count -= changes
    if (this.#count === 0) this.#bytes = 0
    this.#parts.onMoved()
  }

  #move(): void {
    this.#moving ??= this.#moveAll().finally(() => (this.#moving = undefined))
  }

  async #moveAll(): Promise<void> {
    const { database, clock, onError } = this.#parts
    while (this.#count > 0) {
      try {
        const moved = await database.batch('acknowledge', (connection) => {
          const spooled = this.#oldest()
          insertEvents(connection, spooled)
          return spooled
        })
        this.#forget(moved)
        // Without a pause a long spool would keep the loop from its requests.
        await nextTurn()
      } catch (error) {
        onError(error)
        if (this.#stopping.signal.aborted) return
        await sleep(clock, retryAfter, this.#stopping.signal).catch(() => undefined)
      }
    }
  }
}

function inTransaction(connection: SqliteConnection, work: () => void): void {
  connection.exec('begin immediate')
  try {
    work()
    connection.exec('commit')
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback')
    throw error
  }
}
