import type { Tx } from '../../storage/database.ts'

/**
 * Makes waiting events due. The retry schedule continues after their failures so far. An event whose handler is running is due
 * already, and its claim prevents a second run.
 */
export async function makeDueNow(tx: Tx, events: readonly number[], now: number): Promise<void> {
  await tx
    .updateTable('event_queue')
    .set({ due_at: now })
    .where('event', 'in', events)
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}
