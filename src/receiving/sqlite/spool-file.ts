import { existsSync } from 'node:fs'
import { Problem } from '../../errors.ts'
import { finish } from '../../storage/sqlite/begin.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { IncomingEvent } from '../incoming.ts'

/** Bytes of payload that may lie in the spool; above it, requests are refused until the lock is free again. */
const mostBytes = 256 * 1024 * 1024

export interface Spooled extends IncomingEvent {
  readonly seq: number
}

const createTable = `
  create table if not exists spool (
    seq integer primary key autoincrement, source text not null, event_id text not null, type text not null,
    content_type text not null, payload blob not null, headers text not null, received_at integer not null,
    status text not null, due_at integer not null, order_key text
  ) strict`
const insert = `
  insert into spool (source, event_id, type, content_type, payload, headers, received_at, status, due_at, order_key)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const selectOldest = `
  select seq, source, event_id as eventId, type, content_type as contentType, payload, headers,
    received_at as receivedAt, status, due_at as dueAt,
    order_key as orderKey
  from spool order by seq limit ?`

/**
 * Where acknowledged events are kept while somebody else holds the write lock of the database: a second, small SQLite
 * file beside it (`<file>-spool`), as durable, with a lock of its own. It is made when it is first needed.
 */
export class SpoolFile {
  readonly #file: string
  #connection: SqliteConnection | undefined
  #count = 0
  #bytes = 0

  constructor(file: string) {
    this.#file = file
    if (existsSync(file)) this.#open()
  }

  /** Events that lie in the spool. */
  get count(): number {
    return this.#count
  }

  /** @throws Problem `overloaded` when the spool is full; StorageUnavailable. */
  add(events: readonly IncomingEvent[]): void {
    if (this.#bytes > mostBytes) throw new Problem('overloaded', { retryAfter: 1 })
    const connection = this.#connection ?? this.#open()
    connection.exec('begin immediate')
    finish(connection, () => {
      for (const event of events) {
        const { source, eventId, type, contentType, payload, headers, receivedAt, status, dueAt, orderKey } =
          event
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
          orderKey,
        ])
      }
    })
    this.#count += events.length
    this.#bytes += bytesOf(events)
  }

  oldest(limit: number): Spooled[] {
    return this.#connection?.all<Spooled>(selectOldest, [limit]) ?? []
  }

  /** Deletes what `oldest` gave, once it is in the database. */
  forget(moved: readonly Spooled[]): void {
    if (moved.length === 0) return
    this.#connection?.run('delete from spool where seq <= ?', [moved.at(-1)!.seq])
    this.#count -= moved.length
    this.#bytes -= bytesOf(moved)
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }

  #open(): SqliteConnection {
    // No checkpointer works beside it: often, and little each time.
    const connection = new SqliteConnection(this.#file, { logPages: 1_000 })
    connection.exec(createTable)
    const found = connection.get<{ count: number; bytes: number }>(
      'select count(*) as count, coalesce(sum(length(payload)), 0) as bytes from spool',
    )
    this.#count = found?.count ?? 0
    this.#bytes = found?.bytes ?? 0
    return (this.#connection = connection)
  }
}

function bytesOf(events: readonly IncomingEvent[]): number {
  let bytes = 0
  for (const { payload } of events) bytes += payload.length
  return bytes
}
