import { newId } from '../../crypto/ids.ts'
import { hashToken, newToken } from '../../crypto/tokens.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { ClientSecretsTable } from '../../storage/tables.ts'

/** The prefix of every secret, by which secret scanners recognize a leaked one. */
const secretPrefix = 'cs_'
/** Valid secrets of one client at most: a rotation needs the new one and the one before. */
const mostSecrets = 2

/** A secret in a list, without its hash. */
export type ListedSecret = Omit<ClientSecretsTable, 'secret_hash' | 'client_id'>

/** The valid secrets of a client, newest first. */
export async function secretsOfClient(db: Queryable, clientId: string, now: number): Promise<ListedSecret[]> {
  return db
    .selectFrom('client_secrets')
    .select(['id', 'prefix', 'created_at', 'expires_at'])
    .where('client_id', '=', clientId)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .orderBy('id', 'desc')
    .execute()
}

/** Inserts a new secret, and ends older ones after `overlap` milliseconds. The client is locked. */
export async function addSecret(
  tx: Tx,
  clientId: string,
  { now, overlap }: { now: number; overlap: number },
): Promise<{ listed: ListedSecret; secret: string }> {
  const older = await secretsOfClient(tx, clientId, now)
  const remaining = overlap > 0 ? older.slice(0, mostSecrets - 1) : []
  for (const { id } of older.slice(remaining.length)) await removeSecret(tx, clientId, id)
  for (const { id, expires_at: end } of remaining)
    await tx
      .updateTable('client_secrets')
      .set({ expires_at: Math.min(end ?? Infinity, now + overlap) })
      .where('id', '=', id)
      .execute()
  const secret = newToken(secretPrefix)
  const listed: ListedSecret = {
    id: newId(now),
    prefix: secret.slice(0, secretPrefix.length + 4),
    created_at: now,
    expires_at: null,
  }
  const row = { ...listed, client_id: clientId, secret_hash: hashToken(secret) }
  await tx.insertInto('client_secrets').values(row).execute()
  return { listed, secret }
}

/** False if the client has no such secret. */
export async function removeSecret(tx: Tx, clientId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('client_secrets')
    .where('id', '=', id)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return Number(numDeletedRows) > 0
}

export async function deleteEndedSecrets(tx: Tx, now: number): Promise<void> {
  await tx.deleteFrom('client_secrets').where('expires_at', '<=', now).execute()
}
