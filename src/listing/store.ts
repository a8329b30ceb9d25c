import type { KeyValue } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Plan } from './plan.ts'
import { postgresReader } from './store.postgres.ts'
import { sqliteReader } from './store.sqlite.ts'
import type { Total } from './total.ts'

/**
 * The values of a row, in the order of the plan's columns. Of PostgreSQL's types, numbers of at most eight bytes' precision
 * are numbers, everything else is the text that the database writes: a timestamp keeps its microseconds.
 */
export type Row = readonly KeyValue[]

/** Runs the statements of lists. They are made here and not by Kysely: compiling costs more than running them. */
export interface ListReader {
  /**
   * @param values what the plan's slots point at.
   * @param wanted aborted when nobody wants the rows any more: on PostgreSQL the statement ends then, on SQLite none is under
   * way, since each holds everything else up until it is done.
   */
  read(plan: Plan, values: readonly KeyValue[], wanted?: AbortSignal): Promise<readonly Row[]>
  /** About what a plan made by planCount would give. SQLite keeps no statistics that are good enough, and counts. */
  estimate(plan: Plan, values: readonly KeyValue[]): Promise<Total>
}

export function createListReader(database: Database): ListReader {
  return database.engine === 'sqlite' ? sqliteReader(database) : postgresReader(database)
}
