import { sleep, type Clock } from '../clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Log } from '../telemetry/log.ts'
import type { Completion, DeliveryQueue } from './store.ts'

/** Completions of one commit, and of one from which something follows: each of those takes several statements. */
const batch = 500
const batchWithMore = 50
/** How long to wait before a write that failed is tried again, in milliseconds. */
const pause = 500

/** What follows from a completion, and is to be there if and only if that is. */
export interface Following {
  within(tx: Tx): Promise<void>
  committed(): void
}

interface Waiting {
  completion: Completion
  following: Following | undefined
  done: () => void
}

export interface CompletionsParts {
  queue: Pick<DeliveryQueue, 'complete' | 'completeWithin'>
  database: Pick<Database, 'transaction'>
  clock: Clock
  log: Log
}

/**
 * Writes the ends of attempts in batches: while one commit runs, the next ones gather. A commit that fails is tried
 * again until `abandon`; the deliveries are then attempted once more.
 */
export class Completions {
  readonly #parts: CompletionsParts
  #waiting: Waiting[] = []
  #writing = false
  readonly #abandoned = new AbortController()

  constructor(parts: CompletionsParts) {
    this.#parts = parts
  }

  /** Resolves when the completion is durable, or when all are abandoned. */
  add(completion: Completion, following?: Following): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ completion, following, done: resolve })
      if (!this.#writing) void this.#write()
    })
  }

  /** Ends the retries of a write that fails. */
  abandon(): void {
    this.#abandoned.abort()
  }

  async #write(): Promise<void> {
    this.#writing = true
    // What completes in this same turn of the loop shares the first commit.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const all = this.#waiting.splice(0, batch)
      const plain = all.filter(({ following }) => !following)
      if (plain.length > 0) await this.#persist(plain, () => this.#writePlain(plain))
      const more = plain.length === all.length ? [] : all.filter(({ following }) => following)
      while (more.length > 0) {
        const some = more.splice(0, batchWithMore)
        await this.#persist(some, () => this.#writeAndFollow(some))
      }
    }
    this.#writing = false
  }

  #writePlain(waiting: readonly Waiting[]): Promise<void> {
    return this.#parts.queue.complete(waiting.map(({ completion }) => completion))
  }

  async #writeAndFollow(waiting: readonly Waiting[]): Promise<void> {
    const { database, queue, log } = this.#parts
    try {
      await database.transaction(
        async (tx) => {
          // Nothing follows from what somebody else wrote down before.
          for (const { completion, following } of waiting)
            if (await queue.completeWithin(tx, completion)) await following!.within(tx)
        },
        { lane: 'work' },
      )
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error
      if (waiting.length > 1) {
        for (const one of waiting) await this.#writeAndFollow([one])
        return
      }
      // That it was attempted counts, whatever is wrong with the rest.
      log.error(
        { err: error, deliveryId: waiting[0]!.completion.delivery.id },
        'admins could not be told of it',
      )
      return this.#writePlain(waiting)
    }
    for (const { following } of waiting) following!.committed()
  }

  async #persist(waiting: readonly Waiting[], write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await write()
        break
      } catch (error) {
        const { aborted } = this.#abandoned.signal
        this.#parts.log.error(
          { err: error, deliveries: waiting.length },
          aborted ? 'attempts could not be recorded' : 'attempts could not be recorded; trying again',
        )
        if (aborted) break
        // Abandoned while waiting: one last try.
        await sleep(this.#parts.clock, pause, this.#abandoned.signal).catch(() => undefined)
      }
    }
    for (const { done } of waiting) done()
  }
}
