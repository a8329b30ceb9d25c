import type { ModuleParts } from '../http/service-module.ts'
import { DelayedWrites } from '../runtime/delayed-writes.ts'
import type { Queryable, Tx } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'
import { type RawBuilder, sql } from 'kysely'

type ActivityKind = Row<'receiving_activity'>['kind']

const day = 86_400_000

/** Milliseconds of a slot, and for which its counts are stored; those of `rejected` for REJECTED_RETENTION_DAYS. */
export const slots: Readonly<Record<ActivityKind, { length: number; retention: number }>> = {
  source: { length: 900_000, retention: day },
  handler: { length: 900_000, retention: day },
  failure: { length: 3_600_000, retention: 7 * day },
  rejected: { length: day, retention: Infinity },
}

/** Kinds of which all time is counted, too. A group of failures has its own row for that, and there may be many groups. */
const isTotaled = (kind: ActivityKind): boolean => kind === 'source' || kind === 'handler'

/** The slot that counts all time. */
const allTime = 0

/** Milliseconds between two writes, and between two deletions of old slots. */
const interval = 1_000
const purgeEvery = 3_600_000
/** Rows of one statement. */
const perStatement = 100

/** Work that is written in the same transaction as the counts. */
export interface Companion {
  /** Whether it has something to write. */
  readonly pending: boolean
  write(tx: Tx, now: number): Promise<void>
  /** The transaction failed: what was written is to be written with the next counts. Without it, it is lost. */
  undo?(): void
  purge?(tx: Tx, now: number): Promise<void>
}

/** One counter, which costs its caller an addition. */
class Count {
  value = 0
  lastAt = 0
  readonly #onFirst: () => void
  readonly #now: () => number

  constructor(now: () => number, onFirst: () => void) {
    this.#now = now
    this.#onFirst = onFirst
  }

  /** @param at when it was counted, in milliseconds since 1970. Default: now */
  add(by = 1, at = this.#now()): void {
    this.lastAt = Math.max(this.lastAt, at)
    if (this.value === 0) this.#onFirst()
    this.value += by
  }
}

interface ActivityParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  /** Milliseconds for which the counts of rejected webhooks are stored. */
  rejectedRetention: number
}

/**
 * Counts what sources and handlers do, for people: in memory, written once a second, so that no event waits for it. The counts of
 * the last second are lost if the process is killed.
 */
export class Activity {
  readonly #parts: ActivityParts
  readonly #counts = new Map<string, { kind: ActivityKind; name: string; counter: string; count: Count }>()
  readonly #companions: Companion[] = []
  readonly #writes: DelayedWrites
  #purgeAt = 0

  constructor(parts: ActivityParts) {
    this.#parts = parts
    this.#writes = new DelayedWrites(parts.clock, interval, {
      write: () => this.#write(),
      pending: () => this.#isPending(),
    })
  }

  /** The counter of a subject. Callers in a hot path look it up once. */
  of(kind: ActivityKind, name: string, counter: string): Count {
    const key = `${kind} ${counter} ${name}`
    let found = this.#counts.get(key)
    if (!found) {
      const count = new Count(this.#parts.clock.now.bind(this.#parts.clock), () => this.schedule())
      this.#counts.set(key, (found = { kind, name, counter, count }))
    }
    return found.count
  }

  join(companion: Companion): void {
    this.#companions.push(companion)
  }

  schedule(): void {
    this.#writes.schedule()
  }

  close(): Promise<void> {
    return this.#writes.close()
  }

  #isPending(): boolean {
    return (
      this.#companions.some(({ pending }) => pending) ||
      this.#counts.values().some(({ count }) => count.value > 0)
    )
  }

  async #write(): Promise<void> {
    const { database, clock, log, rejectedRetention } = this.#parts
    const now = clock.now()
    const taken = this.#drain()
    const written: Companion[] = []
    const purges = Math.abs(now - this.#purgeAt) >= purgeEvery
    try {
      await database.inBackground(async (tx) => {
        for (const companion of this.#companions.filter(({ pending }) => pending)) {
          written.push(companion)
          await companion.write(tx, now)
        }
        for (let from = 0; from < taken.length; from += perStatement)
          await addCounts(tx, taken.slice(from, from + perStatement))
        if (!purges) return
        await deleteOld(tx, now, rejectedRetention)
        for (const companion of this.#companions) await companion.purge?.(tx, now)
      })
      if (purges) this.#purgeAt = now
    } catch (error) {
      for (const companion of written) companion.undo?.()
      for (const { kind, name, counter, count, slot, last_at } of taken)
        if (slot === allTime || !isTotaled(kind)) this.of(kind, name, counter).add(count, last_at)
      log.debug({ err: error }, 'the activity of sources and handlers could not be stored')
    }
  }

  /** Returns and resets the counts, in the order of the primary key: all processes lock rows in it. */
  #drain(): Row<'receiving_activity'>[] {
    const rows: Row<'receiving_activity'>[] = []
    for (const [key, { kind, name, counter, count }] of this.#counts) {
      if (count.value === 0) continue
      // A write that failed is repeated: then the count may be of an earlier slot than this one.
      const { value, lastAt } = count
      const slot = lastAt - (lastAt % slots[kind].length)
      const row = { kind, name, slot, counter, count: value, last_at: lastAt }
      rows.push(row)
      if (isTotaled(kind)) rows.push({ ...row, slot: allTime })
      else this.#counts.delete(key)
      count.value = 0
    }
    return rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }
}

const orderOf = ({ kind, name, slot, counter }: Row<'receiving_activity'>): string =>
  `${kind}\0${name}\0${String(slot).padStart(16, '0')}\0${counter}`

async function addCounts(tx: Tx, rows: readonly Row<'receiving_activity'>[]): Promise<void> {
  await tx
    .insertInto('receiving_activity')
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns(['kind', 'name', 'slot', 'counter']).doUpdateSet((eb) => ({
        count: eb('receiving_activity.count', '+', eb.ref('excluded.count')),
        last_at: laterOf('receiving_activity.last_at'),
      })),
    )
    .execute()
}

async function deleteOld(tx: Tx, now: number, rejectedRetention: number): Promise<void> {
  const periods = { ...slots, rejected: { length: day, retention: rejectedRetention } }
  for (const [kind, { length, retention }] of Object.entries(periods))
    if (retention !== Infinity)
      await tx
        .deleteFrom('receiving_activity')
        .where('kind', '=', kind as ActivityKind)
        .where('slot', '>', allTime)
        .where('slot', '<', now - retention - length)
        .execute()
}

/** In an upsert, the later of the stored time and the new one. A `case`, because the engines name the function differently. */
export function laterOf(stored: `${'failure_groups' | 'receiving_activity'}.last_at`): RawBuilder<number> {
  const column = sql.ref(stored)
  return sql`case when excluded.last_at > ${column} then excluded.last_at else ${column} end`
}

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
