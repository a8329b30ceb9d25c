import type { Database } from '../../storage/database.ts'

/** A subject of the audit log, as `kind:id`. */
type Subject = string | null | undefined

/** Subjects of one kind that are looked up at most; a page of the audit log has fewer. */
const most = 500

/**
 * The names that people know users, API keys and apps by. Subjects that were deleted, or are of another kind, have none.
 * Three statements at most, each by primary key.
 */
export async function readSubjectNames(
  { reader }: Pick<Database, 'reader'>,
  subjects: Iterable<Subject>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  const { user, key, app } = idsByKind(subjects)
  if (user.length > 0) {
    const users = await reader
      .selectFrom('users')
      .select(['id', 'name', 'email'])
      .where('id', 'in', user)
      .execute()
    for (const { id, name, email } of users) if (name ?? email) names.set(`user:${id}`, (name ?? email)!)
  }
  if (key.length > 0) {
    const keys = await reader.selectFrom('api_keys').select(['id', 'name']).where('id', 'in', key).execute()
    for (const { id, name } of keys) names.set(`key:${id}`, name)
  }
  if (app.length > 0) {
    const apps = await reader.selectFrom('clients').select(['id', 'name']).where('id', 'in', app).execute()
    for (const { id, name } of apps) names.set(`app:${id}`, name)
  }
  return names
}

function idsByKind(subjects: Iterable<Subject>): Record<'user' | 'key' | 'app', string[]> {
  const found = { user: new Set<string>(), key: new Set<string>(), app: new Set<string>() }
  for (const subject of subjects) {
    const [, kind, id] = /^(user|key|app):(.+)$/.exec(subject ?? '') ?? []
    if (kind !== undefined && id !== undefined) found[kind as keyof typeof found].add(id)
  }
  const bounded = (ids: Set<string>): string[] => [...ids].slice(0, most)
  return { user: bounded(found.user), key: bounded(found.key), app: bounded(found.app) }
}
