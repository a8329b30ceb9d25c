import { AsyncLocalStorage } from 'node:async_hooks'
import type { PostgresDatabase, Database, SqliteDatabase } from '../storage/database.ts'
import { millisecondsSince, type Moment } from '../runtime/clock.ts'
import type { Replica } from '../storage/postgres/replica.ts'
import { postgresReader } from './store.postgres.ts'
import type { KeyValue } from '../paging/cursor.ts'
import type { Plan } from './plan.ts'

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
   * Runs `read`, whose statements may read from the standby. If the data is older than accepted in the end, it runs again on the primary.
   * @param maxAge the accepted age of the data, in milliseconds
   * @returns the result, and the greatest age that its data may have, in milliseconds
   */
  async withStandby<T>(maxAge: number, read: () => Promise<T>): Promise<{ result: T; age: number }> {
    const request: StandbyRequest = { maxAge, onPrimary: !this.#replica.usable(maxAge), asOf: undefined }
    const result = await this.#requests.run(request, read)
    const age = request.asOf ? millisecondsSince(request.asOf) : 0
    return age <= maxAge ? { result, age } : { result: await read(), age: 0 }
  }

  read: ListReader['read'] = (plan, values, context) =>
    this.#choose(context.signal, (reader) => reader.read(plan, values, context))

  estimate: ListReader['estimate'] = (plan, values, context) =>
    this.#choose(undefined, (reader) => reader.estimate(plan, values, context))

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

/**
 * The values of a row, in the order of the plan's columns. Numbers that a double holds exactly are numbers. Any other value of
 * PostgreSQL is the text that the database writes, so that a timestamp keeps its microseconds.
 */
export type Row = readonly KeyValue[]

/** A number of rows; `estimated` when it is the planner's guess. */
export interface Total {
  total: number | undefined
  estimated: boolean
}

/** PostgreSQL settings for one caller's statements: names with values. */
export type Settings = readonly (readonly [name: string, value: string])[]

/** A statement's settings and cancellation. */
export interface ReadContext {
  /** What the list's `settings` returned for the caller; `undefined` for lists without them. */
  settings: Settings | undefined
  /** Ends the statement on PostgreSQL. SQLite runs each statement to its end before anything else. */
  signal?: AbortSignal
}

/** Runs the statements of lists. They are not built by Kysely, whose compilation costs more than running them. */
export interface ListReader {
  /** @param values the values that the plan's slots refer to. */
  read(plan: Plan, values: readonly KeyValue[], context: ReadContext): Promise<readonly Row[]>
  /** Estimates the result of a plan of planCount. SQLite has no statistics that are good enough, and counts. */
  estimate(plan: Plan, values: readonly KeyValue[], context: ReadContext): Promise<Total>
}

export function createListReader(database: Database): ListReader {
  return database.engine === 'sqlite' ? sqliteReader(database) : postgresReader(database)
}

function sqliteReader(database: SqliteDatabase): ListReader {
  const read: ListReader['read'] = async ({ sql, slots, within }, values) => {
    const given = slots.map((slot) => values[slot]!)
    return within === undefined
      ? database.readConnection.arrays<KeyValue[]>(sql, given)
      : database.readWithin(within, sql, given)
  }
  return {
    read,
    async estimate(plan, values, context) {
      const [row] = await read(plan, values, context)
      return { total: Number(row![0]), estimated: false }
    },
  }
}
