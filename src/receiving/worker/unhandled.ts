import type { Database } from '../../storage/database.ts'
import { advance } from '../queue/advance.ts'
import { ownWork } from './held-events.ts'
import { orderKeysOf } from '../queue/order-keys.ts'
import type { Kind } from '../queue/store.ts'

/** Events that one short transaction marks. */
const step = 1_000

/** Marks due events of a kind as processed, after its handler was removed from the configuration. Returns their number. */
export async function markUnhandled(
  database: Database,
  { source, type }: Kind,
  now: number,
): Promise<number> {
  return database.transaction(async (tx) => {
    const marked = await tx
      .updateTable('event_queue')
      .set({ status: 'processed', processed_at: now, claim: null, leased_until: null })
      .where('event', 'in', (eb) =>
        eb
          .selectFrom('event_queue')
          .select('event')
          .where('status', '=', 'pending')
          .where('source', '=', source)
          .where('type', '=', type)
          .where('due_at', '<=', now)
          .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
          .orderBy('due_at')
          .limit(step),
      )
      .where('status', '=', 'pending')
      .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
      .returning('order_key as orderKey')
      .execute()
    await advance(database.engine, tx, orderKeysOf(marked))
    return marked.length
  }, ownWork)
}
