import { existsSync } from 'node:fs'
import { Problem } from '../../errors.ts'
import { finish } from '../../storage/sqlite/begin.ts'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { IncomingEvent } from '../incoming.ts'

/** Bytes that the file may hold unless its owner says otherwise; above it, requests are refused. */
const mostBytes = 256 * 1024 * 1024
/** Bytes of payloads and headers that are read at once, if they are of more than one event. */
const readAtOnce = 8 * 1024 * 1024

export interface Spooled extends IncomingEvent {
  readonly seq: number
}

const createTable = `
  create table if not exists spool (
    seq integer primary key autoincrement, source text not null, event_id text not null, type text not null,
    content_type text not null, payload blob not null, headers text not null, received_at integer not null,
    status text not null, due_at integer not null, order_key text
  ) strict`
const columns =
  'source, event_id, type, content_type, payload, headers, received_at, status, due_at, order_key'
const insert = `insert into spool (${columns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const selectSizes =
  'select seq, length(payload) + length(headers) as size from spool where seq > ? and seq <= ? order by seq limit ?'
const selectOldest = `
  select seq, source, event_id as eventId, type, content_type as contentType, payload, headers,
    received_at as receivedAt, status, due_at as dueAt,
    order_key as orderKey
  from spool where seq > ? and seq <= ? order by seq`
/** For operators: nothing of the service reads it. */
const createSetAside = `
  create table if not exists set_aside (
    seq integer primary key, source text not null, event_id text not null, type text not null,
    content_type text not null, payload blob not null, headers text not null, received_at integer not null,
    status text not null, due_at integer not null, order_key text, reason text not null
  ) strict`
const copyAside = `
  insert or ignore into set_aside (seq, ${columns}, reason)
  select seq, ${columns}, ? from spool where source = ? and event_id = ?`

export interface SpoolFileOptions {
  /** Bytes that the file may hold. Default 256 MiB. */
  maxBytes?: number
  /** Whether the file is made at once, instead of with the first event. Default false. */
  create?: boolean
}

/**
 * Where acknowledged events are kept that cannot be written to the database now: a small SQLite file, as durable, with a
 * lock of its own. Beside a database on SQLite (`<file>-spool`) it is made when it is first needed. Events are
 * removed in the order in which they came.
 */
export class SpoolFile {
  readonly #file: string
  readonly #maxBytes: number
  #connection: SqliteConnection | undefined
  #count = 0

  constructor(file: string, options: SpoolFileOptions = {}) {
    this.#file = file
    this.#maxBytes = options.maxBytes ?? mostBytes
    if (options.create || existsSync(file)) this.#open()
  }

  /** Events that lie in the spool. */
  get count(): number {
    return this.#count
  }

  /** Whether the file holds as much as it may. */
  get full(): boolean {
    return this.#count > 0 && this.#bytes() > this.#maxBytes
  }

  /** When the oldest event was received, in milliseconds since 1970. */
  get oldestReceivedAt(): number | undefined {
    return this.#connection?.get<{ at: number }>('select received_at as at from spool order by seq limit 1')
      ?.at
  }

  /** @throws Problem `overloaded` when the spool is full; StorageUnavailable. */
  add(events: readonly IncomingEvent[]): void {
    if (this.full) throw new Problem('overloaded', { retryAfter: 1 })
    const connection = this.#connection ?? this.#open()
    connection.checkInPlace()
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
  }

  /**
   * The oldest events behind the number `after`, up to the number `upTo`: at most `limit`, and about 8 MiB of them.
   * @throws StorageUnavailable
   */
  oldest(limit: number, after = 0, upTo = Number.MAX_SAFE_INTEGER): Spooled[] {
    const connection = this.#connection
    if (!connection || this.#count === 0) return []
    let bytes = 0
    let last: number | undefined
    const sizes = connection.all<{ seq: number; size: number }>(selectSizes, [after, upTo, limit])
    for (const { seq, size } of sizes) {
      bytes += size
      if (last !== undefined && bytes > readAtOnce) break
      last = seq
    }
    if (last !== undefined) return connection.all<Spooled>(selectOldest, [after, last])
    // A crash may leave a gap, which was counted at the start.
    if (!connection.get('select 1 from spool limit 1')) this.#count = 0
    return []
  }

  /** Deletes what `oldest` gave, once it is in the database. */
  forget(moved: readonly Spooled[]): void {
    if (moved.length > 0) this.forgetBetween(moved[0]!.seq, moved.at(-1)!.seq)
  }

  /** Deletes the events from one number to another, both included. */
  forgetBetween(from: number, to: number): void {
    if (!this.#connection) return
    this.#count -= this.#connection.run('delete from spool where seq between ? and ?', [from, to]).changes
  }

  /** Copies an event, with the reason why it cannot be moved, to a table of its own. */
  setAside({ source, eventId }: Pick<IncomingEvent, 'source' | 'eventId'>, reason: string): void {
    const connection = this.#connection ?? this.#open()
    connection.exec(createSetAside)
    connection.run(copyAside, [reason, source, eventId])
  }

  /** Gives the disk back what an empty spool holds: deleted bodies stay in the file until then. */
  shrink(): void {
    if (this.#count > 0) return
    this.#connection?.exec('vacuum; pragma wal_checkpoint(truncate)')
  }

  close(): void {
    this.#connection?.close()
    this.#connection = undefined
  }

  #bytes(): number {
    const pages = this.#pragma('page_count') - this.#pragma('freelist_count')
    return pages * this.#pragma('page_size')
  }

  #pragma(name: 'page_count' | 'freelist_count' | 'page_size'): number {
    return Object.values(this.#connection?.get<Record<string, number>>(`pragma ${name}`) ?? {})[0] ?? 0
  }

  #open(): SqliteConnection {
    // No checkpointer works beside it: often, and little each time.
    const connection = new SqliteConnection(this.#file, { logPages: 1_000 })
    connection.exec(createTable)
    // Numbers are given out without gaps and removed from the front: to count would be to read the whole file.
    const found = connection.get<{ count: number }>(
      `select coalesce((select max(seq) from spool) - (select min(seq) from spool) + 1, 0) as count`,
    )
    this.#count = found?.count ?? 0
    return (this.#connection = connection)
  }
}
