import { viewPage, type PageOfRows } from '../../paging/page.ts'
import type { Database } from '../../storage/database.ts'
import { presentEntry } from './audit-entry.ts'
import type { AuditRow } from './audit-log.ts'
import { readSubjectNames } from './subject-names.ts'

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
