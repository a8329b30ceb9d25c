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
  const waiting: WaitingKind[] = []
  for await (const kinds of pagesOfKinds(store, now, mostPages))
    for (const { source, type, dueAt } of kinds) {
      const { count } = await reader
        .selectFrom(
          reader
            .selectFrom('event_queue')
            .select('event')
            .where('status', '=', 'pending')
            .where('source', '=', source)
            .where('type', '=', type)
            .where('failed_at', 'is', null)
            .limit(mostCounted.waiting)
            .as('some'),
        )
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      waiting.push({ source, type, dueAt, count })
    }
  return waiting
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
