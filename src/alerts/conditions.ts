import { mostOfAKind, type Attention } from '../http/attention.ts'
import type { Tx } from '../storage/database.ts'
import type { AlertDestinationsTable, AlertStatesTable } from '../storage/tables.ts'
import type { Line } from './deliver.ts'
import { newSending } from './destinations.ts'
import { printable } from '../telemetry/printable.ts'

/** What needs attention, as alerts name it. */
export interface Condition {
  kind: Attention['kind']
  severity: Attention['severity']
  /** The subject, as `topic:id`: with the kind, it identifies the condition. */
  about: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** A sentence without its full stop, in one line. */
  text: string
  /** The path of the page that shows it, below BASE_URL. */
  path: string
}

const pages: Record<Attention['about']['topic'], (id: string) => string> = {
  handler: (id) => `/failures?handler=${encodeURIComponent(id)}`,
  subscriber: (id) => `/subscribers/${encodeURIComponent(id)}`,
  source: (id) => `/sources/${encodeURIComponent(id)}`,
  key: () => '/system/keys',
  worker: () => '/system/queues',
  database: () => '/system/queues',
  spool: () => '/system/queues',
}

export function conditionOf({ kind, severity, text, since, about: { topic, id } }: Attention): Condition {
  return {
    kind,
    severity,
    about: `${topic}:${id}`,
    since,
    // It may quote what a tenant wrote, who must not add lines of their own or turn the direction of ours.
    text: printable(text.replaceAll(/\s+/g, ' ').replace(/\.$/, '')),
    path: `/dashboard${pages[topic](id)}`,
  }
}

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
    const changes = compare(destination, conditions, known, now)
    await writeStates(tx, destination.id, changes, now)
    const messages = {
      opened: changes.opened.map(lineOf),
      repeated: changes.repeated.map(lineOf),
      resolved: changes.resolved,
    } as const
    for (const what of ['opened', 'repeated', 'resolved'] as const) {
      const lines = messages[what]
      if (lines.length === 0) continue
      const sending = newSending(destination.id, what, lines, now)
      await tx.insertInto('alert_sendings').values(sending).execute()
      written += 1
    }
  }
  return written
}

/** The identity of a condition. */
const keyOf = ({ kind, about }: Pick<Condition, 'kind' | 'about'>): string => `${kind} ${about}`
const lineOf = ({ text, since, path, ...identity }: Condition): Line => ({
  text,
  since,
  path,
  condition: keyOf(identity),
})
const kindOf = ({ condition }: AlertStatesTable): string => condition.slice(0, condition.indexOf(' '))

function concerns(
  destination: AlertDestinationsTable,
  kind: string,
  severity: Condition['severity'],
): boolean {
  if (destination.enabled === 0) return false
  if (destination.severity === 'error' && severity !== 'error') return false
  return destination.conditions === null || (JSON.parse(destination.conditions) as string[]).includes(kind)
}

interface Changes {
  /** New, or worse than what was told. */
  opened: Condition[]
  repeated: Condition[]
  /** Present again before their end was told. */
  back: string[]
  /** Not present any more, for too short a time to say so. */
  gone: AlertStatesTable[]
  resolved: AlertStatesTable[]
  /** What the destination does not want to know any more. */
  dropped: AlertStatesTable[]
}

function compare(
  destination: AlertDestinationsTable,
  conditions: readonly Condition[],
  known: ReadonlyMap<string, AlertStatesTable>,
  now: number,
): Changes {
  const changes: Changes = { opened: [], repeated: [], back: [], gone: [], resolved: [], dropped: [] }
  const present = new Map<string, Condition>()
  for (const condition of conditions)
    if (!present.has(keyOf(condition))) present.set(keyOf(condition), condition)
  for (const [key, condition] of present) {
    const state = known.get(key)
    if (!concerns(destination, condition.kind, condition.severity)) continue
    if (!state || (state.severity === 'warning' && condition.severity === 'error'))
      changes.opened.push(condition)
    else if (destination.repeat_ms !== null && now - state.told_at >= destination.repeat_ms)
      changes.repeated.push(condition)
    else if (state.gone_since !== null) changes.back.push(key)
  }
  const cutShort = fullKinds(conditions)
  for (const [key, state] of known) {
    const condition = present.get(key)
    if (condition && concerns(destination, condition.kind, condition.severity)) continue
    if (!concerns(destination, kindOf(state), state.severity)) changes.dropped.push(state)
    // An error that is only a warning now is not over.
    else if (condition || cutShort.has(kindOf(state))) {
      if (state.gone_since !== null) changes.back.push(key)
    } else if (state.gone_since === null) changes.gone.push(state)
    else if (now - state.gone_since >= settlesIn) changes.resolved.push(state)
  }
  return changes
}

/** The kinds of which there may be more than the conditions: what is missing among them may still last. */
function fullKinds(conditions: readonly Condition[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { kind } of conditions) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return new Set([...counts].filter(([, count]) => count >= mostOfAKind).map(([kind]) => kind))
}

async function writeStates(
  tx: Tx,
  destination: string,
  { opened, repeated, back, gone, resolved, dropped }: Changes,
  now: number,
): Promise<void> {
  for (const condition of opened) {
    const { text, path, since, severity } = condition
    const told = { text, path, since, severity, told_at: now, gone_since: null }
    await tx
      .insertInto('alert_states')
      .values({ destination_id: destination, condition: keyOf(condition), ...told })
      .onConflict((conflict) => conflict.columns(['destination_id', 'condition']).doUpdateSet(told))
      .execute()
  }
  const update = (condition: string, change: Partial<AlertStatesTable>) =>
    tx
      .updateTable('alert_states')
      .set(change)
      .where('destination_id', '=', destination)
      .where('condition', '=', condition)
      .execute()
  for (const { text, severity, ...condition } of repeated)
    await update(keyOf(condition), { told_at: now, gone_since: null, text, severity })
  for (const key of back) await update(key, { gone_since: null })
  for (const { condition } of gone) await update(condition, { gone_since: now })
  const over = [...resolved, ...dropped].map(({ condition }) => condition)
  if (over.length > 0)
    await tx
      .deleteFrom('alert_states')
      .where('destination_id', '=', destination)
      .where('condition', 'in', over)
      .execute()
}
