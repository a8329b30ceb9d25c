import { type AuditOrigin, AuditedStore } from '../../accounts/audit/audit.ts'
import { type ShownJob, startJob, type JobStep, JobWorker, type JobWorkerParts } from '../../events/jobs.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import { idsIn, type IdStream } from '../../storage/id-order.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { EventStatus } from '../../events/store.ts'
import { failedEvents, type FailedFilter, findReceived } from './store.ts'
import type { EventQueueStatus, Row } from '../../storage/tables.ts'
import { advance, orderKeysOf } from '../queue/store.ts'
import { sql } from 'kysely'

/** Resets the attempts of failed events, and makes events due that wait for their next attempt. */
export class Reprocessing extends AuditedStore {
  /**
   * Reprocesses one event. A failed one gets all of its attempts again; one that waits for its next attempt becomes due now. Its
   * status is `blocked` while another event of its order key is not processed yet.
   * @throws Problem `not-found`; `conflict` if the event was emitted or is processed; `no-longer-kept`.
   */
  async one(event: number, origin: AuditOrigin): Promise<{ eventId: string; status: EventStatus }> {
    const found = await this.database.transaction(async (tx) => {
      const again = await this.#reprocess(tx, event)
      await this.record(tx, { action: 'event.reprocessed', target: `event:${event}`, ...origin })
      return again
    })
    this.database.signal('event_queue')
    return found
  }

  /** The number of events that a job would reprocess. */
  async count(filter: FailedFilter): Promise<number> {
    return (await measure(this.database, filter)).total
  }

  /** Creates a job. A worker carries it out in steps. */
  async start(filter: FailedFilter, origin: AuditOrigin): Promise<ShownJob> {
    const now = this.clock.now()
    // Counting takes long, so it comes before the transaction.
    const { total, behind, upTo } = await measure(this.database, filter)
    const job = await this.database.transaction(async (tx) => {
      const stored: ReprocessFilter = { ...filter, upTo, begunAt: now }
      const begun = await startJob(tx, { kind: 'reprocess', filter: stored, total, behind }, now)
      await this.record(tx, {
        action: 'reprocess.started',
        target: `job:${begun.id}`,
        detail: { filter: Object.keys(filter).join(','), total },
        ...origin,
      })
      return begun
    })
    this.database.signal('jobs')
    return job
  }

  async #reprocess(tx: Tx, event: number): Promise<{ eventId: string; status: EventStatus }> {
    const { engine } = this.database
    const now = this.clock.now()
    const { status, eventId } = await findReceived(engine, tx, event)
    if (status === 'failed') await giveAllAttempts(engine, tx, [event], now)
    else await makeDueNow(tx, [event], now)
    const after = await tx
      .selectFrom('event_queue')
      .select(['status', 'failed_at'])
      .where('event', '=', event)
      .executeTakeFirstOrThrow()
    const isRetried = after.status === 'pending' && after.failed_at !== null
    return { eventId, status: isRetried ? 'retrying' : after.status }
  }
}

/** The worker that carries out jobs of `Reprocessing.start`. */
export function reprocessWorker(
  parts: Pick<JobWorkerParts, 'database' | 'clock' | 'log' | 'perStep'>,
): JobWorker {
  return new JobWorker({
    ...parts,
    name: 'reprocessings',
    kind: 'reprocess',
    step: (tx, job, limit, now) => reprocessStep(parts.database.engine, tx, job, { limit, now }),
    signal: 'event_queue',
  })
}

/** Events that one step examines at most: some milliseconds, in which others do not write on SQLite. */
const examinedPerStep = 1_000

/** The events of a job: those that had failed, or were being retried, when it began. */
interface ReprocessFilter extends FailedFilter {
  /** The newest event of the job. */
  upTo: number
  /** When the job began. An event whose last attempt started later has failed since, and is not part of it. */
  begunAt: number
}

interface Measured {
  /** The number of events. */
  total: number
  /** The number behind which they begin, and the newest one; 0 without any. */
  behind: number
  upTo: number
}

/** Counts without a transaction, because it reads all failed events. */
async function measure(
  { slowReader, engine }: Pick<Database, 'slowReader' | 'engine'>,
  filter: FailedFilter,
): Promise<Measured> {
  const { total, first, last } = await failedEvents(slowReader, engine, filter)
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.min<number | null>('event_queue.event').as('first'),
      eb.fn.max<number | null>('event_queue.event').as('last'),
    ])
    .executeTakeFirstOrThrow()
  return { total, behind: Math.max(0, (first ?? 0) - 1), upTo: last ?? 0 }
}

