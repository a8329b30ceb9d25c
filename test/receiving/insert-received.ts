import type { Insertable } from 'kysely'
import type { Tx } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

/** The columns of a row of the event queue that a test chooses. */
export type ReceivedRow = Pick<Tables['event_queue'], 'event_id' | 'source' | 'type'> &
  Partial<Omit<Insertable<Tables['event_queue']>, 'event'>>

/** Inserts a received event past the service, by default one that is due. Returns its number. */
export async function insertReceived(tx: Tx, row: ReceivedRow): Promise<number> {
  const [event] = await insertManyReceived(tx, [row])
  return event!
}

/** Inserts up to 2,000 received events by two statements. Returns their numbers in the order of the rows. */
export async function insertManyReceived(tx: Tx, rows: readonly ReceivedRow[]): Promise<number[]> {
  const common = {
    direction: 'received',
    content_type: 'application/json',
    headers: null,
    created_at: 0,
  } as const
  const inserted = await tx
    .insertInto('events')
    .values(
      rows.map(({ event_id, source, type }) => ({
        ...common,
        event_id,
        source,
        type,
        payload: Buffer.from('{}'),
      })),
    )
    .returning('id')
    .execute()
  const numbers = inserted.map(({ id }) => id).toSorted((a, b) => a - b)
  const due = { status: 'pending', attempts: 0, attempts_before: 0, due_at: 0 } as const
  await tx
    .insertInto('event_queue')
    .values(
      rows.map((row, index) => ({ ...due, claim: null, processed_at: null, ...row, event: numbers[index]! })),
    )
    .execute()
  return numbers
}
