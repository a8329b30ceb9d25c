import { existsSync } from 'node:fs'
import { ExportPosition } from '../../accounts/audit-forwarding/position.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Configuration } from '../../config/environment.ts'
import { isUpToDate } from '../../storage/migrate.ts'
import { openDatabase } from '../../storage/open.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import { printable } from '../../telemetry/printable.ts'
import { ok, warning, type Finding } from './finding.ts'

type Settings = Partial<Pick<Configuration, 'databaseUrl' | 'databaseSessionUrl' | 'auditExportUrl'>>

/** Milliseconds that the destination may be behind before it is worth a warning. */
const longestBehind = 5 * 60_000

/** How far AUDIT_EXPORT_URL is behind the audit log, and why. */
export async function checkAuditExport({
  databaseUrl,
  databaseSessionUrl,
  auditExportUrl,
}: Settings): Promise<Finding[]> {
  if (databaseUrl === undefined || auditExportUrl === undefined) return []
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(databaseUrl)?.[1]
  if (file !== undefined && !existsSync(file)) return []
  const database = await openDatabase({ databaseUrl, databaseSessionUrl })
  try {
    if (!(await isUpToDate(database))) return []
    const position = new ExportPosition(database, auditExportUrl)
    const { failing_since: since, last_error: error } = await position.state()
    const oldest = await position.oldestWaiting()
    const behind = oldest === undefined ? 0 : systemClock.now() - oldest
    if (since !== null)
      return [
        warning(
          'audit export',
          `nothing was taken since ${new Date(since).toISOString()}: ${printable(error ?? '')}`,
        ),
      ]
    return [
      behind > longestBehind
        ? warning(
            'audit export',
            `${Math.round(behind / 60_000)} minutes behind: is a service with workers running?`,
          )
        : ok('audit export', 'up to date'),
    ]
  } catch (error) {
    // That the database does not answer was told by its own check.
    if (error instanceof StorageUnavailable) return []
    throw error
  } finally {
    await database.close()
  }
}
