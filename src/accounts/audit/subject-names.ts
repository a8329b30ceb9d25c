import type { Database } from '../../storage/database.ts'

/** A subject of the audit log, as `kind:id`. */
type Subject = string | null | undefined

/** The kinds of subjects that have names. */
type Kind = 'user' | 'key' | 'app' | 'subscriber' | 'alert'

/** Subjects of one kind that are looked up at most; a page of the audit log has fewer. */
const most = 500

/**
 * The names that people know users, API keys, apps, subscribers and destinations of alerts by. Subjects that were deleted, or are of another kind, have none.
 * Five statements at most, each by primary key.
 */
export async function readSubjectNames(
  { reader }: Pick<Database, 'reader'>,
  subjects: Iterable<Subject>,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  const { user, key, app, subscriber, alert } = idsByKind(subjects)
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
  if (subscriber.length > 0) {
    const subscribers = await reader
      .selectFrom('subscribers')
      .select(['id', 'description', 'url'])
      .where('id', 'in', subscriber)
      .execute()
    // The whole address may contain a credential.
    for (const { id, description, url } of subscribers)
      names.set(`subscriber:${id}`, description || new URL(url).host)
  }
  if (alert.length > 0) {
    const destinations = await reader
      .selectFrom('alert_destinations')
      .select(['id', 'name'])
      .where('id', 'in', alert)
      .execute()
    for (const { id, name } of destinations) names.set(`alert:${id}`, name)
  }
  return names
}

function idsByKind(subjects: Iterable<Subject>): Record<Kind, string[]> {
  const found: Record<Kind, Set<string>> = {
    user: new Set(),
    key: new Set(),
    app: new Set(),
    subscriber: new Set(),
    alert: new Set(),
  }
  for (const subject of subjects) {
    const [, kind, id] = /^(user|key|app|subscriber|alert):(.+)$/.exec(subject ?? '') ?? []
    if (kind !== undefined && id !== undefined) found[kind as Kind].add(id)
  }
  const bounded = (ids: Set<string>): string[] => [...ids].slice(0, most)
  return {
    user: bounded(found.user),
    key: bounded(found.key),
    app: bounded(found.app),
    subscriber: bounded(found.subscriber),
    alert: bounded(found.alert),
  }
}
