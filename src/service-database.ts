import { ConfigurationError, type Configuration } from './config/environment.ts'
import { secretsFile } from './config/generated-secrets.ts'
import { Keyring } from './crypto/keyring.ts'
import type { Database } from './storage/database.ts'
import { migrate, pendingMigrations } from './storage/migrate.ts'
import { migrations } from './storage/migrations/index.ts'
import { openDatabase } from './storage/open.ts'
import { applyProductMigrations, readProductMigrations } from './storage/product-migrations.ts'
import { checkSealedValues } from './storage/reseal.ts'
import { describeExposed, exposedFiles } from './storage/sqlite/file-modes.ts'
import type { Log } from './telemetry/log.ts'

/** Milliseconds that PostgreSQL may take for a statement of the service; then the connection is given up. */
const databaseAnswersWithin = 10_000

/** Opens the database of the settings, and says in the log what happens to it in the background. */
export async function openServiceDatabase({
  configuration,
  log,
  handlerTimeout,
}: {
  configuration: Configuration
  log: Log
  /** Milliseconds that a handler may take. */
  handlerTimeout: number
}): Promise<Database> {
  const database = await openDatabase(configuration, {
    connections: configuration.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'the database failed in the background'),
    onNoRoom: (notice) => log.error(notice),
    answerWithin: databaseAnswersWithin,
    onPrimary: true,
    replicaUrl: configuration.databaseReplicaUrl,
    onReplica: (usable, reason) => {
      if (usable) log.info('lists are read from the standby of DATABASE_REPLICA_URL')
      else
        log.warn(
          { err: reason },
          'the standby of DATABASE_REPLICA_URL is unreachable or out of date: lists are read from the primary',
        )
    },
    handlerAnswerWithin: handlerTimeout,
  })
  database.onSetBack(() =>
    log.warn(
      'the database was restarted, failed over or restored: IDs skip ahead, and cached data is read again',
    ),
  )
  return database
}

/** Checks that this process may use the database, and applies the migrations. */
export async function prepareDatabase(
  database: Database,
  parts: {
    configuration: Configuration
    log: Log
    /** Whether to bring the database to this version. Default true. */
    migrate?: boolean
    /** The folder with the migrations of the product's own tables. */
    migrationsFolder?: string | undefined
  },
): Promise<void> {
  const { configuration, log } = parts
  if (database.engine === 'sqlite') {
    database.own()
    const exposed = exposedFiles(database.file, [secretsFile(configuration.databaseUrl)])
    if (exposed.length > 0) log.warn({ exposed }, describeExposed(exposed))
  } else await database.checkPooling()
  if (parts.migrate === false) {
    // Throws if this process cannot work with the database's schema.
    await pendingMigrations(database)
    return
  }
  const options = {
    onWait: () => log.warn('another process is migrating the database: waiting for it to finish'),
  }
  const applied = await migrate(database, migrations, options)
  if (parts.migrationsFolder !== undefined) {
    const own = readProductMigrations(parts.migrationsFolder, database.engine)
    applied.push(...(await applyProductMigrations(database, own, options)))
  }
  if (applied.length > 0) log.info({ migrations: applied }, 'database migrated')
}

/** @throws ConfigurationError when values are sealed with a key that is not among the secrets */
export async function openKeyring(
  database: Database,
  masterSecrets: NonNullable<Configuration['masterSecrets']>,
  log: Log,
): Promise<Keyring> {
  const keyring = new Keyring(masterSecrets)
  const sealed = await checkSealedValues(database, keyring)
  if (sealed.unknown !== undefined) throw new ConfigurationError([sealed.unknown])
  if (sealed.older !== undefined) log.warn(sealed.older)
  return keyring
}
