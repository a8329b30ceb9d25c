import { systemClock } from '../runtime/clock.ts'
import { printable } from '../telemetry/printable.ts'
import { call, textToShow, Unavailable, serviceClient, type ServiceClient } from './service-client.ts'
import { CommandFailure, exitCodes, UsageFailure } from './command-failure.ts'
import { interruptible } from './database.ts'
import { print } from './output.ts'
import { showProgress, type Progress } from './progress.ts'
import { findSource, localSources } from './local-source.ts'

export interface ReplayToOptions {
  to: string
  from?: string
  key?: string
  source?: string
  error?: string
  since?: string
  until?: string
  eventType?: string
  status?: string
  secret?: string
  dryRun?: boolean
}

interface Found {
  id: number
  source: string
}

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
export async function replayTo(options: ReplayToOptions): Promise<void> {
  const { from, key, to, dryRun } = options
  if (from === undefined || key === undefined)
    throw new UsageFailure('--to needs --from, the remote service, and --key, its API key with events:read')
  if (!URL.canParse(to) || !/^https?:$/.test(new URL(to).protocol))
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
      const { headers, body } = findSource(sources, source, options.secret).sign({
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
  const given = Object.entries({ source, error, since, until, status, type, limit: '100' })
  const query = new URLSearchParams(given.filter((entry): entry is [string, string] => !!entry[1]))
  const found: Found[] = []
  for (let more = true; more;) {
    const response = await remote.request(`/events/failed?${query.toString()}`)
    const { data, pageInfo } = (await response.json()) as FoundPage
    found.push(...data)
    if (found.length > mostEvents)
      throw new CommandFailure(
        `there are more than ${mostEvents} events: choose with --since or --event-type`,
      )
    more = pageInfo.nextCursor !== null
    if (pageInfo.nextCursor !== null) query.set('cursor', pageInfo.nextCursor)
  }
  return found.toReversed()
}

interface Shown {
  eventId: string
  type: string
  contentType: string
  headers: Record<string, string> | null
  payload?: unknown
  payloadBase64?: string
}

/** One event with its body, digit for digit. @throws CommandFailure for a body that is no text */
async function readEvent(remote: ServiceClient, id: number) {
  const text = await (await remote.request(`/events/${id}`)).text()
  const { payload, payloadBase64, ...rest } = JSON.parse(text) as Shown
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
