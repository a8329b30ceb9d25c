import { startHelper, type Helper } from '../harness/processes.ts'
import type { Load, LoadResult } from './load.ts'

export type Generator = Helper<object, Load, LoadResult>

/** Starts the process that makes load. */
export function startGenerator(): Promise<Generator> {
  return startHelper('load/generator.ts')
}

/**
 * Makes load, and insists that every request got the status.
 * @throws Error when one did not
 */
export async function generate(generator: Generator, load: Load, status: number): Promise<LoadResult> {
  const result = await generator.ask(load)
  if (result.statuses[String(status)] !== load.requests.count) {
    throw new Error(
      `${load.requests.kind}: not all answers were ${status}: ${JSON.stringify(result.statuses)}`,
    )
  }
  return result
}
