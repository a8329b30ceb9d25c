import type { AuditOrigin } from '../../accounts/audit/audit.ts'
import { AuditedStore } from '../../accounts/audit/audited-store.ts'
import { Problem } from '../../errors.ts'
import { startJob, type ShownJob } from '../../events/jobs/job.ts'
import type { Tx } from '../../storage/database.ts'
import { holderOf, takeAllowance, type AllowanceKind } from './allowances.ts'
import { isFor, reaches, type Reach } from '../events/audience.ts'
import type { DeliveryFilter } from './delivery-filter.ts'
import { highestId } from './id-streams.ts'
import { lockOwner } from '../subscribers/owner-lock.ts'
import { type ReplayFilter, measure, reopen, endWait } from './replay-step.ts'

/** The most bulk replays that run at a time: for all subscribers of an owner, or for one without an owner. */
const mostRunning = 5

export interface BulkReplay {
  filter: DeliveryFilter
  /** Deliveries per second; `null` for no limit. */
  rate: number | null
  /** The command line starts one job for each subscriber, so it has no limit of jobs. */
  caller: Reach | 'command-line'
}

/** Sends finished deliveries again: the same delivery with the same event id. */
export class Replay extends AuditedStore {
  /**
   * Makes one delivery due now. A finished delivery starts its schedule again. A delivery that waits for a retry gets an
   * attempt now, and its schedule does not change. A delivery with an attempt in flight depends on the outcome of that attempt.
   * Deliveries of a paused subscriber are sent when it is resumed.
   * @throws Problem `not-found`; `conflict` when its subscriber is disabled; `too-many-requests` for an owner
   */
  async one(id: number, reach: Reach, origin: AuditOrigin): Promise<void> {
    const now = this.clock.now()
    await this.database.transaction(async (tx) => {
      const row = await tx
        .selectFrom('deliveries')
        .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
        .leftJoin('idempotency_keys', 'idempotency_keys.event', 'deliveries.event')
        .select([
          'subscribers.status',
          'subscribers.owner',
          'subscribers.id as subscriberId',
          'idempotency_keys.audience',
        ])
        .where('deliveries.id', '=', id)
        .executeTakeFirst()
      const foreign = row && row.owner !== null && !isFor(row.audience, row.owner, false)
      if (!row || !reaches(reach, row.owner) || (foreign && reach !== 'all'))
        throw new Problem('not-found', { detail: 'There is no such delivery.' })
      if (foreign)
        throw new Problem('conflict', { detail: 'The event is not for the owner of this subscriber.' })
      if (row.status === 'disabled')
        throw new Problem('conflict', {
          detail: 'The subscriber is disabled: set its status to active first.',
        })
      if (reach !== 'all') await this.#take(tx, 'replay', row.subscriberId, reach)
      await endWait(tx, [id], now)
      await reopen(tx, [id], now)
      await this.record(tx, {
        action: 'delivery.replayed',
        target: `delivery:${id}`,
        detail: { subscriber: row.subscriberId },
        ...origin,
      })
    })
    this.database.signal('deliveries')
  }

  /** The number of deliveries that a bulk replay would send. @throws Problem `too-many-requests` for an owner */
  async count(
    subscriberId: string,
    { filter, caller }: Pick<BulkReplay, 'filter' | 'caller'>,
  ): Promise<number> {
    if (typeof caller === 'object')
      await this.database.transaction((tx) => this.#take(tx, 'replay-count', subscriberId, caller))
    return (await measure(this.database, subscriberId, filter, this.clock.now())).total
  }

  /**
   * Starts a bulk replay, which a worker performs in steps. If a job with the same filter runs, returns that job: a repeated
   * call sends nothing twice.
   * @throws Problem `conflict` when too many run; `too-many-requests` for an owner
   */
  async start(
    subscriberId: string,
    { filter, rate, caller }: BulkReplay,
    origin: AuditOrigin,
  ): Promise<ShownJob> {
    const asked = { filter, caller }
    const now = this.clock.now()
    // Counting takes long, so it comes between two transactions. The first one keeps calls that would be refused from it.
    const running = await this.database.transaction(async (tx) => {
      const same = await this.#findSame(tx, subscriberId, asked)
      if (!same && typeof caller === 'object') await this.#take(tx, 'replay-count', subscriberId, caller)
      return same
    })
    if (running) return running
    const { total, behind, before } = await measure(this.database, subscriberId, filter, now)
    const job = await this.database.transaction(async (tx) => {
      const same = await this.#findSame(tx, subscriberId, asked)
      if (same) return same
      if (typeof caller === 'object') await this.#take(tx, 'bulk-replay', subscriberId, caller)
      const highest = (await highestId(tx, this.database.engine, { subscriberId })) ?? 0
      const stored: ReplayFilter = { ...filter, upTo: Math.min(highest, before - 1) }
      const begun = await startJob(
        tx,
        { kind: 'replay', subscriberId, filter: stored, total, rate, behind },
        now,
      )
      await this.record(tx, {
        action: 'replay.started',
        target: `job:${begun.id}`,
        detail: { subscriber: subscriberId, status: filter.status ?? 'dead', total },
        ...origin,
      })
      return begun
    })
    this.database.signal('jobs')
    return job
  }

  /** The running job with the same filter. @throws Problem `conflict` if no job has it and too many others run */
  async #findSame(
    tx: Tx,
    subscriberId: string,
    { filter, caller }: Pick<BulkReplay, 'filter' | 'caller'>,
  ): Promise<ShownJob | undefined> {
    const running = await this.#running(tx, subscriberId)
    const same = running.find(
      (job) => job.subscriber_id === subscriberId && isSame(JSON.parse(job.filter) as ReplayFilter, filter),
    )
    if (!same && caller !== 'command-line' && running.length >= mostRunning)
      throw new Problem('conflict', {
        detail: `At most ${mostRunning} bulk replays run at a time: wait for one to end, or cancel one.`,
      })
    return same
  }

  #take(tx: Tx, kind: AllowanceKind, id: string, caller: { owner: string }): Promise<void> {
    const holder = holderOf({ id, ...caller })
    return takeAllowance(this.database.engine, tx, { kind, holder, now: this.clock.now() })
  }

  /** Returns the running jobs of the subscriber and of the others of its owner. Locks, so that two calls cannot both start a job. */
  async #running(tx: Tx, subscriberId: string): Promise<ShownJob[]> {
    const { engine } = this.database
    const ownerOf = tx.selectFrom('subscribers').select('owner').where('id', '=', subscriberId)
    const row = await (engine === 'postgres' ? ownerOf.forNoKeyUpdate() : ownerOf).executeTakeFirst()
    const owner = row?.owner ?? null
    if (owner !== null) await lockOwner(engine, tx, owner)
    const running = tx
      .selectFrom('jobs')
      .selectAll('jobs')
      .where('jobs.status', '=', 'running')
      .where('jobs.kind', '=', 'replay')
      .$narrowType<{ kind: 'replay' }>()
    if (owner === null) return running.where('jobs.subscriber_id', '=', subscriberId).execute()
    return running
      .innerJoin('subscribers', 'subscribers.id', 'jobs.subscriber_id')
      .where('subscribers.owner', '=', owner)
      .execute()
  }
}

function isSame(stored: ReplayFilter, asked: DeliveryFilter): boolean {
  return (
    (stored.status ?? 'dead') === (asked.status ?? 'dead') &&
    stored.eventType === asked.eventType &&
    stored.since === asked.since &&
    stored.until === asked.until
  )
}
