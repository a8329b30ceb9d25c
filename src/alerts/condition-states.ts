import type { Condition } from './condition.ts'
import type { Tx } from '../storage/database.ts'
import type { AlertDestinationsTable, AlertStatesTable } from '../storage/tables.ts'
import { newSending } from './sendings.ts'

/** Milliseconds that a condition must be gone before its end is told, so that one that comes and goes is told once. */
export const settlesIn = 60_000

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
