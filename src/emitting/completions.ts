import { sleep, type Clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { Log } from '../telemetry/log.ts'
import type { Completion, DeliveryStore } from './store.ts'

/** Completions of one commit. Those with side effects take more statements and hold locks. */
const batchSize = 500
const batchSizeWithEffects = 50
/** Milliseconds until a failed write is tried again. */
const retryPause = 500

/** An event about a delivery or a subscriber, for the operational subscribers. */
export interface OperationalEvent {
  type: string
  data: object
}

/** What must be committed together with a completion. */
export interface SideEffects {
  /** Returns the events to publish. Runs concurrently with the side effects of the same commit. */
  apply(tx: Tx): Promise<readonly OperationalEvent[]>
  onCommitted(): void
}

interface Waiting {
  completion: Completion
  effects: SideEffects | undefined
  done: () => void
}

export interface CompletionsParts {
  store: Pick<DeliveryStore, 'complete' | 'completeWithin'>
  database: Pick<Database, 'transaction'>
  /** Emits events in the transaction of the side effects that caused them. */
  publish: (tx: Tx, events: readonly OperationalEvent[]) => Promise<void>
  /** Called after each commit: fewer completions are unrecorded now. */
  onRecorded?: () => void
  clock: Clock
  log: Log
}

/**
 * Records the ends of attempts in batches: those that come during a commit share the next one. Completions with side effects have
 * commits of their own, so that the others need not wait for them. A failed commit is repeated until `abandon`; then its
 * deliveries are attempted once more.
 */
export class Completions {
  readonly #parts: CompletionsParts
  readonly #plain = new Batcher(batchSize, (batch) => this.#persist(batch, () => this.#record(batch)))
  readonly #withEffects = new Batcher(batchSizeWithEffects, (batch) =>
    this.#persist(batch, () => this.#recordWithEffects(batch)),
  )
  readonly #abandoned = new AbortController()
  #unrecorded = 0
  #failingSince: number | undefined

  constructor(parts: CompletionsParts) {
    this.#parts = parts
  }

  /** Completions that are not committed yet. */
  get unrecorded(): number {
    return this.#unrecorded
  }

  /** Milliseconds for which all commits have failed. */
  get failingFor(): number {
    return this.#failingSince === undefined ? 0 : Math.max(0, this.#parts.clock.now() - this.#failingSince)
  }

  /** Resolves when the completion is durable or abandoned. */
  add(completion: Completion, effects?: SideEffects): Promise<void> {
    this.#unrecorded += 1
    return new Promise((done) => {
      const batcher = effects ? this.#withEffects : this.#plain
      batcher.add({ completion, effects, done })
    })
  }

  /** Ends the repetition of failed commits. */
  abandon(): void {
    this.#abandoned.abort()
  }

  #record(batch: readonly Waiting[]): Promise<void> {
    return this.#parts.store.complete(batch.map(({ completion }) => completion))
  }

  async #recordWithEffects(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#parts.database.transaction((tx) => this.#applyEffects(tx, batch), { priority: 'work' })
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error
      if (batch.length > 1) {
        for (const one of batch) await this.#recordWithEffects([one])
        return
      }
      // The attempt was made and must be recorded, whatever is wrong with its side effects.
      const deliveryId = batch[0]!.completion.delivery.id
      this.#parts.log.error({ err: error, deliveryId }, 'the side effects of an attempt failed')
      return this.#record(batch)
    }
    for (const { effects } of batch) effects!.onCommitted()
  }

  async #applyEffects(tx: Tx, batch: readonly Waiting[]): Promise<void> {
    const { store, publish } = this.#parts
    const recorded = await store.completeWithin(
      tx,
      batch.map(({ completion }) => completion),
    )
    // An attempt that was recorded before has no side effects again.
    const applied = batch
      .filter(({ completion }) => recorded.has(completion.delivery.id))
      .map(async ({ effects }) => effects!.apply(tx))
    // The statements are sent together. All must have ended before a rollback.
    await Promise.allSettled(applied)
    await publish(tx, (await Promise.all(applied)).flat())
  }

  async #persist(batch: readonly Waiting[], write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await write()
        this.#failingSince = undefined
        break
      } catch (error) {
        this.#failingSince ??= this.#parts.clock.now()
        const { aborted } = this.#abandoned.signal
        this.#parts.log.error(
          { err: error, deliveries: batch.length },
          aborted ? 'attempts could not be recorded' : 'attempts could not be recorded; trying again',
        )
        if (aborted) break
        // `abandon` ends the sleep; then one last try follows.
        await sleep(this.#parts.clock, retryPause, this.#abandoned.signal).catch(() => undefined)
      }
    }
    this.#unrecorded -= batch.length
    for (const { done } of batch) done()
    this.#parts.onRecorded?.()
  }
}

/** Writes one batch at a time. Items that come meanwhile form the next batch. */
class Batcher {
  readonly #size: number
  readonly #write: (batch: readonly Waiting[]) => Promise<void>
  #waiting: Waiting[] = []
  #writing = false

  constructor(size: number, write: (batch: readonly Waiting[]) => Promise<void>) {
    this.#size = size
    this.#write = write
  }

  add(one: Waiting): void {
    this.#waiting.push(one)
    if (!this.#writing) void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    this.#writing = true
    // Items that come in this same turn of the event loop share the first batch.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, this.#size))
    this.#writing = false
  }
}
