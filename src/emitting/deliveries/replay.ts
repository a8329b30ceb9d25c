import { isDeepStrictEqual } from 'node:util'
import { type AuditOrigin, AuditedStore } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { type ShownJob, startJob, type JobStep } from '../../events/jobs.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { type AllowanceKind, takeAllowance } from './allowances.ts'
import { isFor, isForItsOwner, type Reach, reaches } from '../events/event.ts'
import { type DeliveryFilter, type ResponseClass, sharedConditions, typeOfEvent } from './delivery-log.ts'
import { idsIn } from '../../storage/id-order.ts'
import { deliveryStream } from './id-streams.ts'
import { subscriberDisabled } from '../subscribers/subscriber-rules.ts'
import { lockOwner } from '../subscribers/owner-directory.ts'
import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { DeliveryStatus, Row } from '../../storage/tables.ts'
import { insertRows, newDelivery } from '../events/fan-out.ts'
import { bounds } from './delivery-sources.ts'
import { measureMissing } from './missing.ts'

/** The most bulk replays that run at a time: for all subscribers of an owner, or for one without an owner. */
const mostRunning = 5

/** Selects deliveries to send again. They must meet all given conditions. */
export interface ReplayFilter extends Omit<DeliveryFilter, 'status'> {
  /**
   * Default: `dead`. `failed`: also those that wait for a retry; `any`: also delivered ones. `missing`: instead of deliveries, the events
   * that the subscriber never got but matches now.
   */
  status?: DeliveryStatus | 'failed' | 'any' | 'missing'
  eventTypes?: readonly string[]
  channel?: string
  tag?: string
  responseClass?: ResponseClass
}

interface BulkReplay {
  filter: ReplayFilter
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
   * @throws Problem `not-found`; `conflict` when its subscriber is disabled or the payload was removed; `too-many-requests` for an owner
   */
  async one(id: number, reach: Reach, origin: AuditOrigin): Promise<void> {
    const now = this.clock.now()
    await this.database.transaction(async (tx) => {
      const row = await tx
        .selectFrom('deliveries')
        .innerJoin('subscribers', 'subscribers.id', 'deliveries.subscriber_id')
        .leftJoin('idempotency_keys', 'idempotency_keys.event', 'deliveries.event')
        .leftJoin('event_options', 'event_options.event', 'deliveries.event')
        .select([
          'subscribers.status',
          'subscribers.owner',
          'subscribers.id as subscriberId',
          'idempotency_keys.audience',
          'event_options.expunged_at',
        ])
        .where('deliveries.id', '=', id)
        .executeTakeFirst()
      const foreign = row && row.owner !== null && !isFor(row.audience, row.owner, false)
      if (!row || !reaches(reach, row.owner) || (foreign && reach !== 'all'))
        throw new Problem('not-found', { detail: 'There is no such delivery.' })
      if (foreign)
        throw new Problem('conflict', { detail: 'The event is not for the owner of this subscriber.' })
      if (row.status === 'disabled') throw subscriberDisabled()
      if (row.expunged_at !== null) throw payloadGone()
      await this.#take(tx, 'replay', row.subscriberId, reach)
      await makeDue(tx, [id], now)
      await this.record(tx, {
        action: 'delivery.replayed',
        target: `delivery:${id}`,
        detail: { subscriber: row.subscriberId },
        ...origin,
      })
    })
    this.database.signal('deliveries')
  }

