import type { FastifyBaseLogger } from 'fastify'
import type { Problem, ProblemCode } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isWithoutRoom } from '../../storage/unavailable.ts'

/** Milliseconds between two lines about refused requests with the same problem. */
const lineEvery = 1_000

/** Logs the problems whose cause is the service. While it cannot serve, not each refused request gets a line with the cause. */
export class ProblemLog {
  readonly #clock: Pick<Clock, 'now'>
  readonly #lines = new Map<ProblemCode, { at: number; more: number }>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** @param log of the request */
  report(log: FastifyBaseLogger, problem: Problem, error: unknown): void {
    if (problem.code === 'internal') return log.error({ err: error }, 'request failed')
    // A lack of connections has a notice of its own (`ConnectionLimitNotice`).
    if (problem.status < 500 || isWithoutRoom(problem.extras.cause)) return
    const now = this.#clock.now()
    const last = this.#lines.get(problem.code)
    if (last && Math.abs(now - last.at) < lineEvery) {
      last.more += 1
      return
    }
    this.#lines.set(problem.code, { at: now, more: 0 })
    const more = last?.more ?? 0
    log.warn(
      { code: problem.code, err: problem.extras.cause, ...(more > 0 && { more }) },
      'request could not be served',
    )
  }
}
