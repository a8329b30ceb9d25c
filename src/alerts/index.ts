import { createRecordAudit } from '../accounts/audit/audit.ts'
import { type Attention, mostOfAKind } from '../http/attention.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Egress } from '../network/egress.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { Cursors } from '../paging/cursor.ts'
import { periodicWorker } from '../runtime/worker.ts'
import {
  createDeliver,
  createMailer,
  type Deliver,
  type Line,
  type MessageKind,
  openTarget,
  Refused,
  subjectOf,
} from './deliver.ts'
import {
  Destinations,
  claimSendings,
  finishSending,
  type SendingRow,
  sweepSendings,
  newSending,
} from './destinations.ts'
import { alertRoutes } from './routes.ts'
import { sql } from 'kysely'
import type { Queryable, Tx } from '../storage/database.ts'
import type { AlertDestinationsTable, Row } from '../storage/tables.ts'
import { printable } from '../telemetry/printable.ts'

/** Notifies people of problems, by e-mail, Slack, Discord or Microsoft Teams (docs/adr/0047-alerts.md). */
export function createAlerts(
  parts: ModuleParts & {
    /** What needs a person now. */
    attention: () => Promise<readonly Attention[]>
  },
): ServiceModule {
  const { configuration, database, keyring, clock } = parts
  // Admins choose the addresses, as those of subscribers without an owner.
  const rules = {
    allowPrivateNetwork: configuration.allowPrivateNetwork,
    ports: configuration.emitPorts,
    networks: configuration.emitAllowedNetworks,
    hosts: configuration.emitAllowedHosts,
  }
  const agent = createOutboundAgent({ ...rules, proxy: configuration.emitProxy })
  const mail = createMailer(configuration)
  const sender = {
    // The port of a demo is known once it listens.
    get name() {
      return `${configuration.brandName} (${new URL(parts.baseUrl()).host})`
    },
    link: (path: string) => parts.baseUrl() + path,
  }
  const deliver = createDeliver(agent, mail, sender)
  const rounds: AlertRounds = {
    ...parts,
    deliver,
    conditions: async () => (await parts.attention()).map(conditionOf),
  }
  const worker = periodicWorker('alerts', clock, evaluateEvery, () => round(rounds))
  const destinations = new Destinations({
    database,
    keyring,
    clock,
    record: createRecordAudit(clock),
    cursors: new Cursors(keyring),
    egress: new Egress(rules),
    hasMail: mail !== undefined,
  })
  return {
    workers: [
      {
        ...worker,
        async stop() {
          await worker.stop()
          await agent.destroy()
        },
      },
    ],
    routes: (app) => alertRoutes(app, { destinations, send: (sending) => attempt(rounds, sending) }),
  }
}

export interface AlertRounds extends Pick<ModuleParts, 'database' | 'keyring' | 'clock' | 'log'> {
  deliver: Deliver
  /** What needs a person now. */
  conditions: () => Promise<readonly Condition[]>
}

/** Messages that one process sends at a time. */
const atOnce = 5

/** One round: compares the conditions with what was told, if that is due, and sends what is to be sent. Does not reject. */
export async function round(parts: AlertRounds): Promise<void> {
  try {
    await evaluateIfDue(parts)
    for (;;) {
      const claimed = await claimSendings(parts.database, parts.clock.now(), atOnce)
      if (claimed.length === 0) return
      await Promise.all(claimed.map((sending) => attempt(parts, sending)))
    }
  } catch (error) {
    // The next round tries again.
    parts.log.warn({ err: error }, 'alerts could not be evaluated or sent')
  }
}

async function evaluateIfDue({ database, clock, conditions }: AlertRounds): Promise<void> {
  const anyone = await database.reader.selectFrom('alert_destinations').select('id').limit(1).execute()
  if (anyone.length === 0) return
  const now = clock.now()
  if (!(await database.inBackground((tx) => claimRound(tx, now)))) return
  const found = await conditions()
  await database.inBackground(async (tx) => {
    await lockRound(tx)
    await evaluate(tx, found, now)
    await sweepSendings(tx, now)
  })
}

