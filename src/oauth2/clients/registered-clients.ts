import { Problem } from '../../errors.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { announceClients } from './client-store.ts'

/** Clients that registered themselves at most; parallel registrations may exceed it by a few. */
const mostRegistered = 10_000
/** Milliseconds after which a client that registered itself and was never used is deleted. */
const unusedRetention = 7 * 86_400_000
/** Rows of one transaction at most, so that other writers do not wait long. */
const batch = 1_000

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

/** Deletes registered clients that no user signs in with and no user allowed. */
export async function deleteUnusedRegistrations(database: Database, now: number): Promise<void> {
  for (let deleted = batch; deleted === batch;)
    deleted = await database.transaction(
      async (tx) => {
        const unused = tx
          .selectFrom('clients')
          .select('id')
          .where('origin', '=', 'registration')
          .where('created_at', '<=', now - unusedRetention)
          .where((eb) =>
            eb.not(
              eb.exists(
                eb.selectFrom('token_families').select('id').whereRef('client_id', '=', 'clients.id'),
              ),
            ),
          )
          .where((eb) =>
            eb.not(
              eb.exists(eb.selectFrom('consents').select('user_id').whereRef('client_id', '=', 'clients.id')),
            ),
          )
          .limit(batch)
        const { numDeletedRows } = await tx.deleteFrom('clients').where('id', 'in', unused).executeTakeFirst()
        if (Number(numDeletedRows) > 0) await announceClients(database, tx)
        return Number(numDeletedRows)
      },
      { priority: 'work' },
    )
}
