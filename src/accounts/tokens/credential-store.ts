import { buildOnce } from '../../storage/built-once.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { TokenFamiliesTable } from '../../storage/tables.ts'

/** The credentials of signed-in users: sessions of browsers, and token families of apps. */
type CredentialTable = 'sessions' | 'token_families'

/** Rows that one statement revokes at most: more than a user has. */
const batchSize = 1_000

/** Which of a user's credentials a call is about; all of them without a field. */
export interface CredentialFilter {
  id?: string | undefined
  exceptId?: string | undefined
  /** The provider of the sign-in. */
  provider?: string | undefined
  /** The app; for token families only. */
  clientId?: string | undefined
}

/** The columns that are used here are the same in both tables, except `client_id`. */
const typed = (table: CredentialTable) => table as 'token_families'

const listedColumns = [
  'id',
  'user_id',
  'provider',
  'address',
  'user_agent',
  'created_at',
  'last_seen_at',
  'expires_at',
] as const

/** A session or token family in a list. */
export type ListedCredential = Pick<TokenFamiliesTable, (typeof listedColumns)[number]>

/**
 * A user's live credentials, newest first, as a query.
 * @param idle milliseconds without use after which one expires.
 */
export function selectLiveCredentials(
  db: Queryable,
  table: CredentialTable,
  { userId, now, idle, limit }: { userId: string; now: number; idle: number; limit: number },
) {
  return db
    .selectFrom(typed(table))
    .select(listedColumns)
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where('last_seen_at', '>', now - idle)
    .orderBy('id', 'desc')
    .limit(limit)
}

/** Revokes those of a user's credentials that are not revoked yet. Returns their ids. */
export async function revokeCredentials(
  tx: Tx,
  table: CredentialTable,
  { userId, now, filter }: { userId: string; now: number; filter: CredentialFilter },
): Promise<string[]> {
  const { id, exceptId, provider, clientId } = filter
  let rows = tx
    .updateTable(typed(table))
    .set({ revoked_at: now })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
  if (id !== undefined) rows = rows.where('id', '=', id)
  if (exceptId !== undefined) rows = rows.where('id', '<>', exceptId)
  if (provider !== undefined) rows = rows.where('provider', '=', provider)
  if (clientId !== undefined) rows = rows.where('client_id', '=', clientId)
  return (await rows.returning('id').execute()).map((row) => row.id)
}

interface BeyondLimit {
  userId: string
  now: number
  limit: number
}

const beyondLimit = { sessions: beyondLimitOf('sessions'), token_families: beyondLimitOf('token_families') }

function beyondLimitOf(table: CredentialTable) {
  return buildOnce((db, { userId, now, limit }: BeyondLimit) =>
    db
      .updateTable(typed(table))
      .set({ revoked_at: now })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom(typed(table))
          .select('id')
          .where('user_id', '=', userId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', now)
          .orderBy('last_seen_at', 'desc')
          .orderBy('id', 'desc')
          .limit(batchSize)
          .offset(limit),
      )
      .returning('id'),
  )
}

/** Revokes a user's least recently used credentials, so that `limit` of them remain. Returns their ids. */
export async function revokeBeyondLimit(
  tx: Tx,
  table: CredentialTable,
  selection: BeyondLimit,
): Promise<string[]> {
  const { rows } = await tx.executeQuery(beyondLimit[table](tx, selection))
  return rows.map(({ id }) => id)
}

/** Deletes credentials that are revoked or expired. @param idle milliseconds without use after which one expires. */
export async function deleteEndedCredentials(
  tx: Tx,
  table: CredentialTable,
  { now, idle }: { now: number; idle: number },
): Promise<void> {
  await tx
    .deleteFrom(typed(table))
    .where((eb) =>
      eb.or([
        eb('expires_at', '<=', now),
        eb('last_seen_at', '<=', now - idle),
        eb('revoked_at', 'is not', null),
      ]),
    )
    .execute()
}
