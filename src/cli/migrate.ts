import { migrationsFolder } from '../config/module.ts'
import { migrate, pendingMigrations } from '../storage/migrate.ts'
import { migrations } from '../storage/migrations/index.ts'
import { openDatabase } from '../storage/open.ts'
import {
  applyProductMigrations,
  pendingProductMigrations,
  readProductMigrations,
} from '../storage/product-migrations.ts'
import { tellWait } from './database.ts'
import { print } from './output.ts'
import { readSettings } from './settings.ts'

/** Brings the database to this version, and the product's own tables to the migrations beside the configuration module. */
export async function migrateCommand({ dryRun }: { dryRun?: boolean }): Promise<void> {
  const configuration = readSettings()
  const database = await openDatabase(configuration)
  try {
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
  } finally {
    await database.close()
  }
}
