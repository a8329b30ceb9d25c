import type { Clock } from '../../runtime/clock.ts'
import { mayRunAgain, StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Plan } from '../handlers/plan.ts'
import type { ClaimedEvent } from '../queue/store.ts'
import type { ClaimReleases } from './claim-releases.ts'
import type { ConcurrencyGroups } from './concurrency-groups.ts'
import { recordFailure, type FailureParts } from './failures.ts'
import { ClaimLost, Stopping, TransactionTimeout, WaitedForTransaction } from './interruptions.ts'
import { gather, leaseMargin, pauseAfterError } from './timing.ts'
import type { Unsettled } from './unsettled.ts'
import type { WakeUps } from './wake-ups.ts'

/** Errors that the handler did not cause: such an attempt does not count. */
const notItsOwn = [Stopping, StorageUnavailable, WaitedForTransaction] as const

export interface AttemptFailuresParts extends FailureParts {
  clock: Clock
  log: Log
  /** Called for each recorded failure of a handler. */
  onFailed?: ((handler: string) => void) | undefined
}

export interface AttemptFailuresState {
  groups: ConcurrencyGroups
  releases: ClaimReleases
  unsettled: Unsettled
  wakeUps: WakeUps
}

/** An attempt that did not succeed. Times in milliseconds since 1970. */
interface FailedAttempt {
  readonly claimed: ClaimedEvent
  readonly plan: Plan
  /** The id of the handler that failed. */
  readonly handler: string
  readonly startedAt: number
}

/** Decides what follows a failed attempt: the event is given back, or its failure is recorded, now or later. */
export class AttemptFailures {
  readonly #parts: AttemptFailuresParts & AttemptFailuresState
  readonly #countLate: (outcome: string) => void

  /** @param countLate called with an outcome that could not be recorded at once */
  constructor(parts: AttemptFailuresParts & AttemptFailuresState, countLate: (outcome: string) => void) {
    this.#parts = parts
    this.#countLate = countLate
  }

  /** Returns the outcome; undefined if it could not be recorded yet. */
  async after(failed: FailedAttempt, error: unknown): Promise<string | undefined> {
    const { clock, groups, log, releases, unsettled, wakeUps } = this.#parts
    const { claimed, plan } = failed
    const { event, source, type } = claimed
    const now = clock.now()
    releases.releaseSoon(groups.failed(plan))
    if (error instanceof ClaimLost) return 'lost'
    const isConflict = mayRunAgain(error)
    if (isConflict || notItsOwn.some((kind) => error instanceof kind)) {
      if (isConflict)
        log.warn({ err: error, event, source, type }, 'a handler had a conflict with another transaction')
      if (error instanceof WaitedForTransaction)
        log.warn({ err: error, event, source, type }, 'a handler had to wait')
      await releases.release([claimed], error instanceof Stopping ? 0 : pauseAfterError)
      return 'given-back'
    }
    if (error instanceof TransactionTimeout) groups.ranOutOfTime(plan)
    try {
      return await this.#record(failed, error, now)
    } catch (cause) {
      log.warn({ err: cause, event }, 'a failed attempt could not be recorded; it will be')
      unsettled.toRecord(
        async () => this.#countLate(await this.#record(failed, error, now)),
        now + plan.timeout + leaseMargin,
      )
      wakeUps.in(gather)
      return undefined
    }
  }

  async #record(
    { claimed, handler, startedAt }: FailedAttempt,
    error: unknown,
    now: number,
  ): Promise<string> {
    const { log, onFailed, wakeUps } = this.#parts
    const { event, source, type, attempts, orderKey } = claimed
    const outcome = await recordFailure(this.#parts, { claimed, error, startedAt, now, handler })
    if (outcome !== 'lost') onFailed?.(handler)
    log.warn({ err: error, event, source, type, handler, attempt: attempts, outcome }, 'a handler failed')
    // It may be due again immediately.
    wakeUps.in(gather)
    // The next event of its order key may be due now.
    if (orderKey !== null) wakeUps.now()
    return outcome
  }
}
