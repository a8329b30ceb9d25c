import type { Insertable } from 'kysely'
import type { Tx } from '../../src/storage/database.ts'
import type { EventQueueTable } from '../../src/storage/tables.ts'

/** The columns of a row of the event queue that a test chooses. */
export type ReceivedRow = Pick<EventQueueTable, 'event_id' | 'source' | 'type'> &
  Partial<Omit<Insertable<EventQueueTable>, 'event'>>

/** Inserts a received event past the service, by default one that is due. Returns its number. */
export async function insertReceived(tx: Tx, row: ReceivedRow): Promise<number> {
  const { event_id, source, type } = row
  const { id: event } = await tx
    .insertInto('events')
    .values({
      event_id,
      source,
      type,
      direction: 'received',
      content_type: 'application/json',
      payload: Buffer.from('{}'),
      headers: null,
      created_at: 0,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const due = { status: 'pending', attempts: 0, attempts_before: 0, due_at: 0 } as const
  await tx
    .insertInto('event_queue')
    .values({ ...due, claim: null, processed_at: null, ...row, event })
    .execute()
  return event
}
