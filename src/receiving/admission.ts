import type { FastifyReply } from 'fastify'
import { Problem } from '../errors.ts'
import { tellLimit } from '../http/rate-limits.ts'
import type { Backlog } from './backlog.ts'
import { SourceRate } from './source-rate.ts'

export interface AdmissionParts {
  backlog: Backlog
  /** Milliseconds that the oldest event of a source may have been waiting; 0 for any time. */
  maxAge: number
}

/** Why a verified event is not taken now. */
export type Held = 'limited' | 'backlogged'

/** Seconds after which a sender may ask again whether the backlog has become shorter. */
const whileBacklogged = 60

/**
 * Whether a source may deliver another event now. Asked of verified events alone: who cannot sign takes nothing of what
 * the sender may send.
 */
export class Admission {
  readonly #source: string
  readonly #rate: SourceRate | undefined
  readonly #parts: AdmissionParts

  /** @param rateLimit events a second; without it, any number. */
  constructor(source: string, rateLimit: number | undefined, parts: AdmissionParts) {
    this.#source = source
    this.#rate = rateLimit === undefined ? undefined : new SourceRate(rateLimit)
    this.#parts = parts
  }

  /**
   * Takes one event of the rate, tells the sender what is left of it, and returns why the event is not taken.
   * @returns the reason and the problem to answer with; `undefined` when the event may be stored.
   */
  refusal(reply: FastifyReply, now: number): { held: Held; problem: Problem } | undefined {
    const { backlog, maxAge } = this.#parts
    if (maxAge > 0 && backlog.ageOf(this.#source, now) > maxAge) {
      const detail = 'Earlier events of this source have waited too long for being processed.'
      return {
        held: 'backlogged',
        problem: new Problem('overloaded', { retryAfter: whileBacklogged, detail }),
      }
    }
    if (!this.#rate) return undefined
    const { limit } = this.#rate
    const { allowed, remaining, wait } = this.#rate.take(now)
    tellLimit(reply, { limit, remaining, wait })
    if (allowed) return undefined
    const detail = `At most ${limit} events of this source per second.`
    return { held: 'limited', problem: new Problem('too-many-requests', { retryAfter: wait, detail }) }
  }
}
