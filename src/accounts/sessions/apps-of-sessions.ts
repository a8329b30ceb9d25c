import { buildOnce } from '../../storage/built-once.ts'
import type { Tx } from '../../storage/database.ts'

/**
 * Ends what apps got from browser sessions that were revoked: codes that were not exchanged, and token families, except the user's own with
 * `offline_access` (OpenID Connect Back-Channel Logout 1.0, section 2.7). The apps are notified. Codes come first: an exchange that runs at
 * the same time has then either created its family, which the second step finds, or finds no code.
 */
export async function endAppsOfSessions(
  tx: Tx,
  { userId, sessionIds, now }: { userId: string; sessionIds: readonly string[]; now: number },
): Promise<void> {
  if (sessionIds.length === 0) return
  await tx
    .deleteFrom('authorization_codes')
    .where('user_id', '=', userId)
    .where('session_id', 'in', sessionIds)
    .where('used_at', 'is', null)
    .execute()
  const families = await tx
    .selectFrom('token_families')
    .select(['id', 'scope', 'impersonator_id'])
    .where('session_id', 'in', sessionIds)
    .where('revoked_at', 'is', null)
    .execute()
  if (families.length === 0) return
  const ended = families
    .filter(({ scope, impersonator_id: by }) => by !== null || !hasScope(scope, 'offline_access'))
    .map(({ id }) => id)
  if (ended.length > 0)
    await tx.updateTable('token_families').set({ revoked_at: now }).where('id', 'in', ended).execute()
  await recordLogouts(
    tx,
    families.map(({ id }) => id),
    now,
  )
}

const lockOfCode = buildOnce((db, { codeHash }: { codeHash: Uint8Array }) =>
  db
    .updateTable('sessions')
    .set((eb) => ({ last_seen_at: eb.ref('last_seen_at') }))
    .where('id', '=', (eb) =>
      eb
        .selectFrom('authorization_codes')
        .select('session_id')
        .where('code_hash', '=', codeHash)
        .$castTo<{ session_id: string }>(),
    )
    .where('revoked_at', 'is', null)
    .returning(['id', 'impersonator_id', 'impersonation_reason', 'expires_at']),
)

/**
 * Locks the browser session that a code was issued in, so that it cannot end before the transaction does: otherwise the token family
 * of the code would outlive it. `undefined` when the session was revoked, or when the code has none.
 */
export async function lockSessionOfCode(tx: Tx, codeHash: Uint8Array) {
  return (await tx.executeQuery(lockOfCode(tx, { codeHash }))).rows[0]
}

/** When a user signs in again in the same browser, the new session takes over what apps got from the old one. */
export async function moveAppsOfSession(
  tx: Tx,
  { userId, from, to }: { userId: string; from: string; to: string },
): Promise<void> {
  for (const table of ['authorization_codes', 'token_families'] as const)
    await tx
      .updateTable(table as 'token_families')
      .set({ session_id: to })
      .where('user_id', '=', userId)
      .where('session_id', '=', from)
      .execute()
}

/**
 * Notes that the sign-ins of these token families ended; a worker of the OpenID Provider tells the apps. An app knows the
 * sign-in only if it got an id_token.
 * @param deletedApp where and how to tell an app that is not registered any more
 */
export async function recordLogouts(
  tx: Tx,
  familyIds: readonly string[],
  now: number,
  deletedApp?: { uri: string; algorithm: string },
): Promise<void> {
  if (familyIds.length === 0) return
  const families = await tx
    .selectFrom('token_families')
    .select(['id', 'user_id', 'client_id', 'scope'])
    .where('id', 'in', familyIds)
    .execute()
  const known = families.filter(({ scope }) => hasScope(scope, 'openid'))
  if (known.length === 0) return
  await tx
    .insertInto('backchannel_logouts')
    .values(
      known.map(({ id, user_id, client_id }) => ({
        family_id: id,
        user_id,
        client_id,
        due_at: now,
        claimed_until: null,
        created_at: now,
        uri: deletedApp?.uri ?? null,
        algorithm: deletedApp?.algorithm ?? null,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

function hasScope(scopes: string | null, scope: string): boolean {
  return scopes?.split(' ').includes(scope) === true
}
