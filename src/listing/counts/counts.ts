import type { KeyValue } from '../../paging/cursor-values.ts'
import type { Database } from '../../storage/database.ts'
import type { ListDeclaration } from '../list.ts'
import type { ListReader } from '../reader.ts'
import { postgresCounts } from './counts.postgres.ts'
import { sqliteCounts } from './counts.sqlite.ts'

/** The total and the row positions of one list, from the changes that its triggers record. */
export interface MaintainedCounts {
  total(): Promise<number>
  /** SQL of the total, where reading it within the statement of a page costs less than a statement of its own. */
  readonly totalSql?: string
  /** Finds the row at `offset`; `undefined` if the list is shorter. */
  locate(offset: number): Promise<RowLocation | undefined>
}

/**
 * A row, as the first one that is not before `key` and `skip` rows from there. Without a key it is counted from the first
 * row of all: rows may have been inserted before the first bucket.
 */
export interface RowLocation {
  /** The number of all rows at the same moment. */
  total: number
  key: readonly KeyValue[] | undefined
  skip: number
}

export function maintainedCounts(
  database: Database,
  reader: ListReader,
  list: ListDeclaration,
): MaintainedCounts {
  return database.engine === 'sqlite' ? sqliteCounts(list, database) : postgresCounts(list, reader)
}
