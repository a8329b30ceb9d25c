import type { Tx } from '../../storage/database.ts'

/**
 * Makes waiting events due. If this run fails, the next attempt is due when it was before: the run uses up no entry of the retry schedule.
 * An event whose handler is running is due already, and its claim prevents a second run.
 */
export async function makeDueNow(tx: Tx, events: readonly number[], now: number): Promise<void> {
  await tx
    .updateTable('event_queue')
    .set((eb) => ({ due_at: now, planned_at: eb.fn.coalesce('planned_at', 'due_at') }))
    .where('event', 'in', events)
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}
