import { sql } from 'kysely'
import { isId } from '../crypto/ids.ts'
import { contains, mostFound, type Finder, type Found } from '../http/finder.ts'
import type { Database } from '../storage/database.ts'
import type { ApiKeys } from './tokens/api-keys.ts'

/** Finds people by their id, or the beginning of their e-mail address or name, and one device by its id. */
export function userFinder({ readerAside: reader, engine }: Database): Finder {
  const collation = engine === 'postgres' ? sql` collate "C"` : sql``
  const beginning = async (column: 'email' | 'name', text: string) => {
    const low = sql`lower(${sql.ref(column)})${collation}`
    return reader
      .selectFrom('users')
      .select(['id', 'email', 'name', 'role'])
      .where(sql<boolean>`${low} >= ${text} and ${low} < ${`${text}\u{10ffff}`}`)
      .orderBy(low)
      .limit(mostFound)
      .execute()
  }
  const byId = async (id: string): Promise<Found[]> => {
    const user = await reader
      .selectFrom('users')
      .select(['id', 'email', 'name', 'role'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (user) return [describe(user)]
    const session = await reader
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['users.id', 'users.email', 'users.name'])
      .where('sessions.id', '=', id)
      .executeTakeFirst()
    if (!session) return []
    // The page of a session is the page of its user.
    return [{ kind: 'session', id: session.id, title: id, detail: session.email ?? session.name }]
  }
  return {
    scope: 'users:read',
    async find(text) {
      const low = text.toLowerCase()
      if (isId(low)) return byId(low)
      const rows = [...(await beginning('email', low)), ...(await beginning('name', low))]
      return [...new Map(rows.map((user) => [user.id, user])).values()].map(describe)
    },
  }
}

interface NamedUser {
  id: string
  email: string | null
  name: string | null
  role: string
}

function describe({ id, email, name, role }: NamedUser): Found {
  const detail = [email !== null && name !== null ? name : undefined, role].filter(Boolean).join(' · ')
  return { kind: 'user', id, title: email ?? name ?? id, detail }
}

/** Finds API keys by id, name or the beginning that lists show, among the newest thousand. */
export function keyFinder(keys: ApiKeys): Finder {
  return {
    scope: 'admin',
    async find(text) {
      const found = (await keys.list()).filter(
        ({ id, name, prefix }) => id === text || contains(name, text) || text.startsWith(prefix),
      )
      return found.map(({ id, name, prefix, revoked_at: revoked }) => ({
        kind: 'key',
        id,
        title: name,
        detail: revoked === null ? `${prefix}…` : `${prefix}… · revoked`,
      }))
    },
  }
}