/** Makes the next events of a job due: at most `limit`, of a bounded number that it examines. */
export async function reprocessStep(
  engine: Engine,
  tx: Tx,
  job: Pick<Row<'jobs'>, 'filter' | 'position'>,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const { upTo, begunAt, ...filter } = JSON.parse(job.filter) as ReprocessFilter
  const range = { after: job.position, before: upTo + 1 }
  const part = { ...range, count: examinedPerStep, ascending: true }
  const examined = await idsIn(tx, engine, streamsOf(filter), part)
  if (examined.length === 0) return { count: 0, last: undefined, done: true }
  const events = await matching(tx, engine, filter, { examined, begunAt, limit })
  if (events.length > 0) {
    // Each statement changes only the events of its own status; a group has both.
    if (filter.status === 'retrying' || filter.group !== undefined) await makeDueNow(tx, events, now)
    if (filter.status !== 'retrying') await giveAllAttempts(engine, tx, events, now)
  }
  // Behind the last one, others that were examined may match.
  if (events.length === limit) return { count: limit, last: events.at(-1), done: false }
  return { count: events.length, last: examined.at(-1), done: examined.length < examinedPerStep }
}

/** The first of the examined events that match, with their rows locked. */
async function matching(
  tx: Queryable,
  engine: Engine,
  filter: FailedFilter,
  { examined, begunAt, limit }: { examined: readonly number[]; begunAt: number; limit: number },
): Promise<number[]> {
  const rows = await failedEvents(tx, engine, filter)
    .select('event_queue.event')
    .where('event_queue.event', 'in', examined)
    .where('event_queue.failed_at', '<=', begunAt)
    .orderBy('event_queue.event')
    .limit(limit)
    .$if(engine === 'postgres', (query) => query.forUpdate('event_queue'))
    .execute()
  return rows.map(({ event }) => event)
}

async function giveAllAttempts(
  engine: Engine,
  tx: Tx,
  events: readonly number[],
  now: number,
): Promise<void> {
  const again = await tx
    .updateTable('event_queue')
    .set((eb) => ({
      // An event with an order key waits for the pending one of its key; without one, `advance` below starts it.
      status: eb
        .case()
        .when('order_key', 'is', null)
        .then<EventQueueStatus>('pending')
        .else<EventQueueStatus>('blocked')
        .end(),
      // A failed event is only claimed by a dry run. The claim stays until the dry run ends or its lease expires.
      due_at: now,
      failed_at: null,
      attempts_before: eb.ref('attempts'),
      planned_at: null,
      extra_attempts: null,
      // One that has ended processes is still a suspect.
      crashes: eb('crashes', '*', 0),
    }))
    .where('event', 'in', events)
    .where('status', '=', 'failed')
    // Checked again under the lock: the body may have been deleted before the lock was granted.
    .where((eb) => eb.exists(eb.selectFrom('events').select('id').whereRef('id', '=', 'event_queue.event')))
    .returning(['event', 'order_key as orderKey'])
    .execute()
  await advance(engine, tx, orderKeysOf(again))
}

/**
 * Of the filter they use only the status and the group, so that a step reads a bounded number of entries of an index, or of two. Events of
 * a group may be among them that are pending and not retried.
 */
function streamsOf({ status, group }: FailedFilter): IdStream[] {
  if (group === undefined) return [status === 'retrying' ? retrying : failed]
  const ofGroup = (one: 'failed' | 'pending'): IdStream => ({
    ...queue,
    index: 'event_queue_of_group',
    first: { failure_group: sql`${group}`, status: sql.lit(one) },
    where: 'failure_group is not null',
  })
  if (status === undefined) return [ofGroup('failed'), ofGroup('pending')]
  return [ofGroup(status === 'retrying' ? 'pending' : 'failed')]
}

const queue = { table: 'event_queue', id: 'event', first: {} } as const
const rest = ['source', 'type']
const failed: IdStream = { ...queue, index: 'event_queue_failed', rest, where: `status = 'failed'` }
const retrying: IdStream = {
  ...queue,
  index: 'event_queue_retrying',
  rest,
  where: `status = 'pending' and failed_at is not null`,
}

/**
 * Makes waiting events due. If this run fails, the next attempt is due when it was before: the run uses up no entry of the retry schedule.
 * An event whose handler is running is due already, and its claim prevents a second run.
 */
async function makeDueNow(tx: Tx, events: readonly number[], now: number): Promise<void> {
  await tx
    .updateTable('event_queue')
    .set((eb) => ({ due_at: now, planned_at: eb.fn.coalesce('planned_at', 'due_at') }))
    .where('event', 'in', events)
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}
