import { setTimeout as wait } from 'node:timers/promises'
import type { PosternProcess } from './postern/process.ts'

/** Milliseconds between two questions to a process, as a load balancer asks them. */
const every = 1_000
/** Milliseconds without a byte from the database after which a process must not say that it is ready. */
const readyAtMost = 15_000

/** Asks the processes for /readyz, as a load balancer does, and finds those that are ready without a database. */
export class Readiness {
  /** Times in which a process that was asked heard nothing from the database for longer than it may be ready. */
  silences = 0
  /** The longest time without a byte from the database after which a process said that it was ready, in milliseconds. */
  longestReadyMs = 0
  readonly #processes: readonly PosternProcess[]
  readonly #findings: string[]
  #stopped = false

  /** @param findings gets what must not be */
  constructor(processes: readonly PosternProcess[], findings: string[]) {
    this.#processes = processes
    this.#findings = findings
  }

  start(): void {
    for (const process of this.#processes) void this.#follow(process)
  }

  stop(): void {
    this.#stopped = true
  }

  async #follow(process: PosternProcess): Promise<void> {
    // The silence that was counted, and the one that was found wrong, by the time at which they began.
    let counted: number | undefined
    let found: number | undefined
    while (!this.#stopped) {
      await wait(every)
      if (!process.open) continue
      const asked = performance.now()
      const { pid } = process
      const { heardAt } = process.link
      const status = await process.readiness()
      // Between two processes nobody listens to the database.
      if (status === 0 || !process.open || process.pid !== pid) continue
      // Past its link nothing is known of what it hears.
      if (process.settings['DATABASE_URL']) continue
      const silent = asked - heardAt
      if (silent > readyAtMost && counted !== heardAt) {
        counted = heardAt
        this.silences += 1
      }
      // A database that answered since the question was asked is back, and the process may say so.
      if (status !== 200 || process.link.heardAt > asked) continue
      this.longestReadyMs = Math.max(this.longestReadyMs, silent)
      if (silent <= readyAtMost || found === heardAt) continue
      found = heardAt
      this.#findings.push(
        `ready without progress: ${process.baseUrl} said so ${Math.round(silent)} ms after the last byte from the database`,
      )
    }
  }
}
