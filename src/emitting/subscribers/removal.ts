import { startJob, JobWorker, type JobStep, type JobWorkerParts } from '../../events/jobs.ts'
import type { Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { Row } from '../../storage/tables.ts'
import { idsIn } from '../../storage/id-order.ts'
import { deliveryStream } from '../deliveries/id-streams.ts'

/** Deliveries of one step, each with its attempts: few, because a step blocks all other writers of SQLite. */
const perStep = 50

interface RemovalFilter {
  /** The last delivery of the removed subscriber. */
  upTo: number
}

/**
 * Removes a subscriber with its secrets, its statistics and the ownership of its queue, and leaves its deliveries to a job,
 * because there can be millions. Without their subscriber, deliveries are neither sent nor shown.
 * @param now milliseconds since 1970
 */
export async function removeSubscriber(engine: Engine, tx: Tx, id: string, now: number): Promise<void> {
  // Waits for the transactions that insert deliveries for it, because they lock its row. No delivery comes later.
  await tx.deleteFrom('subscribers').where('id', '=', id).execute()
  const all = { after: 0, before: Number.MAX_SAFE_INTEGER }
  const [upTo] = await idsIn(tx, engine, [deliveryStream({ subscriberId: id })], { ...all, count: 1 })
  if (upTo === undefined) return
  const filter: RemovalFilter = { upTo }
  // No call shows the progress of this job, so nothing counts its deliveries.
  await startJob(tx, { kind: 'removal', subscriberId: id, filter, total: 1 }, now)
}

/** The worker that deletes the deliveries of removed subscribers. */
export function removalWorker(parts: Pick<JobWorkerParts, 'database' | 'clock' | 'log'>): JobWorker {
  return new JobWorker({
    ...parts,
    name: 'removals',
    kind: 'removal',
    step: (tx, job, limit) => removalStep(parts.database.engine, tx, job, limit),
    perStep,
  })
}

async function removalStep(engine: Engine, tx: Tx, job: Row<'jobs'>, limit: number): Promise<JobStep> {
  const { upTo } = JSON.parse(job.filter) as RemovalFilter
  const stream = deliveryStream({ subscriberId: job.subscriber_id! })
  const rest = { after: job.position, before: upTo + 1 }
  // Locked, so that an attempt that ends now is recorded before, or finds no delivery.
  const ids = await idsIn(tx, engine, [stream], { ...rest, count: limit, ascending: true, locked: true })
  if (ids.length > 0) {
    await tx.deleteFrom('attempts').where('delivery', 'in', ids).execute()
    await tx.deleteFrom('deliveries').where('id', 'in', ids).execute()
  }
  return { count: ids.length, last: ids.at(-1), done: ids.length < limit }
}
