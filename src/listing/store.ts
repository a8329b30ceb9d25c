import type { Database } from '../storage/database.ts'
import type { ListReader } from './reader.ts'
import { postgresReader } from './store.postgres.ts'
import { sqliteReader } from './store.sqlite.ts'

export function createListReader(database: Database): ListReader {
  return database.engine === 'sqlite' ? sqliteReader(database) : postgresReader(database)
}