  /**
   * Sends an event to one subscriber, as `one` does, even if the subscriber has no delivery of it yet.
   * @throws Problem as `one`; `conflict` also for an event that is scheduled or was canceled
   */
  async resend(event: number, id: string, reach: Reach, origin: AuditOrigin): Promise<void> {
    const { engine } = this.database
    const delivery = await this.database.transaction(async (tx) => {
      const row = tx.selectFrom('subscribers').select('status').where('id', '=', id)
      // Two calls, or a call and a job, must not both insert a delivery.
      const subscriber = await (engine === 'postgres' ? row.forNoKeyUpdate() : row).executeTakeFirst()
      if (!subscriber) throw new Problem('not-found', { detail: 'There is no endpoint with this ID.' })
      const found = await tx
        .selectFrom('events as e')
        .leftJoin('deliveries as d', (join) =>
          join.onRef('d.event', '=', 'e.id').on('d.subscriber_id', '=', id),
        )
        .leftJoin('scheduled_events as s', 's.event', 'e.id')
        .select(['d.id as delivery', 'e.nonce', 's.deliver_at', 's.released_at', 's.canceled_at'])
        .where('e.id', '=', event)
        .executeTakeFirst()
      if (found && found.delivery !== null) return found.delivery
      if (subscriber.status === 'disabled') throw subscriberDisabled()
      await this.#take(tx, 'replay', id, reach)
      if (!found || found.nonce === null) throw payloadGone()
      // A scheduled event would be sent again at its time.
      if (found.deliver_at !== null && found.released_at === null)
        throw notSent(found.deliver_at, found.canceled_at)
      const now = this.clock.now()
      await insertRows(engine, tx, [newDelivery({ id: event, nonce: found.nonce }, id, now, now)])
      const detail = { subscriber: id }
      await this.record(tx, { action: 'delivery.replayed', target: `event:${event}`, detail, ...origin })
      return undefined
    })
    if (delivery !== undefined) return this.one(delivery, reach, origin)
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
      if (!same) await this.#take(tx, 'replay-count', subscriberId, caller)
      return same
    })
    if (running) return running
    const measureAll = filter.status === 'missing' ? measureMissing : measure
    const { total, behind, upTo } = await measureAll(this.database, subscriberId, filter, now)
    const job = await this.database.transaction(async (tx) => {
      const same = await this.#findSame(tx, subscriberId, asked)
      if (same) return same
      await this.#take(tx, 'bulk-replay', subscriberId, caller)
      const stored: StoredFilter = { ...filter, upTo }
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
      (job) => job.subscriber_id === subscriberId && isSame(JSON.parse(job.filter) as StoredFilter, filter),
    )
    if (!same && caller !== 'command-line' && running.length >= mostRunning)
      throw new Problem('conflict', {
        detail: `At most ${mostRunning} bulk replays run at a time: wait for one to end, or cancel one.`,
      })
    return same
  }

  /** Only the calls of owners are limited. */
  async #take(tx: Tx, kind: AllowanceKind, id: string, caller: BulkReplay['caller']): Promise<void> {
    if (typeof caller !== 'object') return
    await takeAllowance(this.database.engine, tx, { kind, of: { id, ...caller }, now: this.clock.now() })
  }

  /** Returns the running jobs of the subscriber and of the others of its owner. Locks, so that two calls cannot both start a job. */
  async #running(tx: Tx, subscriberId: string): Promise<ShownJob[]> {
    const { engine } = this.database
    const row = tx.selectFrom('subscribers').select('owner').where('id', '=', subscriberId)
    // The owner's lock comes first, as in the removal of an owner.
    const owner = (await row.executeTakeFirst())?.owner ?? null
    if (owner !== null) await lockOwner(engine, tx, owner)
    if (engine === 'postgres') await row.forNoKeyUpdate().execute()
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

function isSame(stored: StoredFilter, asked: ReplayFilter): boolean {
  const standard = { status: 'dead' as const }
  return isDeepStrictEqual({ ...standard, ...stored }, { ...standard, ...asked, upTo: stored.upTo })
}

const payloadGone = (): Problem => new Problem('conflict', { detail: "The event's payload was removed." })

function notSent(deliverAt: number, canceledAt: number | null): Problem {
  const detail =
    canceledAt === null
      ? `The event is scheduled for ${isoTime(deliverAt)} and has not been sent yet.`
      : `The event was canceled at ${isoTime(canceledAt)}.`
  return new Problem('conflict', { detail })
}

/** Deliveries that one step examines at most: some milliseconds, in which others do not write on SQLite. */
const examinedPerStep = 1_000

/** The deliveries, or missing events, of a replay job. It does not include those that are created later. */
export interface StoredFilter extends ReplayFilter {
  /** The highest id of a delivery, or number of an event, that belongs to it. */
  upTo: number
}

export interface Measured {
  /** The number of deliveries; for missing events, an upper limit. */
  total: number
  /** The id behind which they begin, and the last one; 0 without any. */
  behind: number
  upTo: number
}

