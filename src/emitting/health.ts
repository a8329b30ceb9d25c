import type { Clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SubscriberHoursTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import { classOf } from './health-summary.ts'

export const hour = 3_600_000
/** How long counts gather in memory, in milliseconds: what a crash can lose of them. */
const flushEvery = 5_000
/** Rows of one statement, and subscribers of one step of the removal of old ones. */
const perStep = 500

export interface HealthParts {
  database: Database
  clock: Clock
  log: Log
  /** How long hours are kept, in milliseconds; Infinity for ever. */
  kept: number
}

/**
 * Counts how attempts end, by subscriber and hour. The counts gather in memory and are added to the table every few
 * seconds: an attempt costs one step into a map, and a statement serves all attempts of a subscriber.
 */
export class Health {
  readonly #parts: HealthParts
  #counts = new Map<string, SubscriberHoursTable>()
  #cancel: (() => void) | undefined
  /** The write of counts that is under way, and how many were begun: what is being written may be in the table or not. */
  #writing: Promise<void> = Promise.resolve()
  #writes = 0
  #sweeping: Promise<void> = Promise.resolve()
  #sweptAt = 0
  #stopped = false

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  record(subscriberId: string, delivered: boolean, durationMs: number): void {
    const { clock } = this.#parts
    const from = Math.floor(clock.now() / hour) * hour
    const durationClass = classOf(durationMs)
    const key = `${subscriberId} ${from} ${durationClass}`
    let counts = this.#counts.get(key)
    if (!counts) {
      counts = {
        subscriber_id: subscriberId,
        hour: from,
        duration_class: durationClass,
        delivered: 0,
        failed: 0,
      }
      this.#counts.set(key, counts)
    }
    if (delivered) counts.delivered += 1
    else counts.failed += 1
    if (!this.#stopped) this.#cancel ??= clock.after(flushEvery, () => this.#flushSoon())
  }

  /** All rows of a subscriber's hours, including those that are not in the table yet. Each attempt is counted once. */
  async read(subscriberId: string, since: number, until: number): Promise<SubscriberHoursTable[]> {
    for (;;) {
      await this.#writing
      const writes = this.#writes
      const unwritten = [...this.#counts.values()].filter(
        (row) => row.subscriber_id === subscriberId && row.hour >= since && row.hour < until,
      )
      const rows = await this.#written(subscriberId, since, until)
      // A write that began meanwhile may have moved counts from memory to the table: they would count twice.
      if (writes === this.#writes) return [...rows, ...unwritten]
    }
  }

  #written(subscriberId: string, since: number, until: number): Promise<SubscriberHoursTable[]> {
    return this.#parts.database.reader
      .selectFrom('subscriber_hours')
      .selectAll()
      .where('subscriber_id', '=', subscriberId)
      .where('hour', '>=', since)
      .where('hour', '<', until)
      .execute()
  }

  /** Writes down what was counted; then nothing gathers any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#sweeping
    await this.#flush()
  }

  #flushSoon(): void {
    this.#cancel = undefined
    this.#sweeping = this.#flush().then(() => this.#sweep())
  }

  #flush(): Promise<void> {
    this.#writes += 1
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** Adds the counts to the table. Never rejects. */
  async #write(): Promise<void> {
    const rows = [...this.#counts.values()]
    this.#counts = new Map()
    // In one order, so that two processes cannot wait for each other.
    rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const { database, log } = this.#parts
    try {
      for (let start = 0; start < rows.length; start += perStep)
        await database.transaction((tx) => this.#add(tx, rows.slice(start, start + perStep)), {
          priority: 'work',
        })
    } catch (error) {
      // They are counts: what was lost is told, and not tried again, since a part may have been written.
      log.error({ err: error, rows: rows.length }, 'counts of attempts could not be written down')
    }
  }

  async #add(tx: Tx, rows: readonly SubscriberHoursTable[]): Promise<void> {
    const ids = [...new Set(rows.map((row) => row.subscriber_id))]
    const present = await tx
      .selectFrom('subscribers')
      .select('id')
      .where('id', 'in', ids)
      .orderBy('id')
      .$if(this.#parts.database.engine === 'postgres', (locking) => locking.forKeyShare())
      .execute()
    // Some may have been removed meanwhile.
    const known = new Set(present.map(({ id }) => id))
    const values = rows.filter((row) => known.has(row.subscriber_id))
    if (values.length === 0) return
    await tx
      .insertInto('subscriber_hours')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['subscriber_id', 'hour', 'duration_class']).doUpdateSet((eb) => ({
          delivered: eb('subscriber_hours.delivered', '+', eb.ref('excluded.delivered')),
          failed: eb('subscriber_hours.failed', '+', eb.ref('excluded.failed')),
        })),
      )
      .execute()
  }

  /** Once an hour: removes what is too old, in short steps. */
  async #sweep(): Promise<void> {
    const { database, clock, log, kept } = this.#parts
    const now = clock.now()
    if (kept === Infinity || now - this.#sweptAt < hour) return
    this.#sweptAt = now
    try {
      while (!this.#stopped) {
        const old = await database.reader
          .selectFrom('subscriber_hours')
          .select(['subscriber_id', 'hour'])
          .where('hour', '<', now - kept)
          .orderBy('hour')
          .limit(perStep)
          .execute()
        if (old.length === 0) return
        const oldest = old[0]!.hour
        const ids = old.filter((row) => row.hour === oldest).map((row) => row.subscriber_id)
        await database.transaction(
          (tx) =>
            tx
              .deleteFrom('subscriber_hours')
              .where('hour', '=', oldest)
              .where('subscriber_id', 'in', [...new Set(ids)])
              .execute(),
          { priority: 'work' },
        )
      }
    } catch (error) {
      log.error({ err: error }, 'old counts of attempts could not be removed')
    }
  }
}

function keyOf({ subscriber_id, hour: from, duration_class }: SubscriberHoursTable): string {
  return `${subscriber_id} ${from} ${String(duration_class).padStart(6, '0')}`
}
