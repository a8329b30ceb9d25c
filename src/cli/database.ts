import { createRecordAudit, type AuditEntry } from '../accounts/audit/audit.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Database } from '../storage/database.ts'
import { exitCodes } from './command-failure.ts'
import { migrate, type MigrationOptions } from '../storage/migrate.ts'
import { migrations } from '../storage/migrations/index.ts'
import { openDatabase, type DatabasePlace } from '../storage/open.ts'

/** Says on stderr that another process is migrating the database. */
export const tellWait: MigrationOptions = {
  onWait: () =>
    void process.stderr.write('another process is migrating the database: waiting for it to finish\n'),
}

/** Opens a database as it is, runs `work`, and closes the database. */
export async function withUnmigrated<T>(
  place: DatabasePlace,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(place)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The same with a database that is migrated to this version first. */
export function withDatabase<T>(place: DatabasePlace, work: (database: Database) => Promise<T>): Promise<T> {
  return withUnmigrated(place, async (database) => {
    await migrate(database, migrations, tellWait)
    return work(database)
  })
}

/** Writes an entry to the audit log in its own transaction, with `cli` as the actor. */
export async function recordCommand(database: Database, entry: AuditEntry): Promise<void> {
  const record = createRecordAudit(systemClock)
  await database.transaction((tx) => record(tx, { ...entry, actor: 'cli' }))
}

/**
 * Runs `work` with a signal that Ctrl-C and SIGTERM abort. After the second Ctrl-C the process exits at once: the database
 * rolls back the open transaction.
 */
export async function interruptible<T>(work: (interrupt: AbortController) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const onSignal = (): void => {
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted.code)
    interrupt.abort()
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  try {
    return await work(interrupt)
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}
