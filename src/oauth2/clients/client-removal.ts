import type { Database, Tx } from '../../storage/database.ts'

/** Rows that one transaction changes at most, so that other writers do not wait long. */
const batch = 1_000

/**
 * Ends the sign-ins of a deleted client and removes the consents of its users. If the process ends meanwhile, the rest stays
 * without effect, because the client does not exist.
 */
export async function forgetClient(database: Database, clientId: string, now: number): Promise<void> {
  const inSteps = async (step: (tx: Tx) => Promise<number>): Promise<void> => {
    for (let done = batch; done === batch;) done = await database.transaction(step, { priority: 'work' })
  }
  await inSteps((tx) => endFamilies(tx, clientId, now))
  await inSteps((tx) => deleteConsents(tx, clientId))
}

async function endFamilies(tx: Tx, clientId: string, now: number): Promise<number> {
  const some = tx
    .selectFrom('token_families')
    .select('id')
    .where('client_id', '=', clientId)
    .where('revoked_at', 'is', null)
    .limit(batch)
  const ended = tx.updateTable('token_families').set({ revoked_at: now }).where('id', 'in', some)
  return Number((await ended.executeTakeFirst()).numUpdatedRows)
}

async function deleteConsents(tx: Tx, clientId: string): Promise<number> {
  const some = tx.selectFrom('consents').select('user_id').where('client_id', '=', clientId).limit(batch)
  const deleted = tx.deleteFrom('consents').where('client_id', '=', clientId).where('user_id', 'in', some)
  return Number((await deleted.executeTakeFirst()).numDeletedRows)
}
