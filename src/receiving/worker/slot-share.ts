import { Period } from '../../runtime/period.ts'
import type { SlotRequest } from '../queue/slot-store.ts'

/** Milliseconds for which a share is valid without a renewal. */
const validFor = 5_000
/** Milliseconds that slots are held beyond that and the handler's time limit, because clocks differ. */
const margin = 5_000
/** Milliseconds to the next request for slots of a handler. */
const nextRequest = { usual: 200, afterFailure: 1_000 }
/** Milliseconds for which a need for more slots is remembered: a process without a slot looks for work every second. */
const needLasts = 2_500

/** The slots of one handler that this process may use, and when it needs more. Times are milliseconds since 1970. */
export class SlotShare {
  /** The most that all processes may use together. */
  readonly limit: number
  /** The longest that events of this handler may take, in milliseconds. */
  #timeout = 0
  #share = 0
  /** While the share may be used. */
  readonly #valid = new Period()
  /** While a need for more slots is remembered. */
  #needed = new Period()
  /** Between a request and the next one. */
  readonly #pause = new Period()

  constructor(limit: number) {
    this.limit = limit
  }

  /** How many events may run now. */
  allowed(now: number): number {
    return this.#valid.has(now) ? this.#share : 0
  }

  /** There is work for more slots. */
  need(now: number): void {
    this.#needed.start(now, needLasts)
  }

  /** There is work that may take so many milliseconds. */
  noteTimeout(timeout: number): void {
    this.#timeout = Math.max(this.#timeout, timeout)
  }

  needsMore(now: number): boolean {
    return this.#needed.has(now)
  }

  mayRequest(now: number): boolean {
    return !this.#pause.has(now)
  }

  /** A request for slots begins: from when on the next one may, and until when the slots are held. */
  requested(now: number): Pick<SlotRequest, 'limit' | 'until'> {
    this.#pause.start(now, nextRequest.usual)
    return { limit: this.limit, until: now + validFor + this.#timeout + margin }
  }

  requestFailed(now: number): void {
    this.#pause.start(now, nextRequest.afterFailure)
  }

  /** The answer to a request. */
  grant(share: number, requestedAt: number): void {
    this.#share = share
    this.#valid.start(requestedAt, validFor)
  }

  /** Gives back what is beyond `used`, with the next request. */
  reduceTo(used: number): void {
    this.#share = Math.min(this.#share, used)
  }

  /** Gives back all, with the next request. */
  end(): void {
    this.#share = 0
    this.#needed = new Period()
  }
}
