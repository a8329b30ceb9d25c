import type { Database, SqliteDatabase } from '../storage/database.ts'
import { postgresReader } from './store.postgres.ts'
import type { KeyValue } from '../paging/cursor-values.ts'
import type { Plan } from './plan.ts'

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

/** Runs the statements of lists. They are not built by Kysely, whose compilation costs more than running them. */
export interface ListReader {
  /**
   * @param values the values that the plan's slots refer to.
   * @param signal ends the statement on PostgreSQL. SQLite runs each statement to its end before anything else.
   */
  read(plan: Plan, values: readonly KeyValue[], signal?: AbortSignal): Promise<readonly Row[]>
  /** Estimates the result of a plan of planCount. SQLite has no statistics that are good enough, and counts. */
  estimate(plan: Plan, values: readonly KeyValue[]): Promise<Total>
}

export function createListReader(database: Database): ListReader {
  return database.engine === 'sqlite' ? sqliteReader(database) : postgresReader(database)
}

function sqliteReader({ readConnection }: SqliteDatabase): ListReader {
  const read: ListReader['read'] = async ({ sql, slots }, values) =>
    readConnection.arrays<KeyValue[]>(
      sql,
      slots.map((slot) => values[slot]!),
    )
  return {
    read,
    async estimate(plan, values) {
      const [row] = await read(plan, values)
      return { total: Number(row![0]), estimated: false }
    },
  }
}
