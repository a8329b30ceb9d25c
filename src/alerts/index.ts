import { createRecordAudit } from '../accounts/audit/audit.ts'
import type { Attention } from '../http/attention.ts'
import type { ModuleParts, ServiceModule } from '../http/service-module.ts'
import { Egress } from '../network/egress.ts'
import { createOutboundAgent } from '../network/outbound-agent.ts'
import { Cursors } from '../paging/cursor.ts'
import { periodicWorker } from '../runtime/periodic-worker.ts'
import { conditionOf, type Condition, evaluate } from './conditions.ts'
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
import { Destinations, claimSendings, finishSending, type SendingRow, sweepSendings } from './destinations.ts'
import { alertRoutes } from './routes.ts'
import { sql } from 'kysely'
import type { Queryable, Tx } from '../storage/database.ts'

interface AlertParts extends ModuleParts {
  /** What needs a person now. */
  attention: () => Promise<readonly Attention[]>
}

/** Notifies people of problems, by e-mail, Slack, Discord or Microsoft Teams (docs/adr/0047-alerts.md). */
export function createAlerts(parts: AlertParts): ServiceModule {
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
  if (!(await database.transaction((tx) => claimRound(tx, now), { priority: 'work' }))) return
  const found = await conditions()
  await database.transaction(
    async (tx) => {
      await lockRound(tx)
      await evaluate(tx, found, now)
      await sweepSendings(tx, now)
    },
    { priority: 'work' },
  )
}

/** Sends a claimed message, and records the result. Returns undefined if its destination was deleted meanwhile. */
async function attempt(parts: AlertRounds, sending: SendingRow): Promise<SendingRow | undefined> {
  const { database, clock, log } = parts
  const result = await tryToSend(parts, sending)
  const row = await database.transaction((tx) => finishSending(tx, sending, result, clock.now()), {
    priority: 'work',
  })
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
