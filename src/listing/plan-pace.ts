import type { Plan } from './plan.ts'

/** Milliseconds. The statements of a quick plan take less on average. Event-loop delays of a busy process count, too. */
const quick = 50
/** The weight of the newest statement in the average: one that takes seconds makes a plan slow at once. */
const weight = 1 / 8

/**
 * How long the statements of plans take, as a moving average. A plan is slow until it was measured, and for some twenty
 * statements after one that took seconds.
 */
export class PlanPaces {
  readonly #averages = new WeakMap<Plan, number>()

  /** Whether the plan's next statement is expected to take milliseconds. */
  isQuick(plan: Plan): boolean {
    return (this.#averages.get(plan) ?? Infinity) < quick
  }

  /** @param lasted milliseconds of one statement, without the wait for its turn */
  record(plan: Plan, lasted: number): void {
    const average = this.#averages.get(plan) ?? lasted
    this.#averages.set(plan, average + (lasted - average) * weight)
  }
}
