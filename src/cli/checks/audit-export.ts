import { ExportPosition } from '../../accounts/audit-forwarding/position.ts'
import { systemClock } from '../../runtime/clock.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import { printable } from '../../telemetry/printable.ts'
import { ok, warning, type Finding } from './finding.ts'

/** Milliseconds that the destination may be behind before it is worth a warning. */
const longestBehind = 5 * 60_000

/** How far AUDIT_EXPORT_URL is behind the audit log, and why. */
export async function* checkAuditExport(
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
    yield warning(about, `nothing was taken since ${isoTime(since)}: ${printable(error ?? '')}`)
  else if (behind > longestBehind)
    yield warning(about, `${Math.round(behind / 60_000)} minutes behind: is a service with workers running?`)
  else yield ok(about, 'up to date')
}
