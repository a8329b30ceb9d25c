import { sql } from 'kysely'
import type { CursorScope } from '../../paging/cursor.ts'
import {
  invalidParameter,
  type PageOfRows,
  type PageRequest,
  readTimeParameter,
} from '../../paging/parameters.ts'
import { referenceOf } from '../../http/pages/page-view.ts'
import type { Database, Queryable } from '../../storage/database.ts'
import type { Row } from '../../storage/tables.ts'
import { isStorableText } from '../../storage/sql-text.ts'
import type { AccountServices } from '../services.ts'
import { type AuditAction, auditActions, isAuditAction } from './audit.ts'

/** Which entries to read. */
export interface AuditFilter {
  action?: AuditAction
  /** The account that the entry is about. */
  userId?: string
  /** The actor, as `kind:id`. */
  actor?: string
  /** The other subject, as `kind:id`. */
  target?: string
  /** The address of the client. */
  address?: string
  /** The ID of the request, or the reference ID: its beginning. */
  supportId?: string
  provider?: string
  /** True: only failures. False: only successes. */
  failed?: boolean
  /** At this time or later, in milliseconds since 1970. */
  since?: number
  /** Before this time. */
  until?: number
}

type AuditFilterTexts = { [K in keyof AuditFilter]?: string | undefined }

const longestText = 256
/** The filters by one text. */
const textFilters = ['userId', 'actor', 'target', 'address', 'supportId', 'provider'] as const
/** In this order in cursors. */
const filterNames = ['action', ...textFilters, 'failed', 'since', 'until'] as const

/** Parses the filters of a query string. Empty ones are ignored. @throws Problem `invalid-parameter` */
export function parseAuditFilter(texts: AuditFilterTexts): AuditFilter {
  const filter: AuditFilter = {}
  const { action, failed, since, until } = texts
  if (action) {
    if (!isAuditAction(action))
      throw invalidParameter('action', `must be one of ${Object.keys(auditActions).join(', ')}`)
    filter.action = action
  }
  for (const name of textFilters) {
    const text = texts[name]
    if (!text) continue
    if (text.length > longestText || !isStorableText(text))
      throw invalidParameter(name, `must be storable text of at most ${longestText} characters`)
    filter[name] = text
  }
  // As people read it out or type it: the IDs are in lower case.
  if (filter.supportId) filter.supportId = filter.supportId.trim().toLowerCase()
  if (failed) {
    if (failed !== 'true' && failed !== 'false') throw invalidParameter('failed', 'takes true or false')
    filter.failed = failed === 'true'
  }
  if (since) filter.since = readTimeParameter(since, 'since')
  if (until) filter.until = readTimeParameter(until, 'until')
  return filter
}

/** A page of the audit log, newest first. @throws Problem `invalid-cursor` */
export async function auditPage(
  { database, cursors }: Pick<AccountServices, 'database' | 'cursors'>,
  filter: AuditFilter,
  { limit, cursor }: PageRequest,
): Promise<PageOfRows<Row<'audit_log'>>> {
  const scope = scopeOf(filter)
  let query = auditEntries(database, filter)
  if (cursor !== undefined) {
    const [time, id] = cursors.decode(scope, cursor)
    query = query.where(sql<boolean>`(created_at, id) < (${time}, ${id})`)
  }
  const found = await query
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return cursors.page(scope, found, limit, ({ created_at, id }) => [created_at, id])
}

/** The entries that a filter selects. */
export function auditEntries({ slowReader, engine }: Database, filter: AuditFilter) {
  const { action, userId, actor, target, address, supportId, provider, failed, since, until } = filter
  let query = slowReader.selectFrom('audit_log').selectAll()
  if (userId) query = query.where('user_id', '=', userId)
  if (actor) query = query.where('actor', '=', actor)
  if (target) query = query.where('target', '=', target)
  if (address) query = query.where('address', '=', address)
  if (supportId) {
    // As in the index of the first migration.
    query = query
      .where('support_id', 'is not', null)
      .where(sql<boolean>`substr(support_id, 1, 8) = ${referenceOf(supportId)}`)
    if (supportId !== referenceOf(supportId)) query = query.where('support_id', '=', supportId)
  }
  if (provider) query = query.where('provider', '=', provider)
  // SQLite has no statistics. Of these and an action it would take the index of the action, which most entries may have.
  const isNarrow = Boolean(userId || actor || target || address || supportId)
  if (action && isNarrow && engine === 'sqlite') query = query.where(sql<boolean>`+action = ${action}`)
  else if (action) query = query.where('action', '=', action)
  if (failed !== undefined) query = query.where('code', failed ? 'is not' : 'is', null)
  if (since !== undefined) query = query.where('created_at', '>=', since)
  if (until !== undefined) query = query.where('created_at', '<', until)
  return query
}

function scopeOf(filter: AuditFilter): CursorScope {
  return {
    list: 'audit',
    keys: [
      { name: 'at', type: 'integer' },
      { name: 'id', type: 'text' },
    ],
    query: filterNames.map((name) => filter[name] ?? null),
  }
}

/** A subject of the audit log, as `kind:id`. */
type Subject = string | null | undefined

/** Reads the names of the rows with these ids, by primary key. */
type ReadNames = (reader: Queryable, ids: readonly string[]) => Promise<{ id: string; name: string | null }[]>

const namesIn =
  (table: 'api_keys' | 'clients' | 'alert_destinations'): ReadNames =>
  (reader, ids) =>
    reader.selectFrom(table).select(['id', 'name']).where('id', 'in', ids).execute()

/** The kinds of subjects that have names. */
const kinds: Readonly<Record<string, ReadNames>> = {
  async user(reader, ids) {
    const columns = ['id', 'name', 'email'] as const
    const rows = await reader.selectFrom('users').select(columns).where('id', 'in', ids).execute()
    return rows.map(({ id, name, email }) => ({ id, name: name ?? email }))
  },
  /** A key that is set by a setting has the name of the setting. */
  async key(reader, ids) {
    const set = ids.filter((id) => /^[A-Z_]+$/.test(id)).map((id) => ({ id, name: id }))
    return [...(await namesIn('api_keys')(reader, ids)), ...set]
  },
  app: namesIn('clients'),
  async subscriber(reader, ids) {
    const columns = ['id', 'description', 'url'] as const
    const rows = await reader.selectFrom('subscribers').select(columns).where('id', 'in', ids).execute()
    // The whole address may contain a credential.
    return rows.map(({ id, description, url }) => ({ id, name: description || new URL(url).host }))
  },
  alert: namesIn('alert_destinations'),
}

/** Subjects of one kind that are looked up at most; a page of the audit log has fewer. */
const most = 500

/**
 * The names that people know users, API keys, apps, subscribers and destinations of alerts by. Subjects that were deleted, or are
 * of another kind, have none. One statement for each kind at most.
 */
export async function readSubjectNames(
  { reader }: Pick<Database, 'reader'>,
  subjects: Iterable<Subject>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const [kind, ids] of idsByKind(subjects))
    for (const { id, name } of await kinds[kind]!(reader, [...ids].slice(0, most)))
      if (name) names.set(`${kind}:${id}`, name)
  return names
}

function idsByKind(subjects: Iterable<Subject>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const subject of subjects) {
    const [, kind, id] = /^([^:]+):(.+)$/.exec(subject ?? '') ?? []
    if (kind === undefined || id === undefined || !Object.hasOwn(kinds, kind)) continue
    const ids = found.get(kind)
    if (ids) ids.add(id)
    else found.set(kind, new Set([id]))
  }
  return found
}
