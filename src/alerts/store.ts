import { newId } from '../crypto/ids.ts'
import type { Condition } from './condition.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { AlertDestinationsTable, AlertSendingsTable, AlertStatesTable } from '../storage/tables.ts'
import { storableText } from '../storage/text.ts'
import { subjectOf, type Line, type MessageKind } from './message.ts'

export type SendingRow = Omit<AlertSendingsTable, 'attempts'> & { attempts: number }

/** Milliseconds between two evaluations, by whichever process. */
export const evaluateEvery = 15_000
/** Milliseconds that a condition must be gone before its end is told, so that one that comes and goes is told once. */
export const settlesIn = 60_000
/** Milliseconds after which a message is deleted. */
const retention = 30 * 86_400_000
/** Milliseconds that one attempt may take before another process repeats it. */
const claimTime = 60_000
/** Milliseconds before each further attempt. */
const delays = [30_000, 120_000, 600_000, 3_600_000] as const
export const mostAttempts = delays.length + 1
const longestError = 300
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

/** Compares the conditions with what each destination was told, and writes the messages. Returns their number. */
export async function evaluate(tx: Tx, conditions: readonly Condition[], now: number): Promise<number> {
  const destinations = await tx.selectFrom('alert_destinations').selectAll().orderBy('id').execute()
  const states = await tx.selectFrom('alert_states').selectAll().execute()
  let written = 0
  for (const destination of destinations) {
    const known = new Map(
      states
        .filter((state) => state.destination_id === destination.id)
        .map((state) => [state.condition, state]),
    )
    const wanted = destination.enabled === 1 ? conditions.filter((one) => concerns(destination, one)) : []
    const { opened, repeated, back, gone, resolved } = compare(destination, wanted, known, now)
    await writeStates(tx, destination.id, { opened, repeated, back, gone, resolved, now })
    for (const [what, lines] of [
      ['opened', opened],
      ['repeated', repeated],
      ['resolved', destination.enabled === 1 ? resolved : []],
    ] as const) {
      if (lines.length === 0) continue
      const sending = newSending(destination.id, what, lines, now)
      await tx.insertInto('alert_sendings').values(sending).execute()
      written += 1
    }
  }
  return written
}

/** The identity of a condition. */
const keyOf = ({ kind, about }: Condition): string => `${kind} ${about}`

function concerns(destination: AlertDestinationsTable, { kind, severity }: Condition): boolean {
  if (destination.severity === 'error' && severity !== 'error') return false
  return destination.conditions === null || (JSON.parse(destination.conditions) as string[]).includes(kind)
}

interface Changes {
  opened: Condition[]
  repeated: Condition[]
  /** Present again before their end was told. */
  back: Condition[]
  /** Not present any more, for too short a time to say so. */
  gone: AlertStatesTable[]
  resolved: AlertStatesTable[]
}

function compare(
  { repeat_ms: repeat }: AlertDestinationsTable,
  wanted: readonly Condition[],
  known: ReadonlyMap<string, AlertStatesTable>,
  now: number,
): Changes {
  const changes: Changes = { opened: [], repeated: [], back: [], gone: [], resolved: [] }
  const present = new Set<string>()
  for (const condition of wanted) {
    const key = keyOf(condition)
    const state = known.get(key)
    if (present.has(key)) continue
    present.add(key)
    if (!state) changes.opened.push(condition)
    else if (repeat !== null && now - state.told_at >= repeat) changes.repeated.push(condition)
    else if (state.gone_since !== null) changes.back.push(condition)
  }
  for (const [key, state] of known) {
    if (present.has(key)) continue
    if (state.gone_since === null) changes.gone.push(state)
    else if (now - state.gone_since >= settlesIn) changes.resolved.push(state)
  }
  return changes
}

async function writeStates(
  tx: Tx,
  destination: string,
  { opened, repeated, back, gone, resolved, now }: Changes & { now: number },
): Promise<void> {
  for (const condition of opened) {
    const { text, path, since } = condition
    const row = { destination_id: destination, condition: keyOf(condition), text, path, since }
    await tx
      .insertInto('alert_states')
      .values({ ...row, told_at: now, gone_since: null })
      .execute()
  }
  const update = (condition: string, change: Partial<AlertStatesTable>) =>
    tx
      .updateTable('alert_states')
      .set(change)
      .where('destination_id', '=', destination)
      .where('condition', '=', condition)
      .execute()
  for (const condition of repeated)
    await update(keyOf(condition), { told_at: now, gone_since: null, text: condition.text })
  for (const condition of back) await update(keyOf(condition), { gone_since: null })
  for (const { condition } of gone) await update(condition, { gone_since: now })
  if (resolved.length > 0)
    await tx
      .deleteFrom('alert_states')
      .where('destination_id', '=', destination)
      .where(
        'condition',
        'in',
        resolved.map(({ condition }) => condition),
      )
      .execute()
}

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
    lines: JSON.stringify(lines.map(({ text, since, path }) => ({ text, since, path }))),
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
  result: { error?: string; final?: boolean },
  now: number,
): Promise<'sent' | 'failed' | 'pending'> {
  const delay = result.final === true ? undefined : delays[attempts - 1]
  const status = result.error === undefined ? 'sent' : delay === undefined ? 'failed' : 'pending'
  await tx
    .updateTable('alert_sendings')
    .set({
      status,
      error: result.error === undefined ? null : storableText(result.error, longestError),
      due_at: now + (delay ?? 0),
      finished_at: status === 'pending' ? null : now,
    })
    .where('id', '=', id)
    .execute()
  return status
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
