import type { Clock } from '../runtime/clock.ts'
import { ConfigurationError, type Configuration } from '../config/environment.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Room } from '../http/room.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import { checkList } from './checking/check.ts'
import type { ListingConfig } from './config.ts'
import { readLists } from './declaration.ts'
import { Presentation } from './expansion.ts'
import { createKeeper } from './kept/keeper.ts'
import { Keeping } from './kept/keeping.ts'
import { postgresCounts, sqliteCounts, type KeptCounts } from './kept/kept-counts.ts'
import type { ListDeclaration } from './list.ts'
import { Pages } from './page.ts'
import { posts } from './resources/posts.ts'
import { products } from './resources/products.ts'
import { users } from './resources/users.ts'
import { listRoute } from './routes.ts'
import { openStandbyReader } from './standby-reader.ts'
import { createListReader } from './store.ts'
import { writeRoutes } from './writing/routes.ts'

export interface ListingParts {
  config: ListingConfig | undefined
  configuration: Configuration
  database: Database
  keyring: Keyring
  clock: Clock
  log: Log
  /** The users whose role is admin by the settings, whatever their row says. */
  listedAdmins: () => Promise<ReadonlySet<string>>
}

/**
 * The lists, and the calls that change those of them that are the service's own: products and posts.
 * @throws ConfigurationError for declarations that cannot be; from `routes`, which comes last of all rooms', for those that the
 * database contradicts, or whose path is another call's.
 */
export function createListing(parts: ListingParts): Room {
  const { config, configuration, database, keyring, clock, log, listedAdmins } = parts
  const declared = readLists(config)
  const standby = database.engine === 'postgres' ? openStandbyReader(database) : undefined
  const reader = standby ?? createListReader(database)
  const kept = new Map<string, KeptCounts>()
  const keepings: Keeping[] = []
  const keep = (list: ListDeclaration): void => {
    const counts = database.engine === 'sqlite' ? sqliteCounts(list, database) : postgresCounts(list, reader)
    kept.set(list.name, counts)
    keepings.push(new Keeping(database, list))
  }
  const common = {
    pages: new Pages(database.engine, reader, new Cursors(keyring), kept),
    presentation: new Presentation(database.engine, reader),
    standby: standby && { reader: standby, maxAge: configuration.databaseReplicaMaxAge },
  }
  return {
    async routes(app) {
      listRoute(app, users, common, async () => {
        const admins = await listedAdmins()
        return (user) => (admins.has(String(user['id'])) ? { ...user, role: 'admin' } : user)
      })
      for (const list of [products, posts]) listRoute(app, list, common)
      writeRoutes(app, { database, clock })
      const isTaken = (url: string): boolean => app.hasRoute({ method: 'GET', url })
      const checked = await checkDeclared(database, declared, log, isTaken)
      for (const list of checked) listRoute(app, list, common)
      for (const list of [users, ...checked]) if (list.kept) keep(list)
    },
    workers: [createKeeper(clock, log, keepings)],
  }
}

/** The lists with what their tables say of them. Indexes that are missing are told, and no reason not to start. */
async function checkDeclared(
  database: Database,
  declared: readonly ListDeclaration[],
  log: Log,
  isTaken: (path: string) => boolean,
): Promise<ListDeclaration[]> {
  const lists: ListDeclaration[] = []
  const all: string[] = []
  for (const declaration of declared) {
    const { list, faults, missing, keep } = await checkList(database, declaration)
    lists.push(list)
    if (isTaken(list.path)) all.push(`listing.lists: ${list.path} is the path of a call of the service's own`)
    all.push(...faults.map((fault) => `listing.lists: ${list.path}: ${fault}`))
    for (const { queries, statement } of missing)
      log.warn(
        { list: list.path, queries, mend: statement },
        'a list has no index for some queries: they will be slow',
      )
    if (keep !== undefined)
      log.warn(
        { list: list.path, mend: keep },
        'a list does not keep its counts yet: totals and high pages will be slow',
      )
  }
  if (all.length > 0) throw new ConfigurationError(all)
  return lists
}
