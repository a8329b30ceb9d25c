import { existsSync } from 'node:fs'
import type { Database } from '../storage/database.ts'
import { isUpToDate } from '../storage/migrate.ts'
import { openDatabase, type DatabasePlace } from '../storage/open.ts'
import { sqliteFileOf } from '../storage/sqlite/file-of-url.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { InspectedConfiguration } from './configuration.ts'
import { ok, warning, fault, type Finding } from './finding.ts'
import { describeError } from './describe-error.ts'
import { checkLists } from './lists.ts'
import { checkSizes } from './sizes.ts'
import { ExportPosition } from '../accounts/audit-forwarding/position.ts'
import { systemClock } from '../runtime/clock.ts'
import { isoTime } from '../runtime/iso-time.ts'
import { printable } from '../telemetry/printable.ts'
import type { Configuration } from '../config/environment.ts'
import { withStoredSecrets } from '../config/generated-secrets.ts'
import { Keyring } from '../crypto/keyring.ts'
import { checkSealedValues } from '../storage/sealed-check.ts'

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
    if (await isUpToDate(database)) yield* checkRows(database, { ...configuration, ...place })
    yield* checkLists(database, config)
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    yield fault('contents', describeError(error))
  } finally {
    await database?.close()
  }
}

/** What the tables of an open, migrated database hold. */
export async function* checkRows(
  database: Database,
  configuration: Parameters<typeof withStoredSecrets>[0] &
    Partial<Pick<Configuration, 'payloadRetention' | 'auditExportUrl'>>,
): AsyncGenerator<Finding> {
  yield* checkSealed(database, configuration)
  yield* checkSizes(database, configuration.payloadRetention)
  yield* checkAuditExport(database, configuration.auditExportUrl)
}

/** Milliseconds that the destination may be behind before it is worth a warning. */
const longestBehind = 5 * 60_000

/** How far AUDIT_EXPORT_URL is behind the audit log, and why. */
async function* checkAuditExport(
  database: Database,
  auditExportUrl: string | undefined,
): AsyncGenerator<Finding> {
  if (auditExportUrl === undefined) return
  const about = 'audit export'
  const position = new ExportPosition(database, auditExportUrl)
  const { failing_since: since, last_error: error } = await position.state()
  const oldest = await position.oldestWaiting()
  const behind = oldest === undefined ? 0 : systemClock.now() - oldest
  if (since !== null)
    yield warning(
      about,
      `the destination has accepted nothing since ${isoTime(since)}: ${printable(error ?? '')}`,
    )
  else if (behind > longestBehind)
    yield warning(
      about,
      `${Math.round(behind / 60_000)} minutes behind`,
      'check that a service with workers is running',
    )
  else yield ok(about, 'up to date')
}

/** Whether the given secrets open what the database holds sealed, and what still needs an older one. */
async function* checkSealed(
  database: Database,
  given: Parameters<typeof withStoredSecrets>[0],
): AsyncGenerator<Finding> {
  const { masterSecrets } = withStoredSecrets(given)
  if (!masterSecrets) return
  const { unknown, older } = await checkSealedValues(database, new Keyring(masterSecrets))
  if (unknown !== undefined) yield fault('sealed values', unknown)
  if (older !== undefined) yield warning('sealed values', older)
  if (unknown === undefined && older === undefined)
    yield ok('sealed values', 'the newest POSTERN_SECRET opens all of them')
}
