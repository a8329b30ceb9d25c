import type { Database } from '../../storage/database.ts'
import type { ListDeclaration } from '../list.ts'
import type { ListReader } from '../reader.ts'
import { postgresCounts } from './counts.postgres.ts'
import { sqliteCounts } from './counts.sqlite.ts'
import type { MaintainedCounts } from './maintained-counts.ts'

export function maintainedCounts(
  database: Database,
  reader: ListReader,
  list: ListDeclaration,
): MaintainedCounts {
  return database.engine === 'sqlite' ? sqliteCounts(list, database) : postgresCounts(list, reader)
}
