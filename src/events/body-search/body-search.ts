import { sql } from 'kysely'
import { Problem } from '../../errors.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import type { Database, SqliteDatabase } from '../../storage/database.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { EventFilter } from '../filter.ts'
import type { EventLog } from '../log.ts'
import { presentEvent } from '../present.ts'
import { conditionsOf } from '../conditions.ts'
import { longestSpooled } from '../search.ts'
import type { BodyQuery } from './body-query.ts'
import { postgresBodies } from './scan.postgres.ts'
import type { BodyScanner, Scanned, Step } from './scan.ts'
import { ThreadClient } from '../../storage/sqlite/thread-client.ts'
import type { ScanTasks } from './scan-sqlite-thread.ts'

/** Searches of one process at once. */
const mostAtOnce = 2
/** Milliseconds between two lines about the progress. */
const progressEvery = 250

export interface BodySearch {
  query: BodyQuery
  filter: EventFilter
  /** Only events below this number; undefined for all. */
  before: number | undefined
  /** Matches at most. */
  limit: number
}

export interface BodySearchParts {
  database: Database
  log: EventLog
}

/** Searches the bodies of events, newest first, in short steps. */
export class BodySearches {
  readonly #parts: BodySearchParts
  readonly #scanner: BodyScanner
  #running = 0

  constructor(parts: BodySearchParts) {
    const { database } = parts
    this.#parts = parts
    this.#scanner = database.engine === 'sqlite' ? sqliteBodies(database) : postgresBodies(database)
  }

  close(): Promise<void> {
    return this.#scanner.close()
  }

  /**
   * Begins a search, which reads while its lines are read, until `closed` is aborted.
   * @returns its lines: JSON, one object each
   * @throws Problem `overloaded` if too many are running
   */
  start(search: BodySearch, closed: AbortSignal): AsyncGenerator<string> {
    // A client that has gone takes no place, because no event would give it back.
    if (closed.aborted) return this.#lines(search, closed)
    if (this.#running >= mostAtOnce)
      throw new Problem('overloaded', { retryAfter: 5, detail: 'Too many searches of bodies are running.' })
    this.#running += 1
    closed.addEventListener('abort', () => (this.#running -= 1), { once: true })
    return this.#lines(search, closed)
  }

  async *#lines(search: BodySearch, closed: AbortSignal): AsyncGenerator<string> {
    const progress = { scanned: 0, matches: 0, position: null as number | null, at: null as string | null }
    const line = (type: string, more: object): string => `${JSON.stringify({ type, ...more })}\n`
    try {
      let told = performance.now()
      for await (const scanned of this.#steps(search, closed)) {
        const found = scanned.matches.slice(0, search.limit - progress.matches)
        const isFull =
          found.length < scanned.matches.length || progress.matches + found.length === search.limit
        progress.scanned += scanned.scanned
        progress.matches += found.length
        progress.position = scanned.through ?? progress.position
        if (scanned.oldest !== null) progress.at = isoTime(scanned.oldest)
        yield found
          .map(({ excerpt, ...row }) => line('match', { event: presentEvent(row), excerpt }))
          .join('')
        if (isFull) {
          yield line('end', { reason: 'limit', ...progress, cursor: found.at(-1)?.id ?? progress.position })
          return
        }
        if (performance.now() - told < progressEvery) continue
        told = performance.now()
        yield line('progress', progress)
      }
      yield line('end', { reason: 'complete', ...progress, cursor: null })
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error
      yield line('end', { reason: 'unavailable', ...progress, cursor: progress.position })
    }
  }

  async *#steps({ query, filter, before, limit }: BodySearch, closed: AbortSignal): AsyncGenerator<Scanned> {
    const conditions = compile(this.#parts.database, filter)
    const step: Step = { query, conditions, before: await this.#start(filter, before), rows: firstStep }
    while (!closed.aborted) {
      const began = performance.now()
      const scanned = await this.#scanner.scan(step)
      yield scanned
      const { through, newest } = scanned
      if (through === undefined) return
      if (filter.since !== undefined && (newest ?? 0) < filter.since - longestSpooled) return
      step.rows = nextStep(step.rows, performance.now() - began)
      step.before = through
      if (limit <= 0) return
    }
  }

  /** The number from which on a search has to look down: no event from there on is older than `until`. */
  async #start({ until }: EventFilter, before = Number.MAX_SAFE_INTEGER): Promise<number> {
    const { database, log } = this.#parts
    const top = Math.min(before, (await log.horizon()) + 1)
    if (until === undefined) return top
    let low = 0
    let high = (await newestBelow(database, top))?.id ?? 0
    // A spooled event has an earlier time than its neighbours, which leads to a higher start and thus misses nothing.
    while (low < high) {
      const middle: number = low + Math.floor((high - low) / 2)
      const found = await newestBelow(database, middle + 1)
      if (found && found.createdAt >= until + longestSpooled) high = middle
      else low = middle + 1
    }
    return Math.min(top, low + 1)
  }
}

async function newestBelow({ reader }: Database, id: number) {
  return reader
    .selectFrom('events')
    .select(['id', 'created_at as createdAt'])
    .where('id', '<', id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

function compile({ reader }: Database, filter: EventFilter): Step['conditions'] {
  const conditions = [sql`1 = 1`, ...conditionsOf(filter)]
  const { sql: text, parameters } = sql`${sql.join(conditions, sql` and `)}`.compile(reader)
  return { text, parameters: parameters as (string | number)[] }
}

/** Events of the first step. Later steps are larger or smaller, so that each takes about `stepTakes` milliseconds. */
const firstStep = 500
const leastStep = 20
const mostStep = 5_000
const stepTakes = 40

/** Events of the next step, after one of `rows` events that took `took` milliseconds. */
function nextStep(rows: number, took: number): number {
  const speed = stepTakes / Math.max(1, took)
  return Math.round(Math.min(mostStep, Math.max(leastStep, rows * Math.min(4, speed))))
}

/** Searches in a thread with a connection of its own, which starts with the first search. */
function sqliteBodies({ opened }: SqliteDatabase): BodyScanner {
  const thread = new ThreadClient<ScanTasks>({
    module: new URL('scan-sqlite-thread.ts', import.meta.url),
    name: 'body search',
    workerData: opened,
    isBackground: true,
  })
  return { scan: (step) => thread.call('scan', step), close: () => thread.close() }
}
