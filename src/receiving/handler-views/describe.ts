import { readSubjectNames } from '../../accounts/audit/audit-log.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Queryable } from '../../storage/database.ts'
import { type Activities, readActivity } from '../activity.ts'
import type { RegisteredHandler } from '../handlers/declared-handlers.ts'
import type { ReceivingRouteParts } from '../routes.ts'
import type { EventQueue, Kind } from '../queue/store.ts'
import { sql } from 'kysely'
import { pagesOfKinds } from '../worker/due-kinds.ts'

/** Milliseconds that count as recent. */
const recently = 3_600_000
const day = 86_400_000
/** What a source without a declared concurrency may run at once in each process. */
const defaultSlots = 8

/** A declared handler, or what forwards the events of a source. */
export interface HandlerEntry {
  readonly handler: RegisteredHandler
  /** For forwarding: the source, and the address without its query. */
  readonly forward?: { readonly source: string; readonly to: string }
}

interface Backlog {
  waiting: number
  retrying: number
  failed: number
  oldestDueAt: number | undefined
}

export async function describeHandlers(parts: ReceivingRouteParts, id?: string) {
  const { database, clock, entries } = parts
  const { readerAside: reader } = database
  const now = clock.now()
  const filter = { since: now - day, ...(id !== undefined && { name: id }) }
  const [paused, activities, backlogs] = await Promise.all([
    readPaused(reader),
    readActivity(reader, 'handler', filter),
    readBacklogs(parts, now),
  ])
  const names = await readSubjectNames(
    database,
    [...paused.values()].map((pause) => pause.paused_by),
  )
  return entries
    .filter(({ handler }) => id === undefined || handler.id === id)
    .map((entry) => {
      const key = entry.handler.id
      const pause = paused.get(key)
      const state = { paused: pause ? viewPause(pause, names) : null }
      return Object.assign(
        viewDeclaration(entry),
        state,
        viewBacklog(backlogs.get(key), now),
        viewActivity(activities.get(key), now),
      )
    })
}

function viewPause(
  { paused_at: at, paused_by: by }: { paused_at: number; paused_by: string | null },
  names: ReadonlyMap<string, string>,
) {
  return { at: isoTime(at), by, byName: names.get(by ?? '') ?? null }
}

function viewDeclaration({ handler, forward }: HandlerEntry) {
  const { id, key, timeout, concurrency, orderBy } = handler
  return {
    id,
    pattern: forward ? '*' : key,
    source: forward?.source ?? null,
    forwardTo: forward?.to ?? null,
    slots: concurrency ?? defaultSlots,
    slotsOf: concurrency === undefined ? ('source and process' as const) : ('all processes' as const),
    timeoutSeconds: timeout / 1000,
    ordered: orderBy !== undefined,
  }
}

function viewBacklog(backlog: Backlog | undefined, now: number) {
  const { waiting = 0, retrying = 0, failed = 0, oldestDueAt } = backlog ?? {}
  const lag = oldestDueAt === undefined ? 0 : Math.max(0, now - oldestDueAt) / 1000
  return { waiting, retrying, failed, lagSeconds: Math.round(lag * 10) / 10 }
}

function viewActivity(activity: Activities | undefined, now: number) {
  const { slots = [], lastAt } = activity ?? {}
  const recent = slots.filter(({ at }) => at > now - recently)
  const sum = (counter: string): number =>
    recent.reduce((total, { counts }) => total + (counts[counter] ?? 0), 0)
  const [handled, failures] = [sum('handled'), sum('failed')]
  return {
    recent: {
      handled,
      failures,
      errorRate: handled + failures === 0 ? null : failures / (handled + failures),
      durationMs: handled === 0 ? null : Math.round(sum('milliseconds') / handled),
    },
    lastHandledAt: isoTimeOrNull(lastAt?.get('handled')),
    lastFailureAt: isoTimeOrNull(lastAt?.get('failed')),
    activity: slots.map(({ at, counts }) => ({
      at: isoTime(at),
      handled: counts['handled'] ?? 0,
      failures: counts['failed'] ?? 0,
      durationMs: counts['handled'] ? Math.round((counts['milliseconds'] ?? 0) / counts['handled']) : null,
    })),
  }
}

