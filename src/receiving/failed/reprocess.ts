import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { AuditedStore } from '../../accounts/audit/audited-store.ts'
import { startJob, type ShownJob } from '../../events/jobs/job.ts'
import { JobWorker, type JobStep, type JobWorkerParts } from '../../events/jobs/worker.ts'
import type { Queryable, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { EventStatus } from '../../events/store.ts'
import type { EventQueueStatus, JobsTable } from '../../storage/tables.ts'
import { advance } from '../queue/advance.ts'
import { orderKeysOf } from '../queue/order-keys.ts'
import type { FailedFilter } from './filter.ts'
import { makeDueNow } from './run-now.ts'
import { failedEvents, findReceived } from './store.ts'

/** The filter of a job: events that had failed, or were being retried, when it began. */
interface ReprocessFilter extends FailedFilter {
  /** The newest event of the job. */
  upTo: number
}

/** Resets the attempts of failed events, and makes events due that wait for their next attempt. */
export class Reprocessing extends AuditedStore {
  /**
   * Reprocesses one event. A failed one gets all of its attempts again; one that waits for its next attempt becomes due now. Its
   * status is `blocked` while another event of its order key is not processed yet.
   * @throws Problem `not-found`; `conflict` if the event was emitted or is processed; `no-longer-kept`.
   */
  async one(event: number, origin: AuditOrigin): Promise<{ eventId: string; status: EventStatus }> {
    const found = await this.database.transaction(async (tx) => {
      const again = await reprocessOne(this.database.engine, tx, event, this.clock.now())
      await this.record(tx, { action: 'event.reprocessed', target: `event:${event}`, ...origin })
      return again
    })
    this.database.signal('event_queue')
    return found
  }

  /** The number of events that a job would reprocess. */
  async count(filter: FailedFilter): Promise<number> {
    return (await measure(this.database.readerAside, this.database.engine, filter)).total
  }

  /** Creates a job. A worker carries it out in steps. */
  async start(filter: FailedFilter, origin: AuditOrigin): Promise<ShownJob> {
    const job = await this.database.transaction(async (tx) => {
      const { total, upTo } = await measure(tx, this.database.engine, filter)
      const stored: ReprocessFilter = { ...filter, upTo }
      const begun = await startJob(tx, { kind: 'reprocess', filter: stored, total }, this.clock.now())
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
}

/** The worker that carries out jobs of `Reprocessing.begin`. */
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

async function measure(
  db: Queryable,
  engine: Engine,
  filter: FailedFilter,
): Promise<{ total: number; upTo: number }> {
  const row = await failedEvents(db, engine, filter)
    .select((eb) => [
      eb.fn.countAll<number>().as('total'),
      eb.fn.max<number | null>('event_queue.event').as('upTo'),
    ])
    .executeTakeFirstOrThrow()
  return { total: row.total, upTo: row.upTo ?? 0 }
}

/** Makes the next events of a job due. */
export async function reprocessStep(
  engine: Engine,
  tx: Tx,
  job: Pick<JobsTable, 'filter' | 'position'>,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const { upTo, ...filter } = JSON.parse(job.filter) as ReprocessFilter
  const rows = await failedEvents(tx, engine, filter)
    .select('event_queue.event')
    .where('event_queue.event', '>', job.position)
    .where('event_queue.event', '<=', upTo)
    .orderBy('event_queue.event')
    .limit(limit)
    .$if(engine === 'postgres', (query) => query.forUpdate('event_queue'))
    .execute()
  const events = rows.map(({ event }) => event)
  if (events.length > 0) {
    // Each statement changes only the events of its own status; a group has both.
    if (filter.status === 'retrying' || filter.group !== undefined) await makeDueNow(tx, events, now)
    if (filter.status !== 'retrying') await giveAllAttempts(engine, tx, events, now)
  }
  return { count: events.length, last: events.at(-1), done: events.length < limit }
}

async function reprocessOne(
  engine: Engine,
  tx: Tx,
  event: number,
  now: number,
): Promise<{ eventId: string; status: EventStatus }> {
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

/** Resets the attempts of failed events. */
async function giveAllAttempts(
  engine: Engine,
  tx: Tx,
  events: readonly number[],
  now: number,
): Promise<void> {
  const again = await tx
    .updateTable('event_queue')
    .set((eb) => ({
      // An event with an order key waits for the pending one of its key; `advance` below starts it if there is none.
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
    }))
    .where('event', 'in', events)
    .where('status', '=', 'failed')
    // Checked again under the lock: the body may have been deleted before the lock was granted.
    .where((eb) => eb.exists(eb.selectFrom('events').select('id').whereRef('id', '=', 'event_queue.event')))
    .returning(['event', 'order_key as orderKey'])
    .execute()
  await advance(engine, tx, orderKeysOf(again))
}
