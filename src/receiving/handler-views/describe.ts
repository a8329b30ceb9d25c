import { readSubjectNames } from '../../accounts/audit/subject-names.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isoTime, isoTimeOrNull } from '../../runtime/iso-time.ts'
import type { Database } from '../../storage/database.ts'
import { readActivity, type Activities } from '../activity/read.ts'
import type { RegisteredHandler } from '../handlers/declared-handlers.ts'
import type { PlanOf } from '../handlers/plan.ts'
import type { EventQueue, Kind } from '../queue/store.ts'
import { countFailed, readPaused, readWaiting } from './store.ts'

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

export interface HandlerViewParts {
  database: Database
  clock: Clock
  store: Pick<EventQueue, 'pendingKinds'>
  planOf: PlanOf
  entries: readonly HandlerEntry[]
}

interface Backlog {
  waiting: number
  retrying: number
  failed: number
  oldestDueAt: number | undefined
}

/** Describes all handlers, or one. */
export async function describeHandlers(parts: HandlerViewParts, id?: string) {
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
  { database, store, planOf }: HandlerViewParts,
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
