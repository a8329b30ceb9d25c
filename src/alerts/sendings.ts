import { newId } from '../crypto/ids.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { AlertSendingsTable } from '../storage/tables.ts'
import { storableText } from '../storage/text.ts'
import { type Line, type MessageKind, subjectOf } from './deliver.ts'

export type SendingRow = Omit<AlertSendingsTable, 'attempts'> & { attempts: number }

/** Milliseconds that one attempt may take before another process repeats it. */
const claimTime = 60_000

/** Milliseconds before each further attempt. */
const delays = [30_000, 120_000, 600_000, 3_600_000] as const

export const mostAttempts = delays.length + 1

const longestError = 300

/** One message for all lines. */
export function newSending(
  destination: string,
  what: MessageKind,
  lines: readonly Line[],
  now: number,
): SendingRow {
  return {
    id: newId(now),
    destination_id: destination,
    what,
    subject: subjectOf(what, lines),
    lines: JSON.stringify(
      lines.map(({ text, since, path, condition }) => ({ text, since, path, condition })),
    ),
    status: 'pending',
    attempts: 0,
    due_at: now,
    error: null,
    created_at: now,
    finished_at: null,
  }
}

/** Takes due messages for this process, at most `most`: each counts as attempted, and is due again if the process ends. */
export async function claimSendings(database: Database, now: number, most: number): Promise<SendingRow[]> {
  const due = await database.reader
    .selectFrom('alert_sendings')
    .select('id')
    .where('status', '=', 'pending')
    .where('due_at', '<=', now)
    .limit(1)
    .execute()
  // Usually nothing is due, so the first read needs no transaction.
  if (due.length === 0) return []
  return database.transaction(
    async (tx) => {
      const ids = tx
        .selectFrom('alert_sendings')
        .select('id')
        .where('status', '=', 'pending')
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .limit(most)
      const locked = await (database.engine === 'postgres' ? ids.forUpdate().skipLocked() : ids).execute()
      if (locked.length === 0) return []
      return tx
        .updateTable('alert_sendings')
        .set((eb) => ({ attempts: eb('attempts', '+', 1), due_at: now + claimTime }))
        .where(
          'id',
          'in',
          locked.map(({ id }) => id),
        )
        .returningAll()
        .execute()
    },
    { priority: 'work' },
  )
}

/** Records the result of an attempt. @param error undefined after a success; `final` if no other attempt follows */
export async function finishSending(
  tx: Tx,
  { id, attempts }: Pick<SendingRow, 'id' | 'attempts'>,
  { error, final }: { error?: string; final?: boolean },
  now: number,
): Promise<SendingRow | undefined> {
  const delay = final === true ? undefined : delays[attempts - 1]
  const status = error === undefined ? 'sent' : delay === undefined ? 'failed' : 'pending'
  return tx
    .updateTable('alert_sendings')
    .set({
      status,
      error: error === undefined ? null : storableText(error, longestError),
      due_at: now + (delay ?? 0),
      finished_at: status === 'pending' ? null : now,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Milliseconds after which a message is deleted. */
const retention = 30 * 86_400_000

/** Old messages that one round deletes. */
const perSweep = 500

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
