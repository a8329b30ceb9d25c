import { after, before } from 'node:test'
import type { List } from '../../src/listing/config.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { type Engine, startTestService, type TestDatabase, type TestService } from '../harness/index.ts'

export interface ListService {
  home: TestDatabase
  service: TestService
}

/** A service with declared lists, for the tests of one engine. @param prepare creates their tables before it starts. */
export function listService(
  engine: Engine,
  lists: readonly List[],
  prepare: (database: Database) => Promise<unknown>,
): ListService {
  const opened = {} as ListService
  before(async () => {
    opened.home = await engine.createMigratedDatabase()
    const database = await openDatabase(opened.home.url)
    await prepare(database)
    await database.close()
    opened.service = await startTestService(engine, {
      databaseUrl: opened.home.url,
      config: { listing: { lists } },
    })
  })
  after(async () => {
    await opened.service.close()
    await opened.home.drop()
  })
  return opened
}
