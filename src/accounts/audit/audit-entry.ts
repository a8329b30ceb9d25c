import { printable } from '../../telemetry/printable.ts'
import type { AuditRow } from './audit-log.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { type PageOfRows, viewPage } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { readSubjectNames } from './subject-names.ts'

/** An entry in the API for admins. */
export function presentEntry(row: AuditRow) {
  return {
    id: row.id,
    at: isoTime(row.created_at),
    action: row.action,
    userId: row.user_id,
    actor: row.actor,
    sessionId: row.session_id,
    provider: row.provider,
    providerId: row.provider_id,
    target: row.target,
    code: row.code,
    supportId: row.support_id,
    address: row.address,
    userAgent: row.user_agent,
    detail: row.detail === null ? null : (JSON.parse(row.detail) as Record<string, unknown>),
  }
}

/** The same with `seq`, the position in an export. */
export function exportEntry(row: AuditRow) {
  return { seq: row.seq, ...presentEntry(row) }
}

/** An entry as one line of NDJSON. Terminal control characters are escaped, so that it can be printed. */
export function entryLine(row: AuditRow): string {
  return `${printable(JSON.stringify(exportEntry(row)))}\n`
}

/** A page of the audit log for admins, with the names of the users, API keys and apps in it. */
export async function viewNamedEntries(database: Pick<Database, 'reader'>, page: PageOfRows<AuditRow>) {
  const userOf = (row: AuditRow): string => `user:${row.user_id}`
  const names = await readSubjectNames(
    database,
    page.rows.flatMap((row) => [userOf(row), row.actor, row.target]),
  )
  return viewPage(page, (row) => ({
    ...presentEntry(row),
    userName: names.get(userOf(row)) ?? null,
    actorName: names.get(row.actor ?? '') ?? null,
    targetName: names.get(row.target ?? '') ?? null,
  }))
}
