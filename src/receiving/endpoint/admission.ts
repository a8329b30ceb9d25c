import { Problem } from '../../errors.ts'
import type { RateStatus } from '../../http/limits/rate-limits.ts'
import type { Backlog } from './backlog.ts'
import { SharedSourceRate, type SharedSourceRateParts } from './shared-source-rate.ts'
import { SourceRate, type RateTaken } from './source-rate.ts'

export interface AdmissionParts {
  backlog: Backlog
  /** Milliseconds that the oldest event of a source may have been waiting; 0 for any time. */
  maxAge: number
  /** Set if several processes share the rate. */
  shared: SharedSourceRateParts | undefined
}

/** Why a verified event is refused now. */
export type Held = 'limited' | 'backlogged'

export interface Admitted {
  /** The rest of the source's rate, for the response. */
  readonly rate?: RateStatus
  /** Why the event is refused, with the response. */
  readonly held?: { readonly reason: Held; readonly problem: Problem }
}

/** Seconds until a sender may try again while there is a backlog. */
const whileBacklogged = 60

/** Decides whether a source may deliver another event now. Only verified events count, so that others cannot use up the rate. */
export class Admission {
  readonly #source: string
  readonly #rate: SourceRate | SharedSourceRate | undefined
  readonly #parts: AdmissionParts

  /** @param rateLimit events a second; without it, any number. */
  constructor(source: string, rateLimit: number | undefined, parts: AdmissionParts) {
    this.#source = source
    this.#parts = parts
    if (rateLimit === undefined) return
    const { shared } = parts
    this.#rate = shared ? new SharedSourceRate(source, rateLimit, shared) : new SourceRate(rateLimit)
  }

  /** Takes one event of the rate. Returns a promise, which does not reject, if other processes must be asked. */
  take(now: number): Admitted | Promise<Admitted> {
    const { backlog, maxAge } = this.#parts
    if (maxAge > 0 && backlog.ageOf(this.#source, now) > maxAge) {
      const detail = 'Earlier events of this source have waited too long for their processing.'
      const problem = new Problem('overloaded', { retryAfter: whileBacklogged, detail })
      return { held: { reason: 'backlogged', problem } }
    }
    if (!this.#rate) return {}
    const { limit } = this.#rate
    const taken = this.#rate.take(now)
    return taken instanceof Promise ? taken.then((it) => admit(it, limit)) : admit(taken, limit)
  }
}

function admit({ allowed, remaining, wait }: RateTaken, limit: number): Admitted {
  const rate: RateStatus = { limit, remaining, resetAfter: wait }
  if (allowed) return { rate }
  const detail = `At most ${limit} events of this source per second.`
  return {
    rate,
    held: { reason: 'limited', problem: new Problem('too-many-requests', { retryAfter: wait, detail }) },
  }
}
