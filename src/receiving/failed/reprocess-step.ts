import type { JobStep } from '../../events/jobs/worker.ts'
import type { Database, Queryable, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { EventQueueStatus, JobsTable } from '../../storage/tables.ts'
import { advance, orderKeysOf } from '../queue/order-keys.ts'
import type { FailedFilter } from './filter.ts'
import { failedEvents } from './store.ts'
import { type RawBuilder, sql } from 'kysely'

/** Events that one step examines at most: some milliseconds, in which others do not write on SQLite. */
const examinedPerStep = 1_000

/** The events of a job: those that had failed, or were being retried, when it began. */
export interface ReprocessFilter extends FailedFilter {
  /** The newest event of the job. */
  upTo: number
  /** When the job began. An event whose last attempt started later has failed since, and is not part of it. */
  begunAt: number
}

/** What a job would reprocess. */
export interface Measured {
  /** The number of events. */
  total: number
  /** The number behind which they begin, and the newest one; 0 without any. */
  behind: number
  upTo: number
}

/** Counts without a transaction, because it reads all failed events. */
export async function measure(
  { readerAside, engine }: Pick<Database, 'readerAside' | 'engine'>,
  filter: FailedFilter,
): Promise<Measured> {
  const { total, first, last } = await failedEvents(readerAside, engine, filter)
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
  job: Pick<JobsTable, 'filter' | 'position'>,
  { limit, now }: { limit: number; now: number },
): Promise<JobStep> {
  const { upTo, begunAt, ...filter } = JSON.parse(job.filter) as ReprocessFilter
  const range = { after: job.position, upTo, count: examinedPerStep }
  const examined = await failedIdsAfter(tx, engine, filter, range)
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

/** Resets the attempts of failed events. */
export async function giveAllAttempts(
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

interface Range {
  after: number
  upTo: number
  count: number
}

/** Events that one index has in the order of their numbers. */
interface Stream {
  readonly index: string
  readonly where: RawBuilder<unknown>
  /** The columns of the index, by which PostgreSQL orders: then it reads this index and no other. */
  readonly columns: string
}

/**
 * The next numbers of events that have failed or are retried, ascending: at most `count` behind `after`, up to `upTo`. Of the filter
 * it uses only the status and the group, so that it reads at most `count` entries of an index, or of two. Events of a group may be
 * among them that are pending and not retried.
 */
async function failedIdsAfter(
  db: Queryable,
  engine: Engine,
  filter: FailedFilter,
  { after, upTo, count }: Range,
): Promise<number[]> {
  const found: number[] = []
  for (const { index, where, columns } of streamsOf(filter)) {
    const hint = engine === 'sqlite' ? sql.raw(`indexed by ${index}`) : sql``
    const order = sql.raw(engine === 'sqlite' ? 'event' : columns)
    const { rows } = await sql<{ event: number }>`select event from event_queue ${hint}
      where ${where} and event > ${after} and event <= ${upTo} order by ${order} limit ${count}`.execute(db)
    for (const { event } of rows) found.push(event)
  }
  return found.toSorted((a, b) => a - b).slice(0, count)
}

function streamsOf({ status, group }: FailedFilter): Stream[] {
  if (group === undefined) return [status === 'retrying' ? retrying : failed]
  const ofGroup = (one: string): Stream => ({
    index: 'event_queue_of_group',
    where: sql`failure_group = ${group} and status = ${sql.lit(one)}`,
    columns: 'failure_group, status, event',
  })
  if (status === undefined) return [ofGroup('failed'), ofGroup('pending')]
  return [ofGroup(status === 'retrying' ? 'pending' : 'failed')]
}

const failed: Stream = {
  index: 'event_queue_failed',
  where: sql`status = 'failed'`,
  columns: 'event, source, type',
}
const retrying: Stream = {
  index: 'event_queue_retrying',
  where: sql`status = 'pending' and failed_at is not null`,
  columns: 'event, source, type',
}

/**
 * Makes waiting events due. If this run fails, the next attempt is due when it was before: the run uses up no entry of the retry schedule.
 * An event whose handler is running is due already, and its claim prevents a second run.
 */
export async function makeDueNow(tx: Tx, events: readonly number[], now: number): Promise<void> {
  await tx
    .updateTable('event_queue')
    .set((eb) => ({ due_at: now, planned_at: eb.fn.coalesce('planned_at', 'due_at') }))
    .where('event', 'in', events)
    .where('status', '=', 'pending')
    .where('due_at', '>', now)
    .execute()
}