/** The pending and failed events of each handler, by its id. An event counts for every handler that matches it. */
async function readBacklogs(
  { database, store, planOf }: ReceivingRouteParts,
  now: number,
): Promise<Map<string, Backlog>> {
  const { readerAside: reader } = database
  const backlogs = new Map<string, Backlog>()
  const each = ({ source, type }: Kind, add: (backlog: Backlog) => void): void => {
    for (const { id } of planOf(source, type).handlers) {
      let found = backlogs.get(id)
      if (!found) backlogs.set(id, (found = { waiting: 0, retrying: 0, failed: 0, oldestDueAt: undefined }))
      add(found)
    }
  }
  for (const kind of await readWaiting(store, reader, now))
    each(kind, (backlog) => {
      backlog.waiting += kind.count
      if (kind.dueAt <= now) backlog.oldestDueAt = Math.min(kind.dueAt, backlog.oldestDueAt ?? kind.dueAt)
    })
  for (const which of ['retrying', 'failed'] as const)
    for (const kind of await countFailed(reader, which))
      each(kind, (backlog) => {
        backlog[which] += kind.count
      })
  return backlogs
}

/** Events of a kind, and failed or retried events in total, that one call counts at most. */
export const mostCounted = { waiting: 1_000, failed: 10_000 }
/** Pages of pending kinds that one call reads at most. */
const mostPages = 3

interface WaitingKind extends Kind {
  /** The earliest due time, in milliseconds since 1970. */
  readonly dueAt: number
  /** At most `mostCounted.waiting`. */
  readonly count: number
}

/** Reads the kinds that have pending events without a lease, and how many have not failed yet. */
async function readWaiting(
  store: Pick<EventQueue, 'pendingKinds'>,
  reader: Queryable,
  now: number,
): Promise<WaitingKind[]> {
  const kinds: Omit<WaitingKind, 'count'>[] = []
  for await (const some of pagesOfKinds(store, now, mostPages)) kinds.push(...some)
  if (kinds.length === 0) return []
  // With one statement, because there can be hundreds.
  const counts = kinds.map(
    ({ source, type }, place) => sql<{ place: number; count: number }>`
      select ${sql.lit(place)} as place, (select count(*) from (select 1 from event_queue
        where status = 'pending' and source = ${source} and type = ${type} and failed_at is null
        limit ${sql.lit(mostCounted.waiting)}) counted) as count`,
  )
  const { rows } = await sql<{ place: number; count: number }>`${sql.join(counts, sql` union all `)}`.execute(
    reader,
  )
  const byPlace = new Map(rows.map(({ place, count }) => [place, count]))
  return kinds.map((kind, place) => Object.assign(kind, { count: byPlace.get(place) ?? 0 }))
}

/** The failed, or the retried events by kind; of more than `mostCounted.failed`, the newest. */
async function countFailed(
  reader: Queryable,
  which: 'failed' | 'retrying',
): Promise<(Kind & { count: number })[]> {
  return reader
    .selectFrom(
      reader
        .selectFrom('event_queue')
        .select(['source', 'type'])
        .$if(which === 'failed', (query) => query.where('status', '=', 'failed'))
        .$if(which === 'retrying', (query) =>
          query.where('status', '=', 'pending').where('failed_at', 'is not', null),
        )
        .orderBy('event', 'desc')
        .limit(mostCounted.failed)
        .as('some'),
    )
    .select(['source', 'type', sql<number>`count(*)`.as('count')])
    .groupBy(['source', 'type'])
    .execute()
}

async function readPaused(reader: Queryable) {
  const rows = await reader.selectFrom('paused_handlers').selectAll().execute()
  return new Map(rows.map((row) => [row.handler, row]))
}
