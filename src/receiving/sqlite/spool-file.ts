import { existsSync } from 'node:fs'
import { finish, SqliteConnection } from '../../storage/sqlite/connection.ts'
import { eventColumns, type IncomingEvent, toRow } from '../queue/store.ts'

/** Bytes that the file may hold by default. */
export const mostBytes = 256 * 1024 * 1024
/** Bytes of payloads and headers in one read of more than one event. */
const readAtOnce = 8 * 1024 * 1024

export interface Spooled extends IncomingEvent {
  /** The number in the file, in the order of arrival. */
  readonly seq: number
}

const columns = `source text not null, event_id text not null, type text not null, content_type text not null, payload blob not null,
    headers text not null, received_at integer not null, status text not null, due_at integer not null, order_key text`
const createTable = `create table if not exists spool (seq integer primary key autoincrement, ${columns}) strict`
const insert = `insert into spool (${eventColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const selectSizes = 'select seq, length(payload) + length(headers) as size from spool order by seq limit ?'
const selectOldest = `
  select seq, source, event_id as eventId, type, content_type as contentType, payload, headers,
    received_at as receivedAt, status, due_at as dueAt,
    order_key as orderKey
  from spool where seq <= ? order by seq`
const deleteMoved = 'delete from spool where seq in (select value from json_each(?))'
/** For operators. The service does not read it. */
const createSetAside = `
  create table if not exists set_aside (seq integer primary key, ${columns}, reason text not null) strict`
export const copyAside = `
  insert or ignore into set_aside (seq, ${eventColumns}, reason)
  select seq, ${eventColumns}, ? from spool where seq = ?`

/** The spool beside a database on SQLite. It exists only after it was needed. */
export function spoolBeside(file: string): string {
  return `${file}-spool`
}

interface SpoolFileOptions {
  /** Bytes that the file may hold. Default 256 MiB. */
  maxBytes?: number
  /** Whether the file is created at once, instead of with the first event. Default false. */
  create?: boolean
}

/**
 * Stores acknowledged events that cannot be written to the database now: a small SQLite file, as durable, with a lock of its
 * own. Beside a database on SQLite (`<file>-spool`) it is created when it is first needed.
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

  /** Events in the spool. */
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

  /** Adds events in one durable commit; false if the spool is full. @throws StorageUnavailable */
  add(events: readonly IncomingEvent[]): boolean {
    if (this.full) return false
    const connection = this.#connection ?? this.#open()
    connection.checkInPlace()
    connection.exec('begin immediate')
    finish(connection, () => {
      for (const event of events) connection.run(insert, toRow(event))
    })
    this.#count += events.length
    return true
  }

  /** The oldest events: at most `limit`, and about 8 MiB of them. @throws StorageUnavailable */
  oldest(limit: number): Spooled[] {
    const connection = this.#connection
    if (!connection || this.#count === 0) return []
    let bytes = 0
    let last: number | undefined
    for (const { seq, size } of connection.all<{ seq: number; size: number }>(selectSizes, [limit])) {
      bytes += size
      if (last !== undefined && bytes > readAtOnce) break
      last = seq
    }
    if (last !== undefined) return connection.all<Spooled>(selectOldest, [last])
    // A crash may leave a gap, which was counted at the start.
    this.#count = 0
    return []
  }

  /** Deletes events by their numbers, after they were moved into the database. */
  forget(seqs: readonly number[]): void {
    if (!this.#connection || seqs.length === 0) return
    this.#count -= this.#connection.run(deleteMoved, [JSON.stringify(seqs)]).changes
  }

  /** Copies an event, with the reason why it cannot be moved, to a table of its own. */
  setAside(seq: number, reason: string): void {
    const connection = this.#connection ?? this.#open()
    connection.exec(createSetAside)
    connection.run(copyAside, [reason, seq])
  }

  /** Returns the space of an empty spool to the disk: deleted events stay in the file until then. */
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
    // No checkpointer works on this file, so commits write the log back, often and little each time.
    const connection = new SqliteConnection(this.#file, { logPages: 1_000 })
    try {
      connection.exec(createTable)
      // Numbers have no gaps and are removed from the front. Counting would read the whole file.
      const found = connection.get<{ count: number }>(
        `select coalesce((select max(seq) from spool) - (select min(seq) from spool) + 1, 0) as count`,
      )
      this.#count = found?.count ?? 0
    } catch (error) {
      connection.close()
      throw error
    }
    return (this.#connection = connection)
  }
}
