import type { Client } from 'pg'
import type { SessionCheck } from '../driver/session-client.ts'

const statement = 'select life, events, deliveries from postern_continue($1, $2)'
const isInstalled = `select to_regproc('postern_continue') is not null as installed`

interface Answer {
  /** Null on a standby. */
  life: string | null
  events: number
  deliveries: number
}

/**
 * Notices that the database returned to an earlier state: a backup was restored, or a standby was promoted that lacked some
 * transactions. The database would then assign numbers again that this process knows for other events and deliveries. Each new
 * session first calls `postern_continue()` (storage/migrations/0001-initial/servers.ts), which raises the sequences in that case.
 * See docs/adr/0029.
 */
export class Continuity {
  readonly #listeners = new Set<() => void>()
  #life: string | undefined
  /** The highest numbers seen in this life of the database. */
  #events = 0
  #deliveries = 0

  /** Runs on each new session before its first use, and regularly on the listening session. */
  readonly check: SessionCheck = async (client) => {
    const answer = await this.#ask(client)
    if (!answer) return
    if (answer.life === null) {
      // The standby may be promoted during this session, which was not checked as a session of a primary.
      await client.query('set default_transaction_read_only = on')
      return
    }
    const before = this.#life
    this.#life = answer.life
    if (before === undefined || before === answer.life) return this.saw(answer.events, answer.deliveries)
    this.#events = answer.events
    this.#deliveries = answer.deliveries
    for (const listener of this.#listeners) listener()
  }

  /** Records numbers that the database assigned to this process. */
  saw(event: number, delivery: number): void {
    if (event > this.#events) this.#events = event
    if (delivery > this.#deliveries) this.#deliveries = delivery
  }

  /** @param listener called within the check, before the database is used in its new state */
  onSetBack(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `undefined` before the first migration. A call would then fail, and leave an error in the server's log. */
  async #ask(client: Client): Promise<Answer | undefined> {
    if (this.#life === undefined) {
      const { rows } = await client.query<{ installed: boolean }>(isInstalled)
      if (!rows[0]!.installed) return undefined
    }
    const { rows } = await client.query<Answer>(statement, [this.#events, this.#deliveries])
    return rows[0]
  }
}
