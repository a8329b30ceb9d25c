import type { Tx } from '../../storage/database.ts'
import type { Reason } from './reasons.ts'
import { laterOf } from '../activity/activity.ts'

const dayLength = 86_400_000

/** The refusals of one source for one reason. */
export interface RejectedCount {
  readonly source: string
  readonly reason: Reason
  count: number
  /** Milliseconds since 1970. */
  lastAt: number
}

/** Counts in memory until they are written. It has at most one entry for each source and reason. */
export class RejectedCounts {
  #counts = new Map<string, RejectedCount>()

  get size(): number {
    return this.#counts.size
  }

  add({ source, reason, count, lastAt }: Readonly<RejectedCount>): void {
    const key = `${source} ${reason}`
    const known = this.#counts.get(key)
    if (!known) this.#counts.set(key, { source, reason, count, lastAt })
    else {
      known.count += count
      known.lastAt = Math.max(known.lastAt, lastAt)
    }
  }

  /** Returns and resets the counts. Their order is the same in all processes, which lock rows in it. */
  drain(): RejectedCount[] {
    const drained = [...this.#counts].toSorted(([one], [other]) => (one < other ? -1 : 1))
    this.#counts = new Map()
    return drained.map(([, count]) => count)
  }
}

export const dayOf = (time: number): number => time - (time % dayLength)

/** Adds to the counts of the days, and deletes days that ended before `until`. */
export async function writeCounts(tx: Tx, counts: readonly RejectedCount[], until: number): Promise<void> {
  for (const { source, reason, count, lastAt } of counts) {
    await tx
      .insertInto('rejected_counts')
      .values({ day: dayOf(lastAt), source, reason, count, last_at: lastAt })
      .onConflict((conflict) =>
        conflict.columns(['day', 'source', 'reason']).doUpdateSet((eb) => ({
          count: eb('rejected_counts.count', '+', eb.ref('excluded.count')),
          last_at: laterOf('rejected_counts.last_at'),
        })),
      )
      .execute()
  }
  if (until > -Infinity) await tx.deleteFrom('rejected_counts').where('day', '<', dayOf(until)).execute()
}
