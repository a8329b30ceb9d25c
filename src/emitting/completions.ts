import { sleep, type Clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Log } from '../telemetry/log.ts'
import type { Completion, DeliveryStore } from './store.ts'

/** Completions of one commit, and of one from which something follows: those take more statements, and hold locks. */
const batch = 500
const batchWithMore = 50
/** How long to wait before a write that failed is tried again, in milliseconds. */
const pause = 500

/** What is to be told of an attempt. */
export interface OperationalEvent {
  type: string
  data: object
}

/** What follows from a completion, and is to be there if and only if that is. */
export interface SideEffects {
  /** Returns what is to be told. Runs beside what follows from the others of the same commit. */
  apply(tx: Tx): Promise<readonly OperationalEvent[]>
  onCommitted(): void
}

interface Waiting {
  completion: Completion
  following: SideEffects | undefined
  done: () => void
}

export interface CompletionsParts {
  store: Pick<DeliveryStore, 'complete' | 'completeWithin'>
  database: Pick<Database, 'transaction'>
  /** Tells, in the transaction of what it follows from. */
  publish: (tx: Tx, notices: readonly OperationalEvent[]) => Promise<void>
  /** Called when some were written: fewer are unwritten now. */
  onRecorded?: () => void
  clock: Clock
  log: Log
}

/**
 * Writes the ends of attempts in batches: while one commit runs, the next ones gather. Those from which something follows
 * have commits of their own, beside the others, which need not wait for them. A commit that fails is tried again until
 * `abandon`; the deliveries are then attempted once more.
 */
export class Completions {
  readonly #parts: CompletionsParts
  readonly #plain = new Gathering(batch, (some) => this.#persist(some, () => this.#writePlain(some)))
  readonly #withMore = new Gathering(batchWithMore, (some) =>
    this.#persist(some, () => this.#writeAndFollow(some)),
  )
  readonly #abandoned = new AbortController()
  #unwritten = 0
  #failingSince: number | undefined

  constructor(parts: CompletionsParts) {
    this.#parts = parts
  }

  /** Those that wait to be written, or are being written now. */
  get unrecorded(): number {
    return this.#unwritten
  }

  /** Milliseconds for which nothing could be written. */
  get failingFor(): number {
    return this.#failingSince === undefined ? 0 : Math.max(0, this.#parts.clock.now() - this.#failingSince)
  }

  /** Resolves when the completion is durable, or when all are abandoned. */
  add(completion: Completion, following?: SideEffects): Promise<void> {
    this.#unwritten += 1
    return new Promise((done) => {
      const gathering = following ? this.#withMore : this.#plain
      gathering.add({ completion, following, done })
    })
  }

  /** Ends the retries of a write that fails. */
  abandon(): void {
    this.#abandoned.abort()
  }

  #writePlain(waiting: readonly Waiting[]): Promise<void> {
    return this.#parts.store.complete(waiting.map(({ completion }) => completion))
  }

  async #writeAndFollow(waiting: readonly Waiting[]): Promise<void> {
    const { database, store, publish, log } = this.#parts
    try {
      await database.transaction(
        async (tx) => {
          const counted = await store.completeWithin(
            tx,
            waiting.map(({ completion }) => completion),
          )
          // Nothing follows from what somebody else wrote down before.
          const following = waiting
            .filter(({ completion }) => counted.has(completion.delivery.id))
            .map(async (one) => one.following!.apply(tx))
          // Statements that go out together, and none that goes on behind a rollback.
          await Promise.allSettled(following)
          await publish(tx, (await Promise.all(following)).flat())
        },
        { priority: 'work' },
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
    for (const { following } of waiting) following!.onCommitted()
  }

  async #persist(waiting: readonly Waiting[], write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await write()
        this.#failingSince = undefined
        break
      } catch (error) {
        this.#failingSince ??= this.#parts.clock.now()
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
    this.#unwritten -= waiting.length
    for (const { done } of waiting) done()
    this.#parts.onRecorded?.()
  }
}

/** Gathers what comes while a batch is written. */
class Gathering {
  readonly #most: number
  readonly #write: (some: readonly Waiting[]) => Promise<void>
  #waiting: Waiting[] = []
  #writing = false

  constructor(most: number, write: (some: readonly Waiting[]) => Promise<void>) {
    this.#most = most
    this.#write = write
  }

  add(one: Waiting): void {
    this.#waiting.push(one)
    if (!this.#writing) void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    this.#writing = true
    // What completes in this same turn of the loop shares the first commit.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, this.#most))
    this.#writing = false
  }
}
