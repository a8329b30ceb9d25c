import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { AuditedStore } from '../../accounts/audit/audited-store.ts'
import { type ShownJob, startJob } from '../../events/jobs/job.ts'
import { JobWorker, type JobWorkerParts } from '../../events/jobs/worker.ts'
import type { Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { EventStatus } from '../../events/store.ts'
import type { FailedFilter } from './filter.ts'
import {
  giveAllAttempts,
  makeDueNow,
  measure,
  type ReprocessFilter,
  reprocessStep,
} from './reprocess-step.ts'
import { findReceived } from './store.ts'

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
