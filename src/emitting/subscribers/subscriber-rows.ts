import { sql } from 'kysely'
import { Problem } from '../../errors.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { SubscribersTable } from '../../storage/tables.ts'
import { reaches, type Reach } from '../events/audience.ts'

/** For `updated_at`: increases even within a millisecond, because `Destinations` caches by this column. */
export function laterThanBefore(now: number) {
  return sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`
}

/** @throws Problem `not-found`, also outside the caller's reach */
export async function findSubscriber(db: Queryable, id: string, reach: Reach): Promise<SubscribersTable> {
  const row = await db.selectFrom('subscribers').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row || !reaches(reach, row.owner))
    throw new Problem('not-found', { detail: 'There is no endpoint with this ID.' })
  return row
}

/** Locks the row of a subscriber against other changes. SQLite has one writer at a time. */
export async function lockSubscriber(engine: Engine, tx: Tx, id: string): Promise<void> {
  if (engine === 'postgres')
    await tx.selectFrom('subscribers').select('id').where('id', '=', id).forNoKeyUpdate().execute()
}

export function updateSubscriber(
  tx: Tx,
  id: string,
  columns: Partial<SubscribersTable>,
  now: number,
): Promise<SubscribersTable> {
  return tx
    .updateTable('subscribers')
    .set({ ...columns, updated_at: laterThanBefore(now) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Disables a subscriber if it is active and has that address, and with `failing` if it still fails. Returns its row then. */
export function disableSubscriber(
  tx: Tx,
  { id, url, reason, failing }: { id: string; url: string; reason: string; failing: boolean },
  now: number,
): Promise<SubscribersTable | undefined> {
  return tx
    .updateTable('subscribers')
    .set({ status: 'disabled', disabled_reason: reason, updated_at: laterThanBefore(now) })
    .where('id', '=', id)
    .where('url', '=', url)
    .where('status', '=', 'active')
    .$if(failing, (still) => still.where('failing_since', 'is not', null))
    .returningAll()
    .executeTakeFirst()
}
