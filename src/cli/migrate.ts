import { migrate, pendingMigrations } from '../storage/migrate.ts'
import { openDatabase } from '../storage/open.ts'
import { readSettings } from './settings.ts'

/** Brings the database to this version; with `dryRun` only says what would be done. */
export async function migrateCommand({ dryRun }: { dryRun?: boolean }): Promise<void> {
  const configuration = readSettings()
  const database = await openDatabase(configuration)
  try {
    if (database.engine === 'postgres') await database.checkPooling()
    const names = dryRun ? await pendingMigrations(database) : await migrate(database)
    const done = dryRun ? 'would be applied' : 'applied'
    process.stdout.write(
      names.length === 0 ? 'the database is up to date\n' : names.map((name) => `${name} ${done}\n`).join(''),
    )
  } finally {
    await database.close()
  }
}
