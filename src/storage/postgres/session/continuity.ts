import type { Client } from 'pg'
import type { SessionCheck } from '../driver/session-client.ts'

const statement = 'select life, events, deliveries from postern_continue($1, $2)'

interface Answer {
  /** Null on a standby. */
  life: string | null
  events: number
  deliveries: number
}

/**
 * Notices that the database was taken back to an earlier state: by a restored backup, or by the promotion of a standby that lacked
 * some of it. The database would then give out numbers again that this process knows for other events and deliveries. Each new
 * session first calls `postern_continue()` (storage/migrations/0001-initial/servers.ts), which raises the sequences in that case.
 * No process works with the database before. See docs/adr/0029.
 */
export class Continuity {
  readonly #listeners = new Set<() => void>()
  #life: string | undefined
  /** The highest numbers that were seen in this life of the database. */
  #events = 0
  #deliveries = 0

  /** Run on each new session before its first use, and on a session that is kept, from time to time. */
  readonly check: SessionCheck = async (client) => {
    const answer = await this.#ask(client)
    if (!answer) return
    if (answer.life === null) {
      // It may be promoted while this session lives. Then nothing is written by a session that was not checked.
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

  /** Numbers that were given out to this process. */
  saw(event: number, delivery: number): void {
    if (event > this.#events) this.#events = event
    if (delivery > this.#deliveries) this.#deliveries = delivery
  }

  /** @param listener called within the check, so before anything is read from the database as it is now */
  onSetBack(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `undefined` before the first migrations: nothing is there that could be taken back. */
  async #ask(client: Client): Promise<Answer | undefined> {
    try {
      const { rows } = await client.query<Answer>(statement, [this.#events, this.#deliveries])
      return rows[0]
    } catch (error) {
      if ((error as { code?: string }).code === undefinedFunction) return undefined
      throw error
    }
  }
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const undefinedFunction = '42883'
