import type { Queryable, Tx } from '../../storage/database.ts'

/** Milliseconds after its first use in which a token may be used again: parallel tabs refresh at the same moment. */
export const reuseGrace = 10_000
/** Repeated uses of one token within the grace at most: tabs that a browser opens at its start. */
const mostReplays = 20

/** The family of an unexpired token. */
export async function familyOf(tx: Tx, hash: Uint8Array, now: number): Promise<string | undefined> {
  const row = await tx
    .selectFrom('refresh_tokens')
    .select('family_id')
    .where('token_hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.family_id
}

/** A token, expired or not, with its family. */
export async function findToken(db: Queryable, hash: Uint8Array) {
  return db
    .selectFrom('refresh_tokens')
    .innerJoin('token_families', 'token_families.id', 'refresh_tokens.family_id')
    .selectAll('token_families')
    .select([
      'refresh_tokens.created_at as token_created_at',
      'refresh_tokens.expires_at as token_expires_at',
    ])
    .select(['refresh_tokens.used_at as used_at', 'refresh_tokens.parent_hash as parent_hash'])
    .where('token_hash', '=', hash)
    .executeTakeFirst()
}

/**
 * Records the use of a token whose family is locked. `reused`: its grace is over, or another token of the same parent, or
 * one of its own successors, was used. Then two callers have the same token.
 */
export async function useToken(
  tx: Tx,
  hash: Uint8Array,
  now: number,
  { address = null }: { address?: string | null | undefined },
): Promise<'first' | 'parallel' | 'parallel, other address' | 'reused'> {
  const token = await tx
    .selectFrom('refresh_tokens')
    .select(['parent_hash', 'used_at', 'used_from', 'replays'])
    .where('token_hash', '=', hash)
    .executeTakeFirstOrThrow()
  if (await isRelativeUsed(tx, hash, token)) return 'reused'
  const row = tx.updateTable('refresh_tokens').where('token_hash', '=', hash)
  if (token.used_at === null) {
    await row.set({ used_at: now, used_from: address }).execute()
    return 'first'
  }
  if (token.used_at <= now - reuseGrace || token.replays >= mostReplays) return 'reused'
  await row.set({ replays: token.replays + 1 }).execute()
  return token.used_from === address ? 'parallel' : 'parallel, other address'
}

/** Whether a successor of this token was used, or another successor of its parent. */
export async function isRelativeUsed(
  db: Queryable,
  hash: Uint8Array,
  { parent_hash: parent }: { parent_hash: Uint8Array | null },
): Promise<boolean> {
  const used = await db
    .selectFrom('refresh_tokens')
    .select('token_hash')
    .where('used_at', 'is not', null)
    .where('token_hash', '<>', hash)
    .where('parent_hash', 'in', parent === null ? [hash] : [hash, parent])
    .limit(1)
    .executeTakeFirst()
  return used !== undefined
}
