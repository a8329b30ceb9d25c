import type { RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { announceClients } from './client-store.ts'

/** Clients that registered themselves at most; parallel registrations may exceed it by a few. */
const mostRegistered = 10_000
/** Milliseconds after which a client that registered itself and was never used is deleted. */
const unusedRetention = 7 * 86_400_000
/** Rows of one transaction at most, so that other writers do not wait long. */
const batch = 100

/** @throws Problem `conflict` */
export async function refuseTooMany(tx: Tx, most = mostRegistered): Promise<void> {
  const beyond = await tx
    .selectFrom('clients')
    .select('id')
    .where('origin', '=', 'registration')
    .orderBy('created_at')
    .limit(1)
    .offset(most - 1)
    .executeTakeFirst()
  if (beyond) throw new Problem('conflict', { detail: `${most} apps have registered themselves.` })
}

/**
 * Deletes registered clients that no user signs in with, that no user allowed, and that nobody changed: an admin who changed one
 * wants to keep it, and it may be used without a user. Each deletion is recorded.
 */
export async function deleteUnusedRegistrations(
  database: Database,
  record: RecordAudit,
  now: number,
): Promise<void> {
  for (let deleted = batch; deleted === batch;)
    deleted = await database.transaction((tx) => deleteSome(tx, database, record, now), { priority: 'work' })
}

async function deleteSome(tx: Tx, database: Database, record: RecordAudit, now: number): Promise<number> {
  const unused = tx
    .selectFrom('clients')
    .select('id')
    .where('origin', '=', 'registration')
    .where('created_at', '<=', now - unusedRetention)
    .whereRef('updated_at', '=', 'created_at')
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('token_families').select('id').whereRef('client_id', '=', 'clients.id')),
      ),
    )
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('consents').select('user_id').whereRef('client_id', '=', 'clients.id'))),
    )
    .limit(batch)
  const deleted = await tx
    .deleteFrom('clients')
    .where('id', 'in', unused)
    .returning(['id', 'name', 'confidential'])
    .execute()
  for (const { id, name, confidential } of deleted)
    await record(tx, {
      actor: 'schedule',
      action: 'client.deleted',
      target: `app:${id}`,
      detail: { name, confidential: confidential === 1, reason: 'unused' },
    })
  if (deleted.length > 0) await announceClients(database, tx)
  return deleted.length
}
