import { sql } from 'kysely'
import type { Tx } from '../storage/database.ts'

/** Milliseconds between two evaluations, by whichever process. */
export const evaluateEvery = 15_000

/** Milliseconds after which a message is deleted. */
const retention = 30 * 86_400_000

/** Old messages that one round deletes. */
const perSweep = 500

/** Takes the next evaluation for this process; false if it is not due. */
export async function claimRound(tx: Tx, now: number): Promise<boolean> {
  const claimed = await tx
    .updateTable('alert_rounds')
    .set({ due_at: now + evaluateEvery })
    .where('one', '=', 1)
    .where('due_at', '<=', now)
    .returning('one')
    .executeTakeFirst()
  return claimed !== undefined
}

/**
 * Makes evaluations wait for each other until the end of the transaction. Reading the conditions may take longer than the time between
 * two rounds, so that another process begins one as well: the second one then reads what the first one told.
 */
export async function lockRound(tx: Tx): Promise<void> {
  await tx
    .updateTable('alert_rounds')
    .set({ due_at: sql.ref('due_at') })
    .where('one', '=', 1)
    .execute()
}

/** Deletes old messages, a part of them in each call. */
export async function sweepSendings(tx: Tx, now: number): Promise<void> {
  const old = tx
    .selectFrom('alert_sendings')
    .select('id')
    .where('created_at', '<', now - retention)
    .where('status', '!=', 'pending')
    .orderBy('created_at')
    .limit(perSweep)
  await tx.deleteFrom('alert_sendings').where('id', 'in', old).execute()
}
