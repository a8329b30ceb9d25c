import { type AuditOrigin, createRecordAudit } from '../accounts/audit/audit.ts'
import { sleep, systemClock } from '../runtime/clock.ts'
import { readReplayFilter } from '../emitting/deliveries/delivery-log.ts'
import { cancelJobs } from '../emitting/deliveries/jobs.ts'
import { Replay, type ReplayFilter } from '../emitting/deliveries/replay.ts'
import type { Static } from 'typebox'
import type { EventDetail } from '../events/routes.ts'
import type { Failed } from '../receiving/failed/routes.ts'
import { Problem } from '../errors.ts'
import { readFailedFilter } from '../receiving/failed/store.ts'
import { Reprocessing, reprocessWorker } from '../receiving/failed/reprocess.ts'
import type { Database } from '../storage/database.ts'
import { createLog } from '../telemetry/log.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { print } from './output.ts'
import { showProgress, type Progress } from './progress.ts'
import { relativeTime } from './relative-time.ts'
import { readSettings } from './settings.ts'
import { interruptible, withDatabase } from './database.ts'
import { printable } from '../telemetry/printable.ts'
import { call, textToShow, Unavailable, serviceClient, type ServiceClient } from './service-client.ts'
import { findSource, localSources } from './local-source.ts'

interface ReplayOptions extends Partial<ReplayToOptions> {
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
  const [since, until] = [withoutUnit(given.since), withoutUnit(given.until)]
  const options = { ...given, since, until }
  const { to } = options
  if (what === undefined && to === undefined) throw new UsageFailure('replay takes deliveries or events')
  const foreign = of[what === 'deliveries' ? 'events' : 'deliveries'].find(
    (name) => options[name] !== undefined,
  )
  if (foreign) throw new UsageFailure(`--${foreign} cannot be used with ${what}`)
  const withoutTo = (['from', 'key', 'secret'] as const).find((name) => options[name] !== undefined)
  if (to === undefined && withoutTo) throw new UsageFailure(`--${withoutTo} needs --to`)
  if (to !== undefined) return replayTo({ ...options, to })
  await interruptible(({ signal }) =>
    withDatabase(readSettings(), async (database) => {
      await (what === 'deliveries' ? replayDeliveries : replayEvents)(database, options, signal)
      if (signal.aborted) process.exitCode = exitCodes.interrupted.code
    }),
  )
}

/** A time, also of `1d` and the like. */
function withoutUnit(text: string | undefined): string | undefined {
  return text && (relativeTime(text) ?? text)
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
    print(
      { done: 0, total },
      `There are no ${filter.status === 'dead' ? 'failed' : filter.status} deliveries to resend.\n`,
    )
    return
  }
  process.stderr.write(`${total} deliveries: a running service queues them; Ctrl-C cancels the rest\n`)
  const running = begun.filter(({ status }) => status === 'running').map(({ id }) => id)
  const wait = (): Promise<unknown> => sleep(systemClock, pause, signal).catch(() => undefined)
  await follow(database, running, wait, { progress: showProgress(total, 'deliveries queued'), signal })
}

/**
 * Shows the jobs' progress until they end; cancels them when `signal` is aborted.
 * @param step waits for the jobs, or does a part of their work
 */
