import type { Queryable } from '../storage/database.ts'
import type { Line, MessageKind } from './message.ts'

/**
 * The lines of a message that still hold when it is sent: later attempts can come an hour after it was written. A condition that ended
 * meanwhile is not told as open, and one that is open again not as over.
 */
export async function currentLines(
  db: Queryable,
  destination: string,
  what: MessageKind,
  lines: readonly Line[],
): Promise<readonly Line[]> {
  const about = lines.flatMap(({ condition }) => condition ?? [])
  if (about.length === 0) return lines
  const told = await db
    .selectFrom('alert_states')
    .select('condition')
    .where('destination_id', '=', destination)
    .where('condition', 'in', about)
    .execute()
  const open = new Set(told.map(({ condition }) => condition))
  const mustBeOpen = what !== 'resolved'
  return lines.filter(({ condition }) => condition === undefined || open.has(condition) === mustBeOpen)
}
