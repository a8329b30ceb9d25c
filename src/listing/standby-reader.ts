import { AsyncLocalStorage } from 'node:async_hooks'
import type { PostgresDatabase, Replica } from '../storage/database.ts'
import { millisecondsSince, type Moment } from '../storage/moment.ts'
import { postgresReader } from './store.postgres.ts'
import type { ListReader } from './reader.ts'

/** One request that may be answered from the standby. */
interface Reading {
  /** Milliseconds. */
  maxAge: number
  /** Statements that follow one that the standby could not answer go to the primary at once. */
  onPrimary: boolean
  /** The oldest state that a part of the answer is of; `undefined` while all is the primary's. */
  asOf: Moment | undefined
}

/** SQLSTATE query_canceled: the statement took too long. On the primary it would take as long. */
const tooLong = '57014'

/**
 * Reads lists on the standby within `reading`, and on the primary otherwise, or when the standby is too far behind, out of reach,
 * or cancelled the statement since it was in the way of the replay.
 */
export class StandbyReader implements ListReader {
  readonly #replica: Replica
  readonly #primary: ListReader
  readonly #standby: ListReader
  readonly #readings = new AsyncLocalStorage<Reading>()

  constructor(database: PostgresDatabase, replica: Replica) {
    this.#replica = replica
    this.#primary = postgresReader(database)
    this.#standby = postgresReader({
      pool: database.pool,
      lists: database.lists,
      rows: async (statement) => {
        const reading = this.#readings.getStore()!
        const { rows, asOf } = await replica.rows(statement, reading.maxAge)
        if (!reading.asOf || millisecondsSince(asOf) > millisecondsSince(reading.asOf)) reading.asOf = asOf
        return rows
      },
    })
  }

  /**
   * Runs what reads one answer.
   * @param maxAge milliseconds that the answer may be behind
   * @returns also by how many milliseconds it is behind at most
   */
  async reading<T>(maxAge: number, read: () => Promise<T>): Promise<{ result: T; age: number }> {
    const reading: Reading = { maxAge, onPrimary: !this.#replica.usable(maxAge), asOf: undefined }
    const result = await this.#readings.run(reading, read)
    return { result, age: reading.asOf ? millisecondsSince(reading.asOf) : 0 }
  }

  read: ListReader['read'] = (plan, values, wanted) =>
    this.#choose(wanted, (reader) => reader.read(plan, values, wanted))

  estimate: ListReader['estimate'] = (plan, values) =>
    this.#choose(undefined, (reader) => reader.estimate(plan, values))

  /** @param wanted a statement that can be cancelled is cancelled by way of the primary, and runs there */
  async #choose<T>(wanted: AbortSignal | undefined, ask: (reader: ListReader) => Promise<T>): Promise<T> {
    const reading = this.#readings.getStore()
    if (!reading || reading.onPrimary || wanted) return ask(this.#primary)
    try {
      return await ask(this.#standby)
    } catch (error) {
      const { code, cause } = error as { code?: string; cause?: { code?: string } }
      if (code === tooLong || cause?.code === tooLong) throw error
      reading.onPrimary = true
      return ask(this.#primary)
    }
  }
}

/** `undefined` where no standby is configured. */
export function openStandbyReader(database: PostgresDatabase): StandbyReader | undefined {
  return database.replica && new StandbyReader(database, database.replica)
}
