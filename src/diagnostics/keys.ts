import type { Database } from '../storage/database.ts'
import { ok, warning, type Finding } from './finding.ts'

/** Keys that one finding names at most. */
const mostNamed = 5

/** Keys in force that reach everything and never expire, among the newest thousand. */
export async function checkKeys({ reader }: Database): Promise<Finding> {
  const rows = await reader
    .selectFrom('api_keys')
    .select(['id', 'scopes'])
    .where('revoked_at', 'is', null)
    .where('expires_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1000)
    .execute()
  const found = rows.filter(({ scopes }) => scopes.split(' ').includes('admin'))
  if (found.length === 0) return ok('API keys', 'every key with the scope admin expires')
  const named = found.slice(0, mostNamed).map(({ id }) => id)
  const more = found.length > mostNamed ? ` and ${found.length - mostNamed} more` : ''
  return warning(
    'API keys',
    `${named.join(', ')}${more} with the scope admin never expire`,
    'give keys narrower scopes or an expiry (`postern keys create --scope … --expires 90d`), then `postern keys revoke` these',
  )
}
