import { type AuditOrigin, createRecordAudit } from '../accounts/audit/audit.ts'
import { sleep, systemClock } from '../runtime/clock.ts'
import { type DeliveryFilter, readDeliveryFilter } from '../emitting/deliveries/delivery-log.ts'
import { cancelJobs } from '../emitting/deliveries/jobs.ts'
import { Replay } from '../emitting/deliveries/replay.ts'
import { Problem } from '../errors.ts'
import { readFailedFilter } from '../receiving/failed/store.ts'
import { Reprocessing, reprocessWorker } from '../receiving/failed/reprocess.ts'
import type { Database } from '../storage/database.ts'
import { createLog } from '../telemetry/log.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { print } from './output.ts'
import { showProgress } from './progress.ts'
import type { ReplayToOptions } from './replay-to.ts'
import { relativeTime } from './relative-time.ts'
import { readSettings } from './settings.ts'
import { interruptible, withDatabase } from './database.ts'

export interface ReplayOptions extends Partial<ReplayToOptions> {
  subscriber?: string
  rate?: string
}

/** Options that go with one of the two only. */
const of = { deliveries: ['subscriber', 'rate'], events: ['source', 'error', 'to'] } as const

const byCommand: AuditOrigin = { actor: 'cli' }
const record = createRecordAudit(systemClock)

/** How often the progress of jobs is looked at, in milliseconds. */
const pause = 250

/**
 * Sends dead deliveries again, or runs the handlers of failed or retried events now, all of them or those that the options name. A
 * running service does the work; Ctrl-C cancels what was not begun.
 */
export async function replay(what: 'deliveries' | 'events' | undefined, given: ReplayOptions): Promise<void> {
  const options = withTimes(given)
  const { to } = options
  if (what === undefined && to === undefined) throw new UsageFailure('replay takes deliveries or events')
  const foreign = of[what === 'deliveries' ? 'events' : 'deliveries'].find(
    (name) => options[name] !== undefined,
  )
  if (foreign) throw new UsageFailure(`--${foreign} cannot be used with ${what}`)
  const withoutTo = (['from', 'key', 'secret'] as const).find((name) => options[name] !== undefined)
  if (to === undefined && withoutTo) throw new UsageFailure(`--${withoutTo} needs --to`)
  if (to !== undefined) return (await import('./replay-to.ts')).replayTo({ ...options, to })
  await interruptible(({ signal }) =>
    withDatabase(readSettings(), async (database) => {
      await (what === 'deliveries' ? replayDeliveries : replayEvents)(database, options, signal)
      if (signal.aborted) process.exitCode = exitCodes.interrupted.code
    }),
  )
}

/** With `1d` and the like as the times that they mean. */
function withTimes(options: ReplayOptions): ReplayOptions {
  const times = (['since', 'until'] as const).map((name) => [name, options[name]] as const)
  const relative = times.map(([name, text]) => [name, text && (relativeTime(text) ?? text)])
  return { ...options, ...Object.fromEntries(relative) }
}

async function replayDeliveries(
  database: Database,
  options: ReplayOptions,
  signal: AbortSignal,
): Promise<void> {
  const filter = readFilter(options)
  const rate = readRate(options.rate)
  const subscribers = await database.reader
    .selectFrom('subscribers')
    .select('id')
    .$if(options.subscriber !== undefined, (query) => query.where('id', '=', options.subscriber ?? ''))
    .execute()
  if (options.subscriber !== undefined && subscribers.length === 0)
    throw new CommandFailure(`there is no endpoint ${options.subscriber}`)
  const jobs = new Replay(database, systemClock, record)
  if (options.dryRun) {
    const counts = await Promise.all(
      subscribers.map(({ id }) => jobs.count(id, { filter, caller: 'command-line' })),
    )
    const total = counts.reduce((sum, count) => sum + count, 0)
    print({ total }, `${total} deliveries would be resent\n`)
    return
  }
  const begun = []
  for (const { id } of subscribers)
    begun.push(await jobs.start(id, { filter, rate, caller: 'command-line' }, byCommand))
  const total = begun.reduce((sum, job) => sum + job.total, 0)
  if (total === 0) {
    print({ done: 0, total }, `There are no ${filter.status} deliveries to resend.\n`)
    return
  }
  process.stderr.write(`${total} deliveries: a running service queues them; Ctrl-C cancels the rest\n`)
  const running = begun.filter(({ status }) => status === 'running').map(({ id }) => id)
  await follow(database, running, total, signal)
}

/** Shows the jobs' progress until they end; cancels them when `signal` is aborted. */
async function follow(
  database: Database,
  ids: readonly string[],
  total: number,
  signal: AbortSignal,
): Promise<void> {
  const progress = showProgress(total, 'deliveries queued')
  /** Returns how many jobs are running. */
  const look = async (): Promise<number> => {
    const rows = await database.reader
      .selectFrom('jobs')
      .select(['status', 'done'])
      .where('id', 'in', [...ids])
      .execute()
    progress.update(rows.reduce((sum, { done }) => sum + done, 0))
    return rows.filter(({ status }) => status === 'running').length
  }
  try {
    while ((await look()) > 0) await sleep(systemClock, pause, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    await cancel(database, ids)
    await look()
  } finally {
    progress.stop()
  }
}

async function cancel(database: Database, ids: readonly string[]): Promise<void> {
  await database.transaction((tx) =>
    cancelJobs(tx, ids, { now: systemClock.now(), record, origin: byCommand }),
  )
}

async function replayEvents(database: Database, options: ReplayOptions, signal: AbortSignal): Promise<void> {
  const filter = inWords(() => readFailedFilter({ ...options, type: options.eventType }))
  const reprocessing = new Reprocessing(database, systemClock, record)
  if (options.dryRun) {
    const total = await reprocessing.count(filter)
    print({ total }, `${total} ${total === 1 ? 'event' : 'events'} would be reprocessed\n`)
    return
  }
  const { id, total } = await reprocessing.start(filter, byCommand)
  if (total === 0) {
    print({ done: 0, total }, `There are no ${filter.status ?? 'failed'} events to reprocess.\n`)
    return
  }
  // Done here, so that it is done without a running service too; beside one, both take turns.
  const worker = reprocessWorker({ database, clock: systemClock, log: createLog('warn') })
  const progress = showProgress(total, 'events queued')
  try {
    for (let running = true; running;) {
      if (signal.aborted) await cancel(database, [id])
      else if (!(await worker.step())) await sleep(systemClock, pause)
      const { status, done } = await database.reader
        .selectFrom('jobs')
        .select(['status', 'done'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      progress.update(done)
      running = status === 'running'
    }
  } finally {
    progress.stop()
  }
}

function readFilter({ since, until, eventType, status = 'dead' }: ReplayOptions): DeliveryFilter {
  const filter = inWords(() => readDeliveryFilter({ since, until, eventType, status }))
  if (filter.status === 'pending')
    throw new UsageFailure('pending deliveries will be sent anyway: choose dead or delivered')
  return filter
}

/** @throws CommandFailure instead of a problem that would be an HTTP answer. */
function inWords<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Problem) throw new UsageFailure(error.message)
    throw error
  }
}

/** Deliveries per second, for each subscriber. */
function readRate(text: string | undefined): number | null {
  if (text === undefined) return null
  const rate = Number(text)
  if (!(rate >= 0.01 && rate <= 10_000))
    throw new UsageFailure('--rate takes 0.01 to 10000 deliveries a second')
  return rate
}
