import type { List } from '../../src/listing/config.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import {
  type Engine,
  execute,
  started,
  startTestService,
  type TestDatabase,
  type TestService,
} from '../harness/index.ts'

type Run = (...statements: string[]) => Promise<void>

export interface ListService {
  home: TestDatabase
  service: TestService
  /** Runs statements in one transaction. */
  run: Run
}

/**
 * A service with declared lists, for the tests of one engine.
 * @param prepare statements that create their tables, or a function that does so, before it starts
 */
export function listService(
  engine: Engine,
  lists: readonly List[],
  prepare: readonly string[] | ((database: Database, run: Run) => Promise<unknown>),
): ListService {
  const home = started(() => engine.createMigratedDatabase())
  const service = started(async () => {
    const database = await openDatabase(home.url)
    const run: Run = (...statements) => execute(database, ...statements)
    await (typeof prepare === 'function' ? prepare(database, run) : run(...prepare))
    await database.close()
    return startTestService(engine, { databaseUrl: home.url, config: { listing: { lists } } })
  })
  return { home, service, run: (...statements) => execute(service.database, ...statements) }
}