async function follow(
  database: Database,
  ids: readonly string[],
  step: () => Promise<unknown>,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<void> {
  try {
    for (;;) {
      const rows = await database.reader
        .selectFrom('jobs')
        .select(['status', 'done', 'total'])
        .where('id', 'in', [...ids])
        .execute()
      // Of missing events, the total is an upper limit until a job ends.
      const sum = (field: 'done' | 'total') => rows.reduce((all, row) => all + row[field], 0)
      progress.update(sum('done'), sum('total'))
      if (!rows.some(({ status }) => status === 'running')) return
      const context = { now: systemClock.now(), record, origin: byCommand }
      await (signal.aborted ? database.transaction((tx) => cancelJobs(tx, ids, context)) : step())
    }
  } finally {
    progress.stop()
  }
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
  const work = async (): Promise<unknown> => (await worker.step()) || sleep(systemClock, pause)
  await follow(database, [id], work, { progress: showProgress(total, 'events queued'), signal })
}

function readFilter({ since, until, eventType, status = 'dead', dryRun }: ReplayOptions): ReplayFilter {
  const filter = inWords(() => readReplayFilter({ since, until, eventType, status, dryRun }))
  if (filter.status === 'pending')
    throw new UsageFailure('pending deliveries will be sent anyway: choose dead, delivered or missing')
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

interface ReplayToOptions {
  to: string
  from?: string
  key?: string
  source?: string
  error?: string
  since?: string | undefined
  until?: string | undefined
  eventType?: string
  status?: string
  secret?: string
  dryRun?: boolean
}

type Found = Static<typeof Failed>

interface FoundPage {
  data: Found[]
  pageInfo: { nextCursor: string | null }
}

/** Events that one call brings at most. */
const mostEvents = 10_000

/**
 * Sends the failed events of a remote service to the developer's own one, oldest first. Each has the body and the headers that the
 * remote service shows, and a new signature with the secret of the local source of the same name. Ctrl-C stops it.
 */
async function replayTo(options: ReplayToOptions): Promise<void> {
  const { from, key, to, dryRun } = options
  if (from === undefined || key === undefined)
    throw new UsageFailure('--to needs --from, the remote service, and --key, its API key with events:read')
  if (!/^https?:$/.test(URL.parse(to)?.protocol ?? ''))
    throw new UsageFailure(`--to ${to} is not a URL such as http://localhost:3000`)
  const remote = serviceClient({ url: from, key })
  const events = await findFailed(remote, options)
  const total = events.length
  if (dryRun) return print({ total }, `${total} events would be sent to ${to}\n`)
  const sources = await localSources()
  await interruptible(async ({ signal }) => {
    const progress = showProgress(total, 'events sent')
    let sent = 0
    let failed = 0
    for (const { id, source } of events) {
      if (signal.aborted) break
      if (await bring(id, source, progress, signal)) progress.update(++sent)
      else if (!signal.aborted) failed += 1
    }
    progress.stop()
    print({ total, sent, failed }, failed === 0 ? '' : `${failed} events could not be sent\n`)
    const { interrupted, partly, done } = exitCodes
    process.exitCode = (signal.aborted ? interrupted : failed > 0 ? partly : done).code
  })

  /** Whether the event was sent; if not, it says why. */
  async function bring(
    id: number,
    source: string,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const event = await readEvent(remote, id)
      const url = `${to.replace(/\/$/, '')}/webhooks/${source}`
      const { headers, body } = findSource(
        sources,
        source,
        options.secret,
      )({
        ...event,
        now: systemClock.now(),
        data: null,
        url,
      })
      const answer = await call(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      if (answer.ok) return true
      throw new CommandFailure(`${url} returned HTTP ${answer.status} ${await textToShow(answer, 300)}`)
    } catch (error) {
      if (signal.aborted) return false
      if (!(error instanceof CommandFailure) || error instanceof Unavailable) throw error
      progress.say(printable(`event ${id} of ${source}: ${error.message}`))
      return false
    }
  }
}

/** The failed events that the options name, oldest first. */
async function findFailed(remote: ServiceClient, options: ReplayToOptions): Promise<Found[]> {
  const { source, error, since, until, status, eventType: type } = options
  const query = { source, error, since, until, status, type, limit: 100 }
  const found: Found[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { ...query, cursor }
    const { data, pageInfo }: FoundPage = await remote.read('/events/failed', page)
    found.push(...data)
    if (found.length > mostEvents)
      throw new CommandFailure(
        `there are more than ${mostEvents} events: choose with --since or --event-type`,
      )
    cursor = pageInfo.nextCursor
  }
  return found.toReversed()
}

/** One event with its body, digit for digit. @throws CommandFailure for a body that is no text */
async function readEvent(remote: ServiceClient, id: number) {
  const text = await (await remote.request(`/events/${id}`)).text()
  const { payload, payloadBase64, ...rest } = JSON.parse(text) as Static<typeof EventDetail>
  const headers = { ...rest.headers, 'content-type': rest.contentType }
  const common = { id: rest.eventId, type: rest.type, headers }
  if (payloadBase64 !== undefined) {
    const bytes = Buffer.from(payloadBase64, 'base64')
    const raw = bytes.toString('utf8')
    if (!Buffer.from(raw).equals(bytes)) throw new CommandFailure('its body is not text')
    return { ...common, raw }
  }
  // Parsing the body and writing it again would change numbers beyond 2^53. It is the last field.
  const start = `${JSON.stringify(rest).slice(0, -1)},"payload":`
  return { ...common, raw: text.startsWith(start) ? text.slice(start.length, -1) : JSON.stringify(payload) }
}
