import type { Tx } from '../../storage/database.ts'

/**
 * Makes events due that wait for their time. The retry schedule goes on from their failures so far. An event whose handler
 * is running is due already: its claim keeps others away, so that it is not run twice side by side.
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
