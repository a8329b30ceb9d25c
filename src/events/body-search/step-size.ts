/** Events of the first step. Later steps are larger or smaller, so that each takes about `stepTakes` milliseconds. */
export const firstStep = 500
const leastStep = 20
const mostStep = 5_000
const stepTakes = 40

/** Events of the next step, after one of `rows` events that took `took` milliseconds. */
export function nextStep(rows: number, took: number): number {
  const speed = stepTakes / Math.max(1, took)
  return Math.round(Math.min(mostStep, Math.max(leastStep, rows * Math.min(4, speed))))
}
