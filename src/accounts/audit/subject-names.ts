import type { Database, Queryable } from '../../storage/database.ts'

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
