import { newId } from '../../src/crypto/ids.ts'
import { hashToken } from '../../src/crypto/secrets.ts'
import type { Database } from '../../src/storage/database.ts'

/** The token of a person at another host. */
export function tokenAt(host: string, token: string): string {
  return hashToken(`${host} ${token}`).toString('base64url')
}

/**
 * Signs so many people in.
 * @param hosts other hosts at which they are signed in too, each with a token of its own
 * @returns their tokens
 */
export async function signedIn(
  database: Database,
  count: number,
  hosts: readonly string[] = [],
): Promise<string[]> {
  const now = Date.now()
  const tokens: string[] = []
  for (let first = 0; first < count; first += 500) {
    const numbers = Array.from({ length: Math.min(500, count - first) }, (_, index) => first + index)
    const ids = numbers.map(() => newId(now))
    const sessions = numbers.map(() => newId(now))
    const fresh = numbers.map((number) => hashToken(`bench ${number}`).toString('base64url'))
    await database.transaction(async (tx) => {
      await tx
        .insertInto('users')
        .values(
          numbers.map((number, index) => ({
            id: ids[index]!,
            email: `user${number}@example.com`,
            name: `User ${number}`,
            provider: 'bench',
            provider_id: String(number),
            role: 'user' as const,
            blocked_at: null,
            created_at: now,
          })),
        )
        .execute()
      await tx
        .insertInto('sessions')
        .values(
          ids.map((id, index) => ({
            id: sessions[index]!,
            token_hash: hashToken(fresh[index]!),
            user_id: id,
            provider: 'bench',
            address: '203.0.113.7',
            user_agent: null,
            created_at: now,
            last_seen_at: now,
            authenticated_at: now,
            expires_at: now + 86_400_000,
            revoked_at: null,
          })),
        )
        .execute()
      for (const host of hosts)
        await tx
          .insertInto('host_sessions')
          .values(
            sessions.map((session, index) => ({
              token_hash: hashToken(tokenAt(host, fresh[index]!)),
              session_id: session,
              host,
              created_at: now,
            })),
          )
          .execute()
    })
    tokens.push(...fresh)
  }
  return tokens
}
