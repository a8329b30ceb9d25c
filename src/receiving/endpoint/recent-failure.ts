import type { Clock } from '../../runtime/clock.ts'
import { Period } from '../../runtime/period.ts'
import { isUnwritable } from '../../storage/unavailable.ts'
import type { InsertEvents } from './acceptor.ts'

/** Milliseconds for which a failure counts. Without new webhooks it would count for ever, and a load balancer would send none. */
const countsFor = 10_000

/**
 * Whether the last attempt to store webhooks failed because the database could not write, as on a full disk. This shows only there:
 * such a database answers. Other failures do not count: a check of the database finds them, and finds at once that they are over.
 */
export class RecentFailure {
  readonly #clock: Pick<Clock, 'now'>
  readonly #failed = new Period()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isRecent(): boolean {
    return this.#failed.has(this.#clock.now())
  }

  /** The same function, with its outcomes recorded. */
  watch(insert: InsertEvents): InsertEvents {
    return async (events) => {
      try {
        await insert(events)
        this.#failed.end()
      } catch (error) {
        if (isUnwritable(error)) this.#failed.start(this.#clock.now(), countsFor)
        throw error
      }
    }
  }
}
