import { sql } from 'kysely'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { SubscriberHoursTable } from '../../storage/tables.ts'
import type { Log } from '../../telemetry/log.ts'
import { classOf } from './health-summary.ts'

export const hour = 3_600_000
/** Milliseconds between two writes of the counts. A crash loses the counts since the last one. */
const flushEvery = 5_000
/** Rows of one statement. */
const perStep = 500

export interface HealthParts {
  database: Database
  clock: Clock
  log: Log
  /** Retention of the hours in milliseconds; Infinity: never removed. */
  retention: number
}

/**
 * Counts the outcomes of attempts by subscriber and hour. The counts are collected in memory and added to the table every few
 * seconds, so an attempt costs one map access.
 */
export class Health {
  readonly #parts: HealthParts
  #counts = new Map<string, SubscriberHoursTable>()
  #cancel: (() => void) | undefined
  /** The last write. During a write the counts may be in the table or not. */
  #writing: Promise<void> = Promise.resolve()
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

  /** Subscribers with attempts that are not in the table yet. */
  get unwritten(): string[] {
    return [...new Set([...this.#counts.values()].map((row) => row.subscriber_id))]
  }

  /** The rows of a subscriber, including counts that are not in the table yet. Each attempt is counted once. */
  read(subscriberId: string, since: number, until: number): Promise<SubscriberHoursTable[]> {
    return this.readAll([subscriberId], since, until)
  }

  /** The same of several subscribers. */
  readAll(subscriberIds: readonly string[], since: number, until: number): Promise<SubscriberHoursTable[]> {
    return this.#read(subscriberIds, since, until, () => this.#written(subscriberIds, since, until))
  }

  /** Their sums since an hour. The rows have no hour and no class, and a subscriber can have several. */
  totals(subscriberIds: readonly string[], since: number): Promise<SubscriberHoursTable[]> {
    const until = Number.MAX_SAFE_INTEGER
    const { readerAside: reader, engine } = this.#parts.database
    if (engine === 'postgres')
      return this.#read(subscriberIds, since, until, async () => {
        // For each of them by its index: of many at once, the planner would read the hours of all.
        const { rows } = await sql<SubscriberHoursTable>`
          select s.id as subscriber_id, 0 as hour, 0 as duration_class, t.delivered, t.failed
          from unnest(${[...subscriberIds]}::text[]) s (id) cross join lateral (
            select sum(h.delivered)::float8 as delivered, sum(h.failed)::float8 as failed from subscriber_hours h
            where h.subscriber_id = s.id and h.hour >= ${since}) t where t.delivered is not null`.execute(
          reader,
        )
        return rows
      })
    return this.#read(subscriberIds, since, until, () =>
      reader
        .selectFrom('subscriber_hours')
        .select(['subscriber_id', sql<number>`0`.as('hour'), sql<number>`0`.as('duration_class')])
        .select((eb) => [
          eb.fn.sum<number>('delivered').as('delivered'),
          eb.fn.sum<number>('failed').as('failed'),
        ])
        .where(isOneOf(engine, 'subscriber_id', subscriberIds))
        .where('hour', '>=', since)
        .groupBy('subscriber_id')
        .execute(),
    )
  }

  async #read(
    subscriberIds: readonly string[],
    since: number,
    until: number,
    readWritten: () => Promise<SubscriberHoursTable[]>,
  ): Promise<SubscriberHoursTable[]> {
    if (subscriberIds.length === 0) return []
    const asked = new Set(subscriberIds)
    for (;;) {
      const writing = this.#writing
      await writing
      if (writing !== this.#writing) continue
      const unwritten = [...this.#counts.values()].filter(
        (row) => asked.has(row.subscriber_id) && row.hour >= since && row.hour < until,
      )
      const rows = await readWritten()
      // A write that started meanwhile may have moved counts to the table, where they would count twice.
      if (writing === this.#writing) return [...rows, ...unwritten]
    }
  }

  #written(subscriberIds: readonly string[], since: number, until: number): Promise<SubscriberHoursTable[]> {
    return this.#parts.database.readerAside
      .selectFrom('subscriber_hours')
      .selectAll()
      .where('subscriber_id', 'in', [...subscriberIds])
      .where('hour', '>=', since)
      .where('hour', '<', until)
      .execute()
  }

  /** Writes the counts and stops the timer. */
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
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  /** Adds the counts to the table. Never rejects. */
  async #write(): Promise<void> {
    const rows = [...this.#counts.values()]
    this.#counts = new Map()
    // In one order, so that two processes cannot deadlock.
    rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    const { database, log } = this.#parts
    try {
      for (let start = 0; start < rows.length; start += perStep)
        await database.transaction((tx) => this.#add(tx, rows.slice(start, start + perStep)), {
          priority: 'work',
        })
    } catch (error) {
      // Not repeated, because a part may have been written and would count twice.
      log.error({ err: error, rows: rows.length }, 'counts of attempts could not be written; they are lost')
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
    // Some subscribers may have been removed meanwhile.
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

  /** Removes old hours, at most once an hour, in short steps. */
  async #sweep(): Promise<void> {
    const { database, clock, log, retention } = this.#parts
    const now = clock.now()
    if (retention === Infinity || now - this.#sweptAt < hour) return
    this.#sweptAt = now
    try {
      while (!this.#stopped) {
        const old = await database.readerAside
          .selectFrom('subscriber_hours')
          .select(['subscriber_id', 'hour'])
          .where('hour', '<', now - retention)
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
