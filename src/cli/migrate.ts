import { migrationsFolder } from '../config/module.ts'
import { migrate, pendingMigrations } from '../storage/migrate.ts'
import { migrations, type Migration } from '../storage/migrations/index.ts'
import {
  applyProductMigrations,
  pendingProductMigrations,
  readProductMigrations,
  type ProductMigration,
} from '../storage/product-migrations.ts'
import { tellWait, withUnmigrated } from './database.ts'
import { print } from './output.ts'
import { readSettings } from './settings.ts'
import { existsSync } from 'node:fs'
import type { Database } from '../storage/database.ts'
import { sqliteFileOf } from '../storage/sqlite/files.ts'
import { CommandFailure, exitCodes } from './command-failure.ts'

/** Brings the database to this version, and the product's own tables to the migrations beside the configuration module. */
export async function migrateCommand({ dryRun }: { dryRun?: boolean }): Promise<void> {
  const configuration = readSettings()
  await withUnmigrated(configuration, async (database) => {
    if (database.engine === 'postgres') await database.checkPooling()
    const own = readProductMigrations(migrationsFolder(configuration.configFile), database.engine)
    const names = dryRun
      ? [...(await pendingMigrations(database)), ...(await pendingProductMigrations(database, own))]
      : [
          ...(await migrate(database, migrations, tellWait)),
          ...(await applyProductMigrations(database, own, tellWait)),
        ]
    const done = dryRun ? 'would be applied' : 'applied'
    print(
      dryRun ? { pending: names } : { applied: names },
      names.length === 0 ? 'the database is up to date\n' : names.map((name) => `${name} ${done}\n`).join(''),
    )
  })
}

type UpgradePlan = Awaited<ReturnType<typeof planUpgrade>>

/** What an upgrade would do to a database. Reads only. @throws NewerDatabase; ProductMigrationError */
export async function planUpgrade(
  database: Database,
  own: readonly ProductMigration[],
  known: readonly Migration[] = migrations,
) {
  const names = await pendingMigrations(database, known)
  const pending = known
    .filter(({ name }) => names.includes(name))
    .map(({ name, breaking }) => ({ name, breaking }))
  return {
    pending,
    /** The product's own migrations. Whether running processes bear them is not known. */
    own: await pendingProductMigrations(database, own),
    /** Whether processes of the version before may run while this version starts. */
    rolling: database.engine === 'postgres' && !pending.some(({ breaking }) => breaking),
  }
}

/**
 * Tells which migrations this version would apply to the database, and whether processes of the version before may run meanwhile.
 * Changes nothing. Exit code 3 if a migration would stop them.
 */
export async function checkUpgrade(): Promise<void> {
  const configuration = readSettings()
  const file = sqliteFileOf(configuration.databaseUrl)
  if (file !== undefined && !existsSync(file)) throw new CommandFailure(`there is no database at ${file}`)
  await withUnmigrated(configuration, async (database) => {
    const folder = migrationsFolder(configuration.configFile)
    const plan = await planUpgrade(database, readProductMigrations(folder, database.engine))
    print(plan, describeUpgrade(plan, database.engine))
    process.exitCode = exitCodeOfUpgrade(plan)
  })
}

/** 3 if a migration stops processes of older versions. SQLite has one process, which is stopped in any case. */
export function exitCodeOfUpgrade({ pending }: UpgradePlan): number {
  return (pending.some(({ breaking }) => breaking) ? exitCodes.partly : exitCodes.done).code
}

export function describeUpgrade({ pending, own, rolling }: UpgradePlan, engine: Database['engine']): string {
  const lines = pending.map(
    ({ name, breaking }) =>
      `${name} would be applied: processes of older versions ${breaking ? 'stop working when it is' : 'continue to work'}`,
  )
  for (const name of own)
    lines.push(`${name} of migrations/ would be applied: make sure that running processes can work with it`)
  if (lines.length === 0) return 'the database is up to date: any upgrade of the processes is safe\n'
  if (engine === 'sqlite')
    lines.push('SQLite has one process: back up, stop it, and start this version, which applies them.')
  else if (rolling)
    lines.push('A rolling upgrade is safe: start processes of this version one after the other.')
  else lines.push('A rolling upgrade is not safe: stop all older processes first, then start this version.')
  return lines.map((line) => `${line}\n`).join('')
}
