import { Problem } from '../errors.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { IncomingEvent } from './incoming.ts'

/** Stores events durably, each at most once per (source, event id). Resolves after the commit. */
export type InsertEvents = (events: readonly IncomingEvent[]) => Promise<void>

export interface AcceptorLimits {
  /** Commits that may run at once. */
  commits: number
  /**
   * Milliseconds for which a running commit delays the next one, if several may run. Commits one after the other are larger
   * and fewer, and take a fifth less CPU time; but a commit that waits for a lock or a distant database must not delay the
   * others for longer.
   */
  maxWait: number
  /**
   * Events that are enough to begin a commit. With more, all senders of a burst would wait for the same commit, and the event
   * loop would be idle meanwhile.
   */
  gathered: number
  /** Events and bytes in one commit. */
  batch: number
  batchBytes: number
  /** Events and bytes that may wait; beyond that, requests are refused. */
  waiting: number
  waitingBytes: number
}

const defaults: AcceptorLimits = {
  commits: 1,
  maxWait: 50,
  gathered: 24,
  batch: 500,
  batchBytes: 8 * 1024 * 1024,
  waiting: 20_000,
  waitingBytes: 64 * 1024 * 1024,
}

/** Bytes. */
const aroundAnEvent = 1_024

/** Turns of the event loop for which events may be gathered. */
const mostTurns = 8

interface Waiting {
  readonly event: IncomingEvent
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit for requests: events that arrive in one turn of the event loop are stored at its end by one durable commit, and
 * those that arrive while all commits are running are stored by the next one.
 */
export class Acceptor {
  readonly #insert: InsertEvents
  readonly #limits: AcceptorLimits
  readonly #onError: (error: unknown) => void
  #queue: Waiting[] = []
  #bytes = 0
  #commits = 0
  /** When the latest commit began. */
  #began = 0
  #scheduled = false
  #closed = false
  #idle: (() => void) | undefined

  /** @param onError called for failures other than an unavailable database. */
  constructor(insert: InsertEvents, onError: (error: unknown) => void, limits: Partial<AcceptorLimits> = {}) {
    this.#insert = insert
    this.#onError = onError
    this.#limits = { ...defaults, ...limits }
  }

  /**
   * Resolves once the event is on the disk.
   * @throws Problem `overloaded` when too much waits already, `stopping` after close; StorageUnavailable.
   */
  accept(event: IncomingEvent): Promise<void> {
    const { waiting, waitingBytes } = this.#limits
    if (this.#closed) return Promise.reject(new Problem('stopping', { retryAfter: 1 }))
    const bytes = bytesOf(event)
    // A single event is accepted whatever its size: the limit of bodies bounds it.
    const isFull = this.#queue.length >= waiting || this.#bytes + bytes > waitingBytes
    if (isFull && this.#queue.length > 0) {
      return Promise.reject(new Problem('overloaded', { retryAfter: 1 }))
    }
    this.#bytes += bytes
    return new Promise((resolve, reject) => {
      this.#queue.push({ event, resolve, reject })
      this.#schedule()
    })
  }

  /** Events that wait for a commit to begin. */
  get waiting(): number {
    return this.#queue.length
  }

  /** The bytes of these events. */
  get waitingBytes(): number {
    return this.#bytes
  }

  /** Refuses new events, and resolves when the waiting ones are stored. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#queue.length > 0 || this.#commits > 0)
      await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #schedule(): void {
    if (this.#scheduled || !this.#mayBegin()) return
    this.#scheduled = true
    this.#gather(0, 0)
  }

  /**
   * Commits at the end of the first turn without new events. A turn of a busy event loop brings a few requests, and a commit
   * costs as much as many of them, so it waits for the next few. A single request waits for one empty turn.
   */
  #gather(turns: number, before: number): void {
    setImmediate(() => {
      const now = this.#queue.length
      if (now > before && now < this.#limits.gathered && turns < mostTurns) {
        this.#gather(turns + 1, now)
        return
      }
      this.#scheduled = false
      if (this.#queue.length > 0 && this.#mayBegin()) void this.#commit(this.#takeBatch())
    })
  }

  #mayBegin(): boolean {
    const { commits, maxWait } = this.#limits
    if (this.#commits === 0) return true
    return this.#commits < commits && performance.now() - this.#began >= maxWait
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    this.#commits += 1
    this.#began = performance.now()
    try {
      await this.#store(batch)
    } finally {
      this.#commits -= 1
    }
    if (this.#queue.length > 0) this.#schedule()
    else if (this.#commits === 0) this.#idle?.()
  }

  /**
   * Problems and an unavailable database concern all events of a batch. Any other error may be caused by a single event, which
   * must not affect those that arrived at the same time: halving the batch finds it in a few commits.
   */
  async #store(batch: readonly Waiting[], part = false): Promise<void> {
    try {
      await this.#insert(batch.map(({ event }) => event))
    } catch (error) {
      const common = error instanceof Problem || error instanceof StorageUnavailable
      // Report the first error, and then only the events that are refused in the end.
      if (!common && (!part || batch.length === 1)) this.#onError(error)
      if (common || batch.length === 1) {
        for (const { reject } of batch) reject(error)
        return
      }
      const middle = Math.ceil(batch.length / 2)
      await this.#store(batch.slice(0, middle), true)
      await this.#store(batch.slice(middle), true)
      return
    }
    for (const { resolve } of batch) resolve()
  }

  #takeBatch(): Waiting[] {
    const { batch, batchBytes } = this.#limits
    let bytes = 0
    let count = 0
    while (count < this.#queue.length && count < batch) {
      const length = bytesOf(this.#queue[count]!.event)
      if (count > 0 && bytes + length > batchBytes) break
      bytes += length
      count += 1
    }
    const taken = this.#queue.slice(0, count)
    this.#queue = this.#queue.slice(count)
    this.#bytes -= bytes
    return taken
  }
}

/** Estimates the memory of an event: its bytes, its texts, and the objects around them. */
function bytesOf({ payload, headers }: IncomingEvent): number {
  return payload.length + headers.length + aroundAnEvent
}
