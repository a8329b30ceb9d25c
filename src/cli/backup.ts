import { existsSync } from 'node:fs'
import { secretsFile } from '../config/generated-secrets.ts'
import { backUpSqlite, filesInTheWay, restoreSqlite, SpoolUnreadable } from '../storage/sqlite/backup.ts'
import { sqliteFileOf } from '../storage/sqlite/file-of-url.ts'
import { CommandFailure } from './command-failure.ts'
import { interruptible } from './database.ts'
import { addressToDump, addressToFill } from './pg-servers.ts'
import { dumpPostgres, restorePostgres } from './pg-tools.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import { readSettings } from './settings.ts'

/**
 * Copies the database to a new file, while the service may run. Everything that was acknowledged before the call is in it.
 * @throws CommandFailure if the file exists, or if PostgreSQL's programs are missing; UnsuitablePooler
 */
export async function backup(file: string): Promise<void> {
  const settings = readSettings()
  const { databaseUrl } = settings
  if (existsSync(file)) throw new CommandFailure(`${file} exists: name a new file`)
  const source = sqliteFileOf(databaseUrl)
  await interruptible(async ({ signal }) => {
    if (source === undefined) return dumpPostgres(await addressToDump(settings), file, signal)
    if (!existsSync(source)) throw new CommandFailure(`there is no database at ${source}`)
    const progress = showProgress(0, 'pages copied', false)
    try {
      await backUpSqlite(source, file, { signal, onProgress: (done, total) => progress.update(done, total) })
    } catch (error) {
      throw error instanceof SpoolUnreadable ? new CommandFailure(error.message, { cause: error }) : error
    } finally {
      progress.stop()
    }
  })
  const secrets = secretsFile(databaseUrl)
  const key = existsSync(secrets) ? secrets : 'POSTERN_SECRET'
  print(
    { file, secrets: key },
    `${file} is complete. Keep ${key} too, in another place: it opens the sealed values.\n`,
  )
}

/**
 * Writes a backup to the database that DATABASE_URL names. It must not exist, or must be empty.
 * @throws CommandFailure otherwise, or if the file is not a backup; UnsuitablePooler
 */
export async function restore(file: string): Promise<void> {
  const settings = readSettings()
  const { databaseUrl } = settings
  if (!existsSync(file)) throw new CommandFailure(`${file} is not there`)
  const target = sqliteFileOf(databaseUrl)
  if (target === undefined) {
    const address = await addressToFill(settings)
    await interruptible(({ signal }) => restorePostgres(address, file, signal))
  } else {
    const found = filesInTheWay(target)
    // The other files depend on what happened last, and are named only where the database itself is missing.
    const existing = found.includes(target) ? [target] : found
    if (existing.length > 0)
      throw new CommandFailure(
        `${existing.join(', ')} ${existing.length === 1 ? 'exists' : 'exist'}: ` +
          'stop the service, and move the files of this database away',
      )
    restoreSqlite(file, target)
  }
  print({ restored: file }, 'restored; run `postern doctor`, then start the service\n')
}
