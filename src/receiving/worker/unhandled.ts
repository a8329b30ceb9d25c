import type { Database } from '../../storage/database.ts'
import type { EventQueueStatus } from '../../storage/tables.ts'
import { advance, orderKeysOf, type Kind } from '../queue/store.ts'
import { ownWork } from './held-events.ts'

/**
 * Milliseconds that due events wait for a process that has a handler for them. In a rolling deploy, the other processes may have
 * one: those of the new release do, or those of the old one.
 */
export const unhandledWait = 15 * 60_000

/** Events that one short transaction marks. */
const step = 1_000

/** The events of a kind that were marked, by their new status. */
export interface Unhandled extends Kind {
  readonly unhandled: number
  readonly failed: number
}

/**
 * Marks events of a kind without a handler that have been due for `unhandledWait`, up to 1,000 of them: those that failed before as
 * `failed`, so that they can be run again, the others as processed without an attempt, which is `unhandled`.
 */
export async function markUnhandled(
  database: Database,
  { source, type }: Kind,
  now: number,
): Promise<Unhandled> {
  return database.transaction(async (tx) => {
    const marked = await tx
      .updateTable('event_queue')
      .set((eb) => {
        // One that was given all attempts again has no `failed_at`.
        const hasNotFailed = eb.and([eb('failed_at', 'is', null), eb('attempts_before', '=', 0)])
        const ifUnhandled = eb.case().when(hasNotFailed)
        return {
          status: ifUnhandled.then<EventQueueStatus>('processed').else<EventQueueStatus>('failed').end(),
          processed_at: ifUnhandled.then(now).else(null).end(),
          failed_at: ifUnhandled
            .then(null)
            .else(eb.fn.coalesce('failed_at', eb.val(now)))
            .end(),
          // An attempt that a crash cut off left nothing behind.
          attempts: ifUnhandled.then(0).else(eb.ref('attempts')).end(),
          claim: null,
          leased_until: null,
        }
      })
      .where('event', 'in', (eb) =>
        eb
          .selectFrom('event_queue')
          .select('event')
          .where('status', '=', 'pending')
          .where('source', '=', source)
          .where('type', '=', type)
          .where('due_at', '<=', now - unhandledWait)
          .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
          .orderBy('due_at')
          .limit(step),
      )
      .where('status', '=', 'pending')
      .where((of) => of.or([of('claim', 'is', null), of('leased_until', '<=', now)]))
      .returning(['status', 'order_key as orderKey'])
      .execute()
    await advance(database.engine, tx, orderKeysOf(marked))
    const failed = marked.filter(({ status }) => status === 'failed').length
    return { source, type, unhandled: marked.length - failed, failed }
  }, ownWork)
}
