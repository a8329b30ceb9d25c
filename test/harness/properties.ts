import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'

/** What fast-check's assert is to do. The seed is printed; TEST_SEED repeats a run, TEST_RUNS makes it longer. */
export function propertyRun(context: TestContext): { seed: number; numRuns: number } {
  const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31))
  context.diagnostic(`TEST_SEED=${seed}`)
  return { seed, numRuns: Number(process.env['TEST_RUNS'] ?? 150) }
}
