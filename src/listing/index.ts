import type { AdminRule } from '../accounts/users/roles.ts'
import { ConfigurationError } from '../config/environment.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Cursors } from '../paging/cursor.ts'
import type { Database } from '../storage/database.ts'
import type { Log } from '../telemetry/log.ts'
import { catalogueRoute, type CataloguedList } from './catalogue.ts'
import { checkList, type CheckedList } from './checking/check.ts'
import type { ListingConfig } from './config.ts'
import { readLists } from './declaration.ts'
import { Presentation } from './expansion.ts'
import { maintainedCounts, type MaintainedCounts } from './counts/counts.ts'
import { createCountsWorker, CountsWriter } from './counts/writer.ts'
import type { ListDeclaration } from './list.ts'
import { Pages } from './pages/pages.ts'
import { posts, products } from './resources/products-and-posts.ts'
import { usersList, usersRevision } from './resources/users.ts'
import { listRoute } from './routes.ts'
import { StandbyReader, createListReader } from './standby-reader.ts'
import { writeRoutes } from './writing/routes.ts'

/**
 * Creates the lists, and the calls that write products and posts.
 * @throws ConfigurationError for invalid declarations. `routes`, which must run after those of all other modules, throws it for
 * declarations that do not fit the database, and for paths that are taken.
 */
export function createListing(
  parts: ModuleParts & {
    config: ListingConfig | undefined
    /** What makes a user an admin beside the role of the row. */
    admins: readonly AdminRule[]
    /** The ids of the users that the settings make admins, whatever role their row has. */
    listedAdmins: () => Promise<ReadonlySet<string>>
  },
): ServiceModule {
  const { config, configuration, database, keyring, clock, log, listedAdmins } = parts
  const declared = readLists(config)
  const users = usersList(parts.admins)
  const standby =
    database.engine === 'postgres' && database.replica
      ? new StandbyReader(database, database.replica)
      : undefined
  const reader = standby ?? createListReader(database)
  const counts = new Map<string, MaintainedCounts>()
  const writers: CountsWriter[] = []
  const common = {
    pages: new Pages(database.engine, reader, new Cursors(keyring), counts),
    presentation: new Presentation(database.engine, reader),
    reader,
    engine: database.engine,
    standby: standby && { reader: standby, maxAge: configuration.databaseReplicaMaxAge },
  }
  return {
    async routes(app) {
      listRoute(app, users, { ...common, revision: usersRevision(listedAdmins) })
      const own = [users, products, posts]
      for (const list of [products, posts]) listRoute(app, list, common)
      const writes = writeRoutes(app, { database, clock })
      const catalogued: CataloguedList[] = []
      catalogueRoute(app, () => catalogued)
      const isTaken = (url: string): boolean => app.hasRoute({ method: 'GET', url })
      const isNamed = (name: string): boolean => own.some((list) => list.name === name)
      const checked = await checkDeclared(database, declared, log, { isTaken, isNamed })
      for (const list of checked) listRoute(app, list, common)
      for (const list of [...own, ...checked]) {
        const written = writes.get(list.path)
        catalogued.push({ list, ...(written && { writes: written }) })
        if (!list.maintainCounts) continue
        counts.set(list.name, maintainedCounts(database, reader, list))
        writers.push(new CountsWriter(database, list))
      }
    },
    workers: [createCountsWorker(clock, log, writers)],
  }
}

/**
 * Completes the lists with facts about their tables. Missing indexes and counts are logged; the service starts without them.
 * @throws ConfigurationError for lists that do not fit the database, and for paths and names that the service has itself
 */
async function checkDeclared(
  database: Database,
  declared: readonly ListDeclaration[],
  log: Log,
  { isTaken, isNamed }: Record<'isTaken' | 'isNamed', (text: string) => boolean>,
): Promise<ListDeclaration[]> {
  const checked: CheckedList[] = []
  const paths = new Set(declared.map(({ path }) => path))
  for (const declaration of declared) checked.push(await checkList(database, declaration))
  const faults = checked.flatMap(({ list: { name, path, one, summaries }, faults }) => {
    const all: string[] = []
    if (isTaken(path)) all.push('the service has an endpoint with this path')
    if (one && isTaken(`${path}/:key`))
      all.push(`\`one\` is not possible: the service has an endpoint with the path ${path}/{…}`)
    if (summaries && (isTaken(`${path}/summary`) || paths.has(`${path}/summary`)))
      all.push(`\`summaries\` is not possible, because ${path}/summary is taken`)
    // The counts and the statements of a list are kept by its name.
    if (isNamed(name)) all.push(`the service has a list with the name ${name}; choose another`)
    return [...all, ...faults].map((fault) => `listing.lists: ${path}: ${fault}`)
  })
  for (const one of checked) logAdvice(one, log)
  if (faults.length > 0) throw new ConfigurationError(faults)
  return checked.map(({ list }) => list)
}

function logAdvice({ list: { path }, missing, createCounts, nullKeys }: CheckedList, log: Log): void {
  for (const { queries, statement } of missing)
    log.warn(
      {
        list: path,
        queries: queries.map((query) => (query === '' ? path : `${path}?${query}`)),
        fix: statement,
      },
      'a list has no index for some queries: they will be slow',
    )
  if (createCounts !== undefined)
    log.warn(
      { list: path, fix: createCounts },
      'the counts of a list are not maintained yet: totals and deep pages will be slow',
    )
  if (nullKeys) log.warn({ list: path }, 'a list has rows with a null key: paging may miss them')
}
