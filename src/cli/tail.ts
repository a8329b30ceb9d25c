import type { Static } from 'typebox'
import type { EventLogPage } from '../events/routes.ts'
import { sleep, systemClock } from '../runtime/clock.ts'
import { printable } from '../telemetry/printable.ts'
import { Unavailable, serviceClient, type ClientOptions } from './service-client.ts'
import { UsageFailure } from './command-failure.ts'
import { interruptible } from './database.ts'
import { coloured, print, tell } from './output.ts'
import { relativeTime, timeForms } from './relative-time.ts'
import { isoTime } from '../runtime/iso-time.ts'

interface TailOptions extends ClientOptions {
  type?: string
  source?: string
  status?: string
  since?: string
}

type Page = Static<typeof EventLogPage>
type Item = Page['data'][number]
type Read = (query: Record<string, string | number | undefined>) => Promise<Page>

/** Milliseconds between two looks, and at most after a look that failed. */
const pause = 1_000
const longestPause = 10_000
/** Pages of the newest events that are looked at for a status. */
const mostPages = 10

/** Prints events as they arrive, or as they get the wanted status, until Ctrl-C. It goes on when the service comes back. */
export async function tail(options: TailOptions): Promise<void> {
  const client = serviceClient(options)
  const { type, source, status } = options
  const since = options.since === undefined ? undefined : readSince(options.since)
  await interruptible(async (interrupt) => {
    const { signal } = interrupt
    // A reader that has enough, as `head` does, closes the pipe.
    process.stdout.on('error', () => interrupt.abort())
    const read: Read = (query) =>
      client.read('/events', { type, source, status, since, limit: 100, ...query }, { signal })
    const look = status === undefined ? arrivals(read, since) : withStatus(read, since)
    let failures = 0
    while (!signal.aborted) {
      try {
        for (const item of await look()) print(item, line(item))
        if (failures > 0) tell(`${client.service} is available again`)
        failures = 0
      } catch (error) {
        if (signal.aborted) break
        if (!(error instanceof Unavailable)) throw error
        if (failures++ === 0) tell(`${error.message}; trying again until Ctrl-C`)
      }
      await sleep(systemClock, Math.min(pause * 2 ** failures, longestPause), signal).catch(() => undefined)
    }
  })
}

/** Looks for events behind the last one that was seen. At first the last one is the newest, unless `since` is given. */
function arrivals(read: Read, since: string | undefined): () => Promise<Item[]> {
  let cursor = since === undefined ? undefined : 0
  return async () => {
    if (cursor === undefined) {
      const { data } = await read({ order: 'desc', limit: 1, type: undefined, source: undefined })
      cursor = data[0]?.id ?? 0
    }
    const found: Item[] = []
    for (let more = true; more && found.length < 1_000;) {
      const { data, nextCursor }: Page = await read({ cursor })
      found.push(...data)
      cursor = nextCursor ?? data.at(-1)?.id ?? cursor
      more = nextCursor !== null
    }
    return found
  }
}

/** Looks through the newest events of the status. An old event may get it at any time, so that no position can be kept. */
function withStatus(read: Read, since: string | undefined): () => Promise<Item[]> {
  let seen: Set<number> | undefined
  return async () => {
    const found: Item[] = []
    let cursor: number | undefined
    for (let page = 0; page < mostPages; page++) {
      const { data, nextCursor }: Page = await read({ order: 'desc', cursor })
      const fresh = data.filter(({ id }) => !seen?.has(id))
      found.push(...fresh)
      if (nextCursor === null || (data.length > 0 && fresh.length === 0)) break
      cursor = nextCursor
    }
    const first = seen === undefined
    seen ??= new Set()
    for (const { id } of found) seen.add(id)
    return first && since === undefined ? [] : found.toReversed()
  }
}

function line({ createdAt, direction, status, type, source, eventId }: Item): string {
  const colour = status === 'failed' ? 'red' : status === 'retrying' ? 'yellow' : 'gray'
  const from = source === null ? direction : `${direction} from ${source}`
  return `${createdAt}  ${coloured(colour, status.padEnd(9))}  ${printable(`${type}  ${eventId}  ${from}`)}\n`
}

/** `30s`, `10m`, `2h`, `1d`, or a time that the service reads. */
function readSince(text: string): string {
  const relative = relativeTime(text)
  if (relative !== undefined) return relative
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new UsageFailure(`--since takes ${timeForms}, not ${text}`)
  return isoTime(time)
}
