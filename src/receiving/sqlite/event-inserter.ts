import { existsSync } from 'node:fs'
import { Problem } from '../../errors.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { SqliteDatabase } from '../../storage/database.ts'
import { withinTime } from '../../storage/unavailable.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import { type EventKey, type IncomingEvent, keyOf, type OnDuplicate, packEvents } from '../queue/store.ts'
import type { EventTasks } from './event-writer-thread.ts'
import { spoolBeside } from './spool-file.ts'

/**
 * Milliseconds that an acknowledgement waits for the right to write before it is spooled. Most transactions are shorter, and a
 * spooled event is written twice.
 */
const maxWait = 5
/** Milliseconds before the next move, after another process held the lock and after an error. */
const retryAfter = { locked: 20, failed: 250 }
/** Milliseconds for a check of the spool; a load balancer waits for some seconds for the whole answer of /readyz. */
const checkWithin = 3_000

export interface EventInserterParts {
  database: SqliteDatabase
  clock: Clock
  onError: (error: unknown) => void
  /** Called after events were moved from the spool into the event queue. */
  onMoved: () => void
  onDuplicate?: OnDuplicate | undefined
}

/** Stores received events in a thread, and moves those that were spooled when the write lock is free. */
export class EventInserter {
  readonly #parts: EventInserterParts
  readonly #thread: ThreadClient<EventTasks>
  readonly #stopping = new AbortController()
  #spooled = 0
  #moving: Promise<void> | undefined

  constructor(parts: EventInserterParts) {
    this.#parts = parts
    const module = new URL('event-writer-thread.ts', import.meta.url)
    this.#thread = new ThreadClient({ module, name: 'events', workerData: parts.database.opened })
  }

  /**
   * Resolves once the events are on the disk.
   * @throws Problem `overloaded` if the spool is full; StorageUnavailable, also if the thread dies: then it is unknown what it did
   */
  async insert(events: readonly IncomingEvent[]): Promise<void> {
    const release = await this.#parts.database.hold('acknowledge', maxWait)
    try {
      const rows = packEvents(events)
      const task = { rows, mayWrite: release !== undefined }
      const transfer = [rows.payloads.buffer]
      const { stored, spooled, refusals, duplicates } = await this.#thread.call('insert', task, transfer)
      this.#report(refusals, duplicates, events)
      this.#moveLater(spooled)
      if (!stored) throw new Problem('overloaded', { retryAfter: 1 })
    } finally {
      release?.()
    }
  }

  /** Begins to move what an earlier process left in the spool. Without a spool, the thread starts at the first event. */
  start(): void {
    if (!existsSync(spoolBeside(this.#parts.database.file))) return
    this.#thread
      .call('checkSpool', undefined)
      .then((spooled) => this.#moveLater(spooled), this.#parts.onError)
  }

  /** @throws StorageUnavailable if the spool cannot be read: then no event is stored, because it could overtake spooled ones */
  async checkSpool(): Promise<void> {
    await withinTime(
      this.#parts.clock,
      checkWithin,
      this.#thread.call('checkSpool', undefined),
      'the spool next to the database does not respond, and webhooks wait or get 503 until it does',
    )
  }

  /** Ends the thread. Events that are still spooled are moved at the next start. */
  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#moving
    await this.#thread.close()
  }

  /** @param batch the events of the insert, if the report is of one */
  #report(
    refusals: readonly string[],
    duplicates: readonly EventKey[],
    batch: readonly IncomingEvent[] = [],
  ): void {
    if (duplicates.length > 0) {
      // Of two in one batch, the last one is the duplicate.
      const events = new Map(batch.map((event) => [keyOf(event), event]))
      for (const key of duplicates) this.#parts.onDuplicate?.(key.source, events.get(keyOf(key)))
    }
    for (const refusal of refusals)
      this.#parts.onError(
        new Error(
          `the database rejected a spooled event, which is now in the spool's table set_aside: ${refusal}`,
        ),
      )
  }

  #moveLater(spooled: number): void {
    this.#spooled = spooled
    if (spooled === 0 || this.#stopping.signal.aborted) return
    this.#moving ??= this.#moveAll().finally(() => (this.#moving = undefined))
  }

  async #moveAll(): Promise<void> {
    const { signal } = this.#stopping
    while (this.#spooled > 0 && !signal.aborted) {
      const pause = await this.#moveSome()
      if (pause > 0) await sleep(this.#parts.clock, pause, signal).catch(() => undefined)
    }
  }

  /** Returns the milliseconds to wait before the next move. */
  async #moveSome(): Promise<number> {
    const { database, onMoved, onError } = this.#parts
    try {
      const release = await database.hold('acknowledge')
      try {
        const { moved, spooled, refusals, duplicates } = await this.#thread.call('move', undefined)
        this.#report(refusals, duplicates)
        this.#spooled = spooled
        if (!moved) return retryAfter.locked
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
}
