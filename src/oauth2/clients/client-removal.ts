import { recordLogouts } from '../../accounts/sessions/apps-of-sessions.ts'
import type { Database, Tx } from '../../storage/database.ts'
import type { Client } from './client.ts'

/** Rows that one transaction changes at most, so that other writers do not wait long. */
const batch = 1_000

/**
 * Adds the address of a client that is deleted to its waiting notices: those who signed out before are still signed out there.
 * Notices that have it are left alone, so that the deletion of a client with many sign-ins does not write them all again at once.
 */
export async function keepLogouts(tx: Tx, client: Client): Promise<void> {
  const { id, backchannelLogoutUri: uri, idTokenAlgorithm: algorithm } = client
  if (uri === undefined) return
  await tx
    .updateTable('backchannel_logouts')
    .set({ uri, algorithm })
    .where('client_id', '=', id)
    .where('uri', 'is', null)
    .execute()
}

/**
 * Ends the sign-ins of a deleted client, tells it so (OpenID Connect Back-Channel Logout), and removes the consents of its users.
 * If the process ends meanwhile, the rest stays without effect, because the client does not exist.
 * @param rows rows of one step
 */
export async function forgetClient(
  database: Database,
  client: Client,
  now: number,
  rows = batch,
): Promise<void> {
  const inSteps = async (step: (tx: Tx) => Promise<number>): Promise<void> => {
    for (let done = rows; done === rows;) done = await database.transaction(step, { priority: 'work' })
  }
  await inSteps((tx) => endFamilies(tx, client, now, rows))
  // Sign-outs that ran at the same time as the deletion added notices without the address.
  await database.transaction((tx) => keepLogouts(tx, client), { priority: 'work' })
  await inSteps((tx) => deleteConsents(tx, client.id, rows))
}

async function endFamilies(tx: Tx, client: Client, now: number, rows: number): Promise<number> {
  const some = tx
    .selectFrom('token_families')
    .select('id')
    .where('client_id', '=', client.id)
    .where('revoked_at', 'is', null)
    .limit(rows)
  const ended = await tx
    .updateTable('token_families')
    .set({ revoked_at: now })
    .where('id', 'in', some)
    .returning('id')
    .execute()
  const { backchannelLogoutUri: uri, idTokenAlgorithm: algorithm } = client
  if (uri !== undefined)
    await recordLogouts(
      tx,
      ended.map(({ id }) => id),
      now,
      { uri, algorithm },
    )
  return ended.length
}

async function deleteConsents(tx: Tx, clientId: string, rows: number): Promise<number> {
  const some = tx.selectFrom('consents').select('user_id').where('client_id', '=', clientId).limit(rows)
  const deleted = tx.deleteFrom('consents').where('client_id', '=', clientId).where('user_id', 'in', some)
  return Number((await deleted.executeTakeFirst()).numDeletedRows)
}
