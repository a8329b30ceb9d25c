import { createRecordAudit } from '../accounts/audit/audit.ts'
import { type Attention, mostOfAKind } from '../http/attention.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Egress } from '../network/egress.ts'
import { createOutboundAgent } from '../network/exchange.ts'
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
import { Destinations, claimSendings, finishSending, sweepSendings, newSending } from './destinations.ts'
import { alertRoutes } from './routes.ts'
import { sql } from 'kysely'
import type { Queryable, Tx } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
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
  const due = await database.reader
    .selectFrom('alert_rounds')
    .select('one')
    .where('due_at', '<=', clock.now())
    .where((eb) => eb.exists(eb.selectFrom('alert_destinations').select('id')))
    .executeTakeFirst()
  if (!due) return
  const found = await conditions()
  const now = clock.now()
  await database.inBackground(async (tx) => {
    if (!(await claimRound(tx, now))) return
    await evaluate(tx, found, now)
    await sweepSendings(tx, now)
  })
}

/** Sends a claimed message, and records the result. Returns undefined if its destination was deleted meanwhile. */
async function attempt(
  parts: AlertRounds,
  sending: Row<'alert_sendings'>,
): Promise<Row<'alert_sendings'> | undefined> {
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
  { destination_id: id, what, subject, lines }: Row<'alert_sendings'>,
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

/**
 * Takes the evaluation that is due for this transaction; false if another process has evaluated meanwhile. Until the transaction ends,
 * others wait here.
 */
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

/** What needs attention, as alerts name it. */
export interface Condition extends Pick<Attention, 'kind' | 'severity' | 'since'> {
  /** The subject, as `topic:id`: with the kind, it identifies the condition. */
  about: string
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

/** Compares the conditions with what each destination was told, and writes new messages. */
async function evaluate(tx: Tx, conditions: readonly Condition[], now: number): Promise<void> {
  const destinations = await tx.selectFrom('alert_destinations').selectAll().orderBy('id').execute()
  const states = await tx.selectFrom('alert_states').selectAll().execute()
  const statesOf = Map.groupBy(states, ({ destination_id }) => destination_id)
  // Of several with one key, the first one counts.
  const present = new Map(conditions.toReversed().map((condition) => [keyOf(condition), condition]))
  const keys = conditions.map(keyOf)
  const ofKind = Map.groupBy(conditions, ({ kind }): string => kind)
  /** Of such a kind there may be more than the conditions: what is missing among them may still last. */
  const isCutShort = (kind: string): boolean => (ofKind.get(kind)?.length ?? 0) >= mostOfAKind
  for (const destination of destinations) {
    const known = new Map(statesOf.get(destination.id)?.map((state) => [state.condition, state]))
    const lines = { opened: [] as Line[], repeated: [] as Line[], resolved: [] as Line[] }
    for (const key of new Set([...keys, ...known.keys()])) {
      const [condition, state] = [present.get(key), known.get(key)]
      const change = changeOf(destination, condition, state, { isCutShort, now })
      if (!change) continue
      const { text, since, path } = (condition ?? state)!
      if (change in lines) lines[change as keyof typeof lines].push({ text, since, path, condition: key })
      await writeState(tx, { destination_id: destination.id, condition: key }, { change, condition, now })
    }
    for (const what of ['opened', 'repeated', 'resolved'] as const)
      if (lines[what].length > 0)
        await tx
          .insertInto('alert_sendings')
          .values(newSending(destination.id, what, lines[what], now))
          .execute()
  }
}

/** The identity of a condition. */
const keyOf = ({ kind, about }: Condition): string => `${kind} ${about}`
const kindOf = (key: string): string => key.slice(0, key.indexOf(' '))

function concerns(
  destination: Row<'alert_destinations'>,
  kind: string,
  severity: Condition['severity'],
): boolean {
  if (destination.enabled === 0) return false
  if (destination.severity === 'error' && severity !== 'error') return false
  return destination.conditions === null || (JSON.parse(destination.conditions) as string[]).includes(kind)
}

type Change =
  /** New, or worse than what was told. */
  | 'opened'
  | 'repeated'
  /** Present again before its end was told. */
  | 'back'
  /** Not present any more, for too short a time to say so. */
  | 'gone'
  | 'resolved'
  /** The destination does not want to know it any more. */
  | 'dropped'

/** What changes for a destination about one condition. @param state what it was told of it */
function changeOf(
  destination: Row<'alert_destinations'>,
  condition: Condition | undefined,
  state: Row<'alert_states'> | undefined,
  { isCutShort, now }: { isCutShort: (kind: string) => boolean; now: number },
): Change | undefined {
  if (condition && concerns(destination, condition.kind, condition.severity)) {
    if (!state || (state.severity === 'warning' && condition.severity === 'error')) return 'opened'
    if (destination.repeat_ms !== null && now - state.told_at >= destination.repeat_ms) return 'repeated'
    return state.gone_since === null ? undefined : 'back'
  }
  if (!state) return undefined
  const kind = kindOf(state.condition)
  if (!concerns(destination, kind, state.severity)) return 'dropped'
  // An error that is only a warning now is not over.
  if (condition || isCutShort(kind)) return state.gone_since === null ? undefined : 'back'
  if (state.gone_since === null) return 'gone'
  return now - state.gone_since >= settlesIn ? 'resolved' : undefined
}

async function writeState(
  tx: Tx,
  key: Pick<Row<'alert_states'>, 'destination_id' | 'condition'>,
  { change, condition, now }: { change: Change; condition: Condition | undefined; now: number },
): Promise<void> {
  const isTold = sql<boolean>`destination_id = ${key.destination_id} and condition = ${key.condition}`
  if (change === 'opened' || change === 'repeated') {
    const { text, path, since, severity } = condition!
    const told = { text, path, since, severity, told_at: now, gone_since: null }
    await tx
      .insertInto('alert_states')
      .values({ ...key, ...told })
      .onConflict((conflict) => conflict.columns(['destination_id', 'condition']).doUpdateSet(told))
      .execute()
  } else if (change === 'gone' || change === 'back') {
    const gone_since = change === 'gone' ? now : null
    await tx.updateTable('alert_states').set({ gone_since }).where(isTold).execute()
  } else await tx.deleteFrom('alert_states').where(isTold).execute()
}
