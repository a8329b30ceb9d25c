import type { Clock } from '../../runtime/clock.ts'
import type { Database } from '../../storage/database.ts'
import { withinTime } from '../../storage/unavailable.ts'
import type { Plan } from './plan.ts'

/** Milliseconds for which a result is used: while nothing is paused, and while something is, which may be resumed at any time. */
const freshFor = { none: 900, some: 90 }

/** Milliseconds that the worker waits for the answer, as for its other statements, so that it detects a silent path. */
const answerWithin = 5_000

export type Pauses = Pick<PausedHandlers, 'refresh' | 'isFresh' | 'isPaused'>

/**
 * The handlers that are paused, for all processes: a table, which each process reads about once a second. The worker does not ask for
 * their events, so that they cost nothing and stay as they are (docs/adr/0044-paused-handlers.md).
 */
export class PausedHandlers {
  readonly #parts: { database: Pick<Database, 'reader'>; clock: Clock }
  #ids: ReadonlySet<string> = new Set()
  #readAt = -Infinity
  #reading: Promise<void> | undefined

  constructor(parts: { database: Pick<Database, 'reader'>; clock: Clock }) {
    this.#parts = parts
  }

  /** Whether what is paused was read just now. */
  get isFresh(): boolean {
    const age = Math.abs(this.#parts.clock.now() - this.#readAt)
    return age < (this.#ids.size === 0 ? freshFor.none : freshFor.some)
  }

  /** Reads what is paused, if that was not read just now. @throws StorageUnavailable */
  async refresh(): Promise<void> {
    if (this.isFresh) return
    await (this.#reading ??= this.#read().finally(() => (this.#reading = undefined)))
  }

  /** Makes the next `refresh` read. */
  forget(): void {
    this.#readAt = -Infinity
  }

  /** Whether the events of a plan wait, because one of its handlers is paused. */
  isPaused({ handlers }: Pick<Plan, 'handlers'>): boolean {
    return this.#ids.size > 0 && handlers.some(({ id }) => this.#ids.has(id))
  }

  async #read(): Promise<void> {
    const { database, clock } = this.#parts
    const now = clock.now()
    const rows = await withinTime(
      clock,
      answerWithin,
      database.reader.selectFrom('paused_handlers').select('handler').execute(),
      `the paused handlers were not read within ${answerWithin} ms`,
    )
    this.#ids = new Set(rows.map(({ handler }) => handler))
    this.#readAt = now
  }
}
