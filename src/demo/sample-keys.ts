import { keyPrefix } from '../accounts/tokens/api-keys.ts'
import { hashToken, newToken } from '../crypto/tokens.ts'
import type { ApiKeysTable } from '../storage/tables.ts'
import { adminEntry, type SampleAuditRow } from './sample-audit.ts'

const hour = 3_600_000
const day = 24 * hour

interface SampleKey {
  /** Fixed, so that the checklist knows them. */
  id: string
  name: string
  scopes: string
  /** Days since it was created. */
  created: number
  /** Hours since its last use. */
  used: number
  /** Days until it expires. */
  expires?: number
  /** Days since it was revoked. */
  revoked?: number
}

const samples: readonly SampleKey[] = [
  {
    id: '00000000-0000-7000-8000-000000000d41',
    name: 'First integration (sample)',
    scopes: 'events:write subscribers:write',
    created: 28,
    used: 190,
    revoked: 7.8,
  },
  {
    id: '00000000-0000-7000-8000-000000000d42',
    name: 'Nightly export (sample)',
    scopes: 'lists:read users:read',
    created: 24,
    used: 9,
    expires: 6,
  },
  {
    id: '00000000-0000-7000-8000-000000000d43',
    name: 'Shop back end (sample)',
    scopes: 'events:write subscribers:read',
    created: 8,
    used: 0.2,
    expires: 172,
  },
]

export const sampleKeyIds: readonly string[] = samples.map(({ id }) => id)

/**
 * API keys with a history. Nobody can use them: their secrets are random, and only the hashes leave this function.
 * @param now milliseconds since 1970
 * @param admin who created them, as the audit log names actors
 */
export function sampleKeys(now: number, admin: string): { keys: ApiKeysTable[]; audit: SampleAuditRow[] } {
  const audit: SampleAuditRow[] = []
  const keys = samples.map(({ id, name, scopes, created, used, expires, revoked }): ApiKeysTable => {
    const secret = newToken(keyPrefix)
    const about = { target: `key:${id}`, detail: JSON.stringify({ name, scopes }) }
    const row: ApiKeysTable = {
      id,
      name,
      role: 'user',
      scopes,
      prefix: secret.slice(0, keyPrefix.length + 4),
      key_hash: hashToken(secret),
      created_at: Math.round(now - created * day),
      created_by: admin,
      expires_at: expires === undefined ? null : now + expires * day,
      revoked_at: revoked === undefined ? null : Math.round(now - revoked * day),
      last_used_at: Math.round(now - used * hour),
    }
    audit.push({ ...adminEntry(row.created_at, 'key.created', admin), ...about })
    if (row.revoked_at !== null) audit.push({ ...adminEntry(row.revoked_at, 'key.revoked', admin), ...about })
    return row
  })
  return { keys, audit }
}
