import { sleep, type Scheduler } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { GroupCommit } from '../../storage/group-commit.ts'
import { isRefusedValue, StorageUnavailable } from '../../storage/unavailable.ts'
import { notMade } from '../attempt/attempt.ts'
import type { Completion, DeliveryStore } from '../store.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Completions of one commit. Those with side effects take more statements and hold locks. */
const batchSize = 500
const batchSizeWithEffects = 50
/** A commit begins in the next turn of the event loop. The dispatcher bounds the waiting completions. */
const limits = { enough: 1, waiting: Infinity }
/** Milliseconds until a failed write is tried again. */
const retryPause = 500
/** Milliseconds until a record is tried again that the database refuses even without its details. */
const refusedPause = 10_000

/** An event about a delivery or a subscriber, for the operational subscribers. */
export interface OperationalEvent {
  type: string
  data: { readonly subscriber: { readonly id: string } }
}

/** What must be committed together with a completion. */
export interface SideEffects {
  /** Returns the events to publish. Runs concurrently with the side effects of the same commit. */
  apply(tx: Tx): Promise<readonly OperationalEvent[]>
  onCommitted(): void
}

interface WithEffects {
  readonly completion: Completion
  readonly effects: SideEffects
}

interface CompletionsParts extends Pick<ModuleParts, 'clock' | 'log'> {
  store: Pick<DeliveryStore, 'complete' | 'completeWithin'>
  database: Pick<Database, 'inBackground'>
  /** Emits events in the transaction of the side effects that caused them. */
  publish: (tx: Tx, events: readonly OperationalEvent[]) => Promise<void>
  /** Called after each commit: fewer completions are unrecorded now. */
  onRecorded?: () => void
  scheduler?: Scheduler
}

/**
 * Records the ends of attempts by group commit. Completions with side effects have commits of their own, so that the others need not
 * wait for them. A commit that fails is repeated until `abandon`; then its deliveries are attempted once more.
 */
export class Completions {
  readonly #parts: CompletionsParts
  readonly #plain: GroupCommit<Completion, void>
  readonly #withEffects: GroupCommit<WithEffects, void>
  readonly #abandoned = new AbortController()
  #unrecorded = 0
  #failingSince: number | undefined

  constructor(parts: CompletionsParts) {
    this.#parts = parts
    const { scheduler } = parts
    this.#plain = new GroupCommit({
      commit: (batch) => this.#record(batch),
      limits: { ...limits, batch: batchSize },
      scheduler,
    })
    this.#withEffects = new GroupCommit({
      commit: (batch) => this.#recordWithEffects(batch),
      limits: { ...limits, batch: batchSizeWithEffects },
      scheduler,
    })
  }

  get unrecorded(): number {
    return this.#unrecorded
  }

  /** Milliseconds for which all commits have failed. */
  get failingFor(): number {
    return this.#failingSince === undefined ? 0 : Math.max(0, this.#parts.clock.now() - this.#failingSince)
  }

  /** Resolves when the completion is durable or abandoned. */
  async add(completion: Completion, effects?: SideEffects): Promise<void> {
    this.#unrecorded += 1
    await (effects ? this.#addWithEffects(completion, effects) : this.#addPlain(completion))
    this.#unrecorded -= 1
    this.#parts.onRecorded?.()
  }

  /** Ends the repetition of failed commits. */
  abandon(): void {
    this.#abandoned.abort()
  }

  async #addWithEffects(completion: Completion, effects: SideEffects): Promise<void> {
    try {
      await this.#withEffects.add({ completion, effects })
    } catch (error) {
      // The attempt was made and must be recorded even if its side effects fail.
      const deliveryId = completion.delivery.id
      this.#parts.log.error({ err: error, deliveryId }, 'the side effects of an attempt failed')
      await this.#addPlain(completion)
    }
  }

  /**
   * Records an attempt, without its details if the database refuses them. It repeats a record that is refused even then, because the
   * delivery would be attempted again without it. The other records do not wait for it.
   */
  async #addPlain(completion: Completion): Promise<void> {
    const { clock, log } = this.#parts
    let record = completion
    do {
      try {
        await this.#plain.add(record)
        return
      } catch (error) {
        log.error(
          { err: error, deliveryId: completion.delivery.id },
          'the database rejected the record of an attempt',
        )
        if (record !== completion)
          await sleep(clock, refusedPause, this.#abandoned.signal).catch(() => undefined)
        record = withoutDetails(completion)
      }
    } while (!this.#abandoned.signal.aborted)
  }

  /** @throws an error about a value of one record, which the group commit finds */
  async #record(batch: readonly Completion[]): Promise<void[]> {
    await this.#repeat(batch.length, () => this.#parts.store.complete(batch), isRefusedValue)
    return Array<void>(batch.length)
  }

  /** @throws errors other than StorageUnavailable: the side effects of one completion may have caused them */
  async #recordWithEffects(batch: readonly WithEffects[]): Promise<void[]> {
    const { database } = this.#parts
    const isRecorded = await this.#repeat(
      batch.length,
      () => database.inBackground((tx) => this.#applyEffects(tx, batch)),
      (error) => !(error instanceof StorageUnavailable),
    )
    return batch.map(({ effects }) => {
      if (isRecorded) effects.onCommitted()
    })
  }

  async #applyEffects(tx: Tx, batch: readonly WithEffects[]): Promise<void> {
    const { store, publish } = this.#parts
    const recorded = await store.completeWithin(
      tx,
      batch.map(({ completion }) => completion),
    )
    // An attempt that was recorded before has no side effects again.
    const applied = batch
      .filter(({ completion }) => recorded.has(completion.delivery.id))
      .map(async ({ effects }) => effects.apply(tx))
    // The statements are sent together. All must have ended before a rollback.
    await Promise.allSettled(applied)
    await publish(tx, (await Promise.all(applied)).flat())
  }

  /**
   * Repeats a commit until it succeeds, or until `abandon`. Returns whether it succeeded.
   * @throws errors that a repetition cannot fix
   */
  async #repeat(
    deliveries: number,
    commit: () => Promise<void>,
    isFinal: (error: unknown) => boolean,
  ): Promise<boolean> {
    for (;;) {
      try {
        await commit()
        this.#failingSince = undefined
        return true
      } catch (error) {
        if (isFinal(error)) throw error
        this.#failingSince ??= this.#parts.clock.now()
        const { aborted } = this.#abandoned.signal
        this.#parts.log.error(
          { err: error, deliveries },
          aborted ? 'attempts could not be recorded' : 'attempts could not be recorded; trying again',
        )
        if (aborted) return false
        // `abandon` ends the sleep; then one last try follows.
        await sleep(this.#parts.clock, retryPause, this.#abandoned.signal).catch(() => undefined)
      }
    }
  }
}

/** The outcome of the attempt, without what the subscriber answered. */
function withoutDetails({ attempt, ...completion }: Completion): Completion {
  const { at, durationMs, status, failure } = attempt
  const error = 'The details of this attempt could not be stored.'
  return { ...completion, attempt: { ...notMade(at, '{}'), durationMs, status, failure, error } }
}
