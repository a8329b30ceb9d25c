import { setTimeout as wait } from 'node:timers/promises'
import type { Topology } from './cluster/topology.ts'
import type { Ledger } from './load/ledger.ts'

/** Milliseconds between two looks at the database. */
const every = 250

/** Looks for the rows of handlers, and for what has none for too long. */
export class Watch {
  readonly #topology: Topology
  readonly #ledger: Ledger
  #stopped = false

  constructor(topology: Topology, ledger: Ledger) {
    this.#topology = topology
    this.#ledger = ledger
  }

  start(): void {
    void this.#run()
  }

  stop(): void {
    this.#stopped = true
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      // The server is down at times: that is what the suite is for.
      await this.#look().catch(() => undefined)
      this.#ledger.look()
      await wait(every)
    }
  }

  async #look(): Promise<void> {
    const waiting = [...this.#ledger.outstanding.values()]
      .filter(({ kind }) => kind === 'webhook')
      .map(({ id }) => id)
    if (waiting.length === 0) return
    const { primary } = this.#topology
    const rows = await this.#topology.query<{ event_id: string }>(
      'select event_id from chaos_effects where event_id = any($1)',
      [waiting],
    )
    // A server that is the primary no more has told of what may be lost.
    if (primary !== this.#topology.primary) return
    for (const { event_id } of rows) this.#ledger.handled(event_id)
  }
}