/** Counts without a transaction, because it reads all deliveries of the subscriber that the time of the filter does not exclude. */
async function measure(
  { slowReader: db }: Database,
  subscriberId: string,
  filter: ReplayFilter,
  now: number,
): Promise<Measured> {
  const range = await bounds(db, 'deliveries', filter)
  const { total, last } = await db
    .selectFrom('deliveries')
    .select((eb) => [eb.fn.countAll<number>().as('total'), eb.fn.max<number | null>('id').as('last')])
    .where('subscriber_id', '=', subscriberId)
    .where('id', '>', range.after)
    .where('id', '<', range.before)
    .where(isReplayable(filter, now))
    .executeTakeFirstOrThrow()
  return { total, behind: range.after, upTo: last ?? 0 }
}

/** SQL for whether the filter selects a delivery of its subscriber. Pending ones only if they wait for a later attempt. */
function isReplayable(filter: ReplayFilter, now: number): RawBuilder<SqlBool> {
  const { status = 'dead', eventType, eventTypes } = filter
  const conditions = [
    sql`(deliveries.status <> 'pending' or deliveries.due_at > ${now})`,
    isForItsOwner,
    ...sharedConditions(filter),
    sql`not exists (select 1 from event_options o where o.event = deliveries.event and o.expunged_at is not null)`,
  ]
  if (status === 'failed')
    conditions.push(sql`(deliveries.status = 'dead'
      or deliveries.status = 'pending' and deliveries.attempts > deliveries.attempts_before)`)
  else if (status !== 'any') conditions.push(sql`deliveries.status = ${sql.lit(status)}`)
  if (!eventType) conditions.push(sql`${typeOfEvent} is not null`)
  if (eventTypes) conditions.push(sql`${typeOfEvent} in (${sql.join(eventTypes)})`)
  for (const name of ['channel', 'tag'] as const)
    if (filter[name] !== undefined) conditions.push(hasOption(`${name}s`, filter[name]))
  return sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

/** SQL for whether a delivery's event has that channel or tag. Neither can contain a quote. */
function hasOption(name: 'channels' | 'tags', text: string): RawBuilder<SqlBool> {
  const column = sql.ref(`o.${name}`)
  return sql<SqlBool>`exists (select 1 from event_options o
    where o.event = deliveries.event and replace(${column}, ${JSON.stringify(text)}, '') <> ${column})`
}

/**
 * Makes deliveries due now. A finished one starts its schedule again. For one that waits, if this attempt fails, the next one is due when it
 * was before, and the number of attempts that are left does not change.
 */
async function makeDue(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  if (ids.length === 0) return
  const chosen = tx.updateTable('deliveries').where('id', 'in', [...ids])
  await chosen
    .set((eb) => ({ due_at: now, planned_at: eb.fn.coalesce('planned_at', 'due_at') }))
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
  await chosen
    .set({
      status: 'pending',
      attempts_before: sql<number>`attempts`,
      planned_at: null,
      due_at: now,
      finished_at: null,
    })
    .where('status', '!=', 'pending')
    .execute()
}

/** Makes the next deliveries of a bulk replay due: at most `limit`, of a bounded number that it examines. */
export async function replayStep(
  engine: Engine,
  tx: Tx,
  job: Row<'jobs'>,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const { upTo, ...filter } = JSON.parse(job.filter) as StoredFilter
  const { status = 'dead' } = filter
  const stream = deliveryStream({
    subscriberId: job.subscriber_id!,
    status: status === 'dead' || status === 'pending' ? status : undefined,
  })
  const rest = { after: job.position, before: upTo + 1 }
  const examined = await idsIn(tx, engine, [stream], { ...rest, count: examinedPerStep, ascending: true })
  if (examined.length === 0) return { count: 0, last: undefined, done: true }
  const rows = await tx
    .selectFrom('deliveries')
    .select('id')
    .where(isOneOf(engine, 'deliveries.id', examined))
    .where(isReplayable(filter, now))
    .orderBy('id')
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  await makeDue(tx, ids, now)
  // Behind the last one, others that were examined may match.
  if (ids.length === limit) return { count: limit, last: ids.at(-1), done: false }
  return { count: ids.length, last: examined.at(-1), done: examined.length < examinedPerStep }
}
