import { AsyncLocalStorage } from 'node:async_hooks'
import type { PostgresDatabase } from '../storage/database.ts'
import { millisecondsSince, type Moment } from '../storage/sql-text.ts'
import type { Replica } from '../storage/postgres/replica.ts'
import { postgresReader } from './store.postgres.ts'
import type { ListReader } from './reader.ts'

/** A request that the standby may answer. */
interface StandbyRequest {
  /** The accepted age in milliseconds. */
  maxAge: number
  /** Set when the standby has failed to answer; further statements then go to the primary. */
  onPrimary: boolean
  /** The time of the oldest state that was read; `undefined` if all statements went to the primary. */
  asOf: Moment | undefined
}

/** SQLSTATE query_canceled: the statement exceeded its time limit. It would on the primary, too. */
const timedOut = '57014'

/**
 * Reads lists from the standby within `withStandby`. Otherwise it reads from the primary, and also when the standby is too far behind,
 * does not answer, or has cancelled the statement because it conflicted with the replay.
 */
export class StandbyReader implements ListReader {
  readonly #replica: Pick<Replica, 'usable'>
  readonly #primary: ListReader
  readonly #standby: ListReader
  readonly #requests = new AsyncLocalStorage<StandbyRequest>()

  constructor(database: PostgresDatabase, replica: Pick<Replica, 'usable' | 'rows'>) {
    this.#replica = replica
    this.#primary = postgresReader(database)
    this.#standby = postgresReader({
      pool: database.pool,
      // The standby's connections are for lists alone.
      lists: (work) => work(),
      rows: async (statement) => {
        const request = this.#requests.getStore()!
        const { rows, asOf } = await replica.rows(statement, request.maxAge)
        if (!request.asOf || millisecondsSince(asOf) > millisecondsSince(request.asOf)) request.asOf = asOf
        return rows
      },
    })
  }

  /**
   * Runs `read`, whose statements may read from the standby.
   * @param maxAge the accepted age of the data, in milliseconds
   * @returns the result, and the greatest age that its data may have, in milliseconds
   */
  async withStandby<T>(maxAge: number, read: () => Promise<T>): Promise<{ result: T; age: number }> {
    const request: StandbyRequest = { maxAge, onPrimary: !this.#replica.usable(maxAge), asOf: undefined }
    const result = await this.#requests.run(request, read)
    return { result, age: request.asOf ? millisecondsSince(request.asOf) : 0 }
  }

  read: ListReader['read'] = (plan, values, signal) =>
    this.#choose(signal, (reader) => reader.read(plan, values, signal))

  estimate: ListReader['estimate'] = (plan, values) =>
    this.#choose(undefined, (reader) => reader.estimate(plan, values))

  /** @param signal statements with a signal run on the primary, through which they are cancelled */
  async #choose<T>(signal: AbortSignal | undefined, ask: (reader: ListReader) => Promise<T>): Promise<T> {
    const request = this.#requests.getStore()
    if (!request || request.onPrimary || signal) return ask(this.#primary)
    try {
      return await ask(this.#standby)
    } catch (error) {
      const { code, cause } = error as { code?: string; cause?: { code?: string } }
      if (code === timedOut || cause?.code === timedOut) throw error
      request.onPrimary = true
      return ask(this.#primary)
    }
  }
}

/** Returns `undefined` if no standby is configured. */
export function openStandbyReader(database: PostgresDatabase): StandbyReader | undefined {
  return database.replica && new StandbyReader(database, database.replica)
}
