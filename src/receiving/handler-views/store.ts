import { sql } from 'kysely'
import type { Queryable } from '../../storage/database.ts'
import { pagesOfKinds } from '../worker/due-kinds.ts'
import type { EventQueue, Kind } from '../queue/store.ts'

/** Events of a kind, and failed or retried events in total, that one call counts at most. */
export const mostCounted = { waiting: 1_000, failed: 10_000 }
/** Pages of pending kinds that one call reads at most. */
const mostPages = 3

/** Pending events of a source and type. */
export interface WaitingKind extends Kind {
  /** The earliest due time, in milliseconds since 1970. */
  readonly dueAt: number
  /** At most `mostCounted.waiting`. */
  readonly count: number
}

/** Reads the kinds that have pending events without a lease, and how many have not failed yet. */
export async function readWaiting(
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
export async function countFailed(
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

/** The paused handlers, by id. */
export async function readPaused(reader: Queryable) {
  const rows = await reader.selectFrom('paused_handlers').selectAll().execute()
  return new Map(rows.map((row) => [row.handler, row]))
}
