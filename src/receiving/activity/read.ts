import type { Queryable } from '../../storage/database.ts'
import { allTime, slots, type ActivityKind } from './activity.ts'

/** What a subject did. Times are milliseconds since 1970. */
export interface Activities {
  /** The counts of the asked time, by counter. */
  recent: Map<string, number>
  /** When each counter last counted, in all time. */
  lastAt: Map<string, number>
  /** The counts of each slot, the oldest first. */
  slots: { at: number; counts: Record<string, number> }[]
}

/**
 * Reads the counts of the last `period` milliseconds of all subjects of a kind, or of one. A slot that began before counts as a
 * whole.
 */
export async function readActivity(
  reader: Queryable,
  kind: ActivityKind,
  { since, name }: { since: number; name?: string },
): Promise<Map<string, Activities>> {
  const rows = await reader
    .selectFrom('receiving_activity')
    .select(['name', 'slot', 'counter', 'count', 'last_at'])
    .where('kind', '=', kind)
    .$if(name !== undefined, (query) => query.where('name', '=', name!))
    .where((eb) => eb.or([eb('slot', '=', allTime), eb('slot', '>', since - slots[kind].length)]))
    .orderBy('name')
    .orderBy('slot')
    .execute()
  const found = new Map<string, Activities>()
  for (const row of rows) {
    let one = found.get(row.name)
    if (!one) found.set(row.name, (one = { recent: new Map(), lastAt: new Map(), slots: [] }))
    if (row.slot === allTime) {
      one.lastAt.set(row.counter, row.last_at)
      continue
    }
    one.recent.set(row.counter, (one.recent.get(row.counter) ?? 0) + row.count)
    const last = one.slots.at(-1)
    if (last?.at === row.slot) last.counts[row.counter] = row.count
    else one.slots.push({ at: row.slot, counts: { [row.counter]: row.count } })
  }
  return found
}
