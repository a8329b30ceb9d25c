import { mostOfAKind, quoted, type Attention } from '../http/attention.ts'
import type { Database } from '../storage/database.ts'
import { isoTime } from '../runtime/iso-time.ts'

const day = 86_400_000
/** Milliseconds before a key expires from which on it needs attention. */
const notice = 14 * day

/** API keys that expire within two weeks. */
export async function expiringKeys({ readerAside: reader }: Database, now: number): Promise<Attention[]> {
  const keys = await reader
    .selectFrom('api_keys')
    .select(['id', 'name', 'expires_at'])
    .where('expires_at', '>', now)
    .where('expires_at', '<', now + notice)
    .where('revoked_at', 'is', null)
    .orderBy('expires_at')
    .limit(mostOfAKind)
    .execute()
  return keys.map(({ id, name, expires_at }) => ({
    kind: 'key-expires',
    severity: 'warning',
    text: `API key ${quoted(name)} expires on ${isoTime(expires_at ?? now).slice(0, 10)}.`,
    since: null,
    about: { topic: 'key', id },
  }))
}
