import { sql } from 'kysely'
import type { Database } from '../../storage/database.ts'
import { readSubjectNames } from './audit-log.ts'
import { printable } from '../../telemetry/printable.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { type PageOfRows, viewPage } from '../../paging/parameters.ts'
import type { Row } from '../../storage/tables.ts'

/** An entry in the API for admins. */
export function presentEntry(row: Row<'audit_log'>) {
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
export function exportEntry(row: Row<'audit_log'>) {
  return { seq: row.seq, ...presentEntry(row) }
}

/** An entry as one line of NDJSON. Terminal control characters are escaped, so that it can be printed. */
export function entryLine(row: Row<'audit_log'>): string {
  return `${printable(JSON.stringify(exportEntry(row)))}\n`
}

/** A page of the audit log for admins, with the names of the users, API keys and apps in it. */
export async function viewNamedEntries(
  database: Pick<Database, 'reader'>,
  page: PageOfRows<Row<'audit_log'>>,
) {
  const userOf = (row: Row<'audit_log'>): string => `user:${row.user_id}`
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

/** Rows of one read: few enough that writers on SQLite do not wait for it. */
const batch = 500

/** Where to start reading. */
export interface AuditStart {
  /** After the entry with this `seq`; 0 for the first one. */
  after: number
  /** At this time or later, in milliseconds since 1970. */
  since?: number | undefined
}

/**
 * The next entries in the order of `seq`, at most `limit`. No transaction can still commit an entry below the last `seq` of a page, so a
 * reader that continues after it misses no entry (as for events: docs/adr/0004).
 */
export async function auditEntriesAfter(
  database: Database,
  { after, since }: AuditStart,
  limit: number,
): Promise<Row<'audit_log'>[]> {
  // The horizon needs its own, earlier statement, so that the rows come from a later snapshot.
  const horizon = await horizonOf(database)
  return database.reader
    .selectFrom('audit_log')
    .selectAll()
    .where('seq', '>', after)
    .$if(horizon !== undefined, (query) => query.where('seq', '<=', horizon!))
    .$if(since !== undefined, (query) => query.where('created_at', '>=', since!))
    .orderBy('seq')
    .limit(limit)
    .execute()
}

/**
 * All entries up to now, page by page. A page is read when the consumer asks for it. No transaction stays open between
 * pages, so a slow consumer blocks nothing.
 * @param closed aborted when the consumer is gone.
 */
export async function* auditPages(
  database: Database,
  start: AuditStart,
  closed: AbortSignal,
): AsyncGenerator<Row<'audit_log'>[]> {
  for (let after = await firstPosition(database, start); !closed.aborted;) {
    const rows = await auditEntriesAfter(database, { ...start, after }, batch)
    if (rows.length > 0) yield rows
    if (rows.length < batch) return
    after = rows.at(-1)!.seq
  }
}

/** The `seq` before the first entry since `since`, so that older entries are not scanned. */
async function firstPosition({ reader }: Database, { after, since }: AuditStart): Promise<number> {
  if (since === undefined) return after
  const row = await reader
    .selectFrom('audit_log')
    .select((eb) => eb.fn.min<number | null>('seq').as('first'))
    .where('created_at', '>=', since)
    .executeTakeFirstOrThrow()
  return row.first === null ? after : Math.max(after, row.first - 1)
}

/** The last `seq` below which no entry can still appear. SQLite needs none: transactions commit in the order of `seq`. */
async function horizonOf({ engine, reader }: Database): Promise<number | undefined> {
  if (engine === 'sqlite') return undefined
  const { rows } = await sql<{ horizon: number }>`select audit_horizon() as horizon`.execute(reader)
  return rows[0]!.horizon
}
