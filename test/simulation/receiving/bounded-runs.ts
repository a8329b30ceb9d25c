import type { VirtualProcess } from './virtual-time.ts'

interface BoundedRun {
  readonly key: string
  readonly process: VirtualProcess
  readonly beganAt: number
}

/** Runs of handlers that declare a concurrency, over all processes. */
export class BoundedRuns {
  readonly #runs = new Set<BoundedRun>()

  /** Returns the function that ends the run. */
  begin(key: string, process: VirtualProcess): () => void {
    const run = { key, process, beganAt: process.elapsed() }
    this.#runs.add(run)
    return () => this.#runs.delete(run)
  }

  /**
   * Runs under way now. A process that stood still may have lost its claims and slots meanwhile: what it had begun before that
   * ends as soon as it notices, and is not counted.
   */
  of(key: string): number {
    let count = 0
    for (const run of this.#runs)
      if (run.key === key && run.process.alive && run.process.stoodStillUntil < run.beganAt) count += 1
    return count
  }
}
