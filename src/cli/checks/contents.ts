import { existsSync } from 'node:fs'
import type { Database } from '../../storage/database.ts'
import { isUpToDate } from '../../storage/migrate.ts'
import { openDatabase, type DatabasePlace } from '../../storage/open.ts'
import { sqliteFileOf } from '../../storage/sqlite/file-of-url.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { InspectedConfiguration } from '../configuration.ts'
import { checkAuditExport } from './audit-export.ts'
import type { Finding } from './finding.ts'
import { checkLists } from './lists.ts'
import { checkSealed } from './sealed.ts'
import { checkSizes } from './sizes.ts'

/** Checks what the database holds. It skips what checkDatabase reports: no database, no answer, missing migrations. */
export async function* checkContents(
  place: DatabasePlace,
  { configuration, config }: InspectedConfiguration,
): AsyncGenerator<Finding> {
  const file = sqliteFileOf(place.databaseUrl)
  if (file !== undefined && !existsSync(file)) return
  let database: Database | undefined
  try {
    database = await openDatabase(place)
    if (await isUpToDate(database)) {
      yield* checkSealed(database, { ...configuration, ...place })
      yield* checkSizes(database, configuration.payloadRetention)
      yield* checkAuditExport(database, configuration.auditExportUrl)
    }
    yield* checkLists(database, config)
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
  } finally {
    await database?.close()
  }
}
