import type { Condition } from '../runtime/condition.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { Database } from '../storage/database.ts'

/** Milliseconds before its end from which on a key needs a person. */
const soon = 7 * 86_400_000
/** Keys that are named at most. */
const most = 20

/** API keys that expire within a week, those that end first at first. A key that has expired is not named. */
export async function findEndingKeys({ reader }: Database, now: number): Promise<Condition[]> {
  const rows = await reader
    .selectFrom('api_keys')
    .select(['id', 'name', 'expires_at'])
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where('expires_at', '<=', now + soon)
    .orderBy('expires_at')
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map(({ id, name, expires_at: end }) => ({
    kind: 'key-ending',
    severity: 'warning',
    about: `key:${id}`,
    since: end! - soon,
    text: `The API key ${name} expires on ${isoTime(end!).slice(0, 10)}`,
    path: '/dashboard/system/keys',
  }))
}