/** Sends a claimed message, and records the result. Returns undefined if its destination was deleted meanwhile. */
async function attempt(parts: AlertRounds, sending: SendingRow): Promise<SendingRow | undefined> {
  const { database, clock, log } = parts
  const result = await tryToSend(parts, sending)
  const row = await database.inBackground((tx) => finishSending(tx, sending, result, clock.now()))
  const about = { destination: sending.destination_id, sending: sending.id, attempts: sending.attempts }
  if (row?.status === 'sent') log.info({ ...about, what: sending.what }, 'alert sent')
  else log.warn({ ...about, error: result.error, status: row?.status }, 'alert could not be sent')
  return row
}

async function tryToSend(
  { database, keyring, deliver }: AlertRounds,
  { destination_id: id, what, subject, lines }: SendingRow,
): Promise<{ error?: string; final?: boolean }> {
  const destination = await database.reader
    .selectFrom('alert_destinations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (!destination) return { error: 'the destination was deleted', final: true }
  const written = JSON.parse(lines) as Line[]
  const current = await currentLines(database.reader, id, what, written)
  if (current.length === 0) return { error: 'the problem has changed since', final: true }
  try {
    const message = {
      what,
      subject: current.length === written.length ? subject : subjectOf(what, current),
      lines: current,
    }
    await deliver(openTarget(keyring, destination), message)
    return {}
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    // A test tells its result at once, and is not repeated.
    return { error: text, final: error instanceof Refused || what === 'test' }
  }
}

/**
 * The lines of a message that still hold when it is sent: later attempts can come an hour after it was written. A condition that ended
 * meanwhile is not told as open, and one that is open again not as over.
 */
async function currentLines(
  db: Queryable,
  destination: string,
  what: MessageKind,
  lines: readonly Line[],
): Promise<readonly Line[]> {
  const about = lines.flatMap(({ condition }) => condition ?? [])
  if (about.length === 0) return lines
  const told = await db
    .selectFrom('alert_states')
    .select('condition')
    .where('destination_id', '=', destination)
    .where('condition', 'in', about)
    .execute()
  const open = new Set(told.map(({ condition }) => condition))
  const mustBeOpen = what !== 'resolved'
  return lines.filter(({ condition }) => condition === undefined || open.has(condition) === mustBeOpen)
}

/** Milliseconds between two evaluations, by whichever process. */
export const evaluateEvery = 15_000

/** Takes the next evaluation for this process; false if it is not due. */
async function claimRound(tx: Tx, now: number): Promise<boolean> {
  const claimed = await tx
    .updateTable('alert_rounds')
    .set({ due_at: now + evaluateEvery })
    .where('one', '=', 1)
    .where('due_at', '<=', now)
    .returning('one')
    .executeTakeFirst()
  return claimed !== undefined
}

/**
 * Makes evaluations wait for each other until the end of the transaction. Reading the conditions may take longer than the time between
 * two rounds, so that another process begins one as well: the second one then reads what the first one told.
 */
async function lockRound(tx: Tx): Promise<void> {
  await tx
    .updateTable('alert_rounds')
    .set({ due_at: sql.ref('due_at') })
    .where('one', '=', 1)
    .execute()
}

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

/** Milliseconds that a condition must be gone before its end is announced, so that one that comes and goes leads to one message. */
export const settlesIn = 60_000

/** Compares the conditions with the last messages to each destination, and writes new ones. Returns their number. */
async function evaluate(tx: Tx, conditions: readonly Condition[], now: number): Promise<number> {
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
const kindOf = ({ condition }: Row<'alert_states'>): string => condition.slice(0, condition.indexOf(' '))

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
  gone: Row<'alert_states'>[]
  resolved: Row<'alert_states'>[]
  /** What the destination does not want to know any more. */
  dropped: Row<'alert_states'>[]
}

function compare(
  destination: AlertDestinationsTable,
  conditions: readonly Condition[],
  known: ReadonlyMap<string, Row<'alert_states'>>,
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
  const update = (condition: string, change: Partial<Row<'alert_states'>>) =>
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
