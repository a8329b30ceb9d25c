import type { KeyValue } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Plan } from './plan.ts'
import { postgresReader } from './store.postgres.ts'
import { sqliteReader } from './store.sqlite.ts'

/** The values of a row, in the order of the plan's columns: for a page, that of the list's fields. */
export type Row = readonly KeyValue[]

/** Runs the statements of lists. They are made here and not by Kysely: compiling costs more than running them. */
export interface ListReader {
  /** @param values what the plan's slots point at. */
  read(plan: Plan, values: readonly KeyValue[]): Promise<readonly Row[]>
}

export function createListReader(database: Database): ListReader {
  return database.engine === 'sqlite' ? sqliteReader(database) : postgresReader(database)
}
