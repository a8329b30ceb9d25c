import { type RawBuilder, sql, type SqlBool } from 'kysely'
import { type Static, type TObject, Type } from 'typebox'
import { nullable } from '../../http/schemas/schemas.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import { DelayedWrites, Sums } from '../../runtime/delayed-writes.ts'
import type { Tx } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Row } from '../../storage/tables.ts'

export const hour = 3_600_000
/** Milliseconds between two writes of the counts. A crash loses the counts since the last one. */
const flushEvery = 5_000
/** Rows of one statement. */
const perStep = 500
const key = ['subscriber_id', 'hour', 'duration_class'] as const

interface HealthParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  /** Retention of the hours in milliseconds; Infinity: never removed. */
  retention: number
}

/**
 * Counts the outcomes of attempts by subscriber and hour. The counts are collected in memory and added to the table every few
 * seconds, so an attempt costs one map access.
 */
export class Health {
  readonly #parts: HealthParts
  readonly #counts = new Sums<Row<'subscriber_hours'>>(
    ({ subscriber_id, hour: from, duration_class }) => `${subscriber_id} ${from} ${duration_class}`,
    (known, { delivered, failed }) => {
      known.delivered += delivered
      known.failed += failed
    },
  )
  readonly #writes: DelayedWrites
  /** The last write. During a write the counts may be in the table or not. */
  #writing: Promise<void> = Promise.resolve()
  #sweptAt = 0
  #stopped = false

  constructor(parts: HealthParts) {
    this.#parts = parts
    this.#writes = new DelayedWrites(parts.clock, flushEvery, {
      write: () => (this.#writing = this.#write()).then(() => this.#sweep()),
      pending: () => this.#counts.size > 0,
    })
  }

  record(subscriberId: string, delivered: boolean, durationMs: number): void {
    this.#counts.add({
      subscriber_id: subscriberId,
      hour: Math.floor(this.#parts.clock.now() / hour) * hour,
      duration_class: classOf(durationMs),
      delivered: delivered ? 1 : 0,
      failed: delivered ? 0 : 1,
    })
    this.#writes.schedule()
  }

  /** Subscribers with attempts that are not in the table yet. */
  get unwritten(): string[] {
    return [...new Set(this.#counts.rows.map((row) => row.subscriber_id))]
  }

  /** The rows of subscribers, including counts that are not in the table yet. Each attempt is counted once. */
  read(subscriberIds: readonly string[], since: number, until: number): Promise<Row<'subscriber_hours'>[]> {
    return this.#read(subscriberIds, since, until, () =>
      this.#parts.database.slowReader
        .selectFrom('subscriber_hours')
        .selectAll()
        .where('subscriber_id', 'in', [...subscriberIds])
        .where('hour', '>=', since)
        .where('hour', '<', until)
        .execute(),
    )
  }

  /** Their sums since an hour. The rows have no hour and no class, and a subscriber can have several. */
  totals(subscriberIds: readonly string[], since: number): Promise<Row<'subscriber_hours'>[]> {
    const until = Number.MAX_SAFE_INTEGER
    const { slowReader: reader, engine } = this.#parts.database
    if (engine === 'postgres')
      return this.#read(subscriberIds, since, until, async () => {
        // For each of them by its index: of many at once, the planner would read the hours of all.
        const { rows } = await sql<Row<'subscriber_hours'>>`
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
    readWritten: () => Promise<Row<'subscriber_hours'>[]>,
  ): Promise<Row<'subscriber_hours'>[]> {
    if (subscriberIds.length === 0) return []
    const asked = new Set(subscriberIds)
    for (;;) {
      const writing = this.#writing
      await writing
      if (writing !== this.#writing) continue
      const unwritten = this.#counts.rows.filter(
        (row) => asked.has(row.subscriber_id) && row.hour >= since && row.hour < until,
      )
      const rows = await readWritten()
      // A write that started meanwhile may have moved counts to the table, where they would count twice.
      if (writing === this.#writing) return [...rows, ...unwritten]
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#writes.close()
  }

  /** Adds the counts to the table. Never rejects. */
  async #write(): Promise<void> {
    const rows = this.#counts.drain()
    const { database, log } = this.#parts
    try {
      for (let start = 0; start < rows.length; start += perStep)
        await database.inBackground((tx) => this.#add(tx, rows.slice(start, start + perStep)))
    } catch (error) {
      // Not repeated, because a part may have been written and would count twice.
      log.error({ err: error, rows: rows.length }, 'counts of attempts could not be written; they are lost')
    }
  }

  async #add(tx: Tx, rows: readonly Row<'subscriber_hours'>[]): Promise<void> {
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
        conflict.columns(key).doUpdateSet((eb) => ({
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
      for (let removed = perStep; removed === perStep && !this.#stopped;) {
        const { numDeletedRows } = await database.inBackground((tx) => {
          const old = tx.selectFrom('subscriber_hours').where('hour', '<', now - retention)
          const some = old.select(key).orderBy('hour').limit(perStep)
          return tx
            .deleteFrom('subscriber_hours')
            .where((eb) => eb(eb.refTuple(...key), 'in', some.$asTuple(...key)))
            .executeTakeFirstOrThrow()
        })
        removed = Number(numDeletedRows)
      }
    } catch (error) {
      log.error({ err: error }, 'old counts of attempts could not be removed')
    }
  }
}

/** Upper bounds of the histogram's buckets, in milliseconds. The last is the longest time-out. */
const durationClasses = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 300_000] as const

export function classOf(durationMs: number): number {
  return durationClasses.find((longest) => durationMs <= longest) ?? durationClasses.at(-1)!
}

const nullableNumber = (description: string) => nullable(Type.Number({ description }))
/** Counts of attempts. The quantiles are upper bounds of buckets. */
export const summaryFields = {
  delivered: Type.Integer({ description: 'Attempts that succeeded' }),
  failed: Type.Integer({ description: 'Attempts that failed' }),
  successRate: nullableNumber('0 to 1; null without attempts'),
  p50: nullableNumber('Milliseconds within which half of the attempts ended, rounded up to a class'),
  p99: nullableNumber('Milliseconds within which 99 of 100 ended, rounded up to a class'),
}
export type Summary = Static<TObject<typeof summaryFields>>

export function summarize(rows: readonly Row<'subscriber_hours'>[]): Summary {
  const sum = (count: (row: Row<'subscriber_hours'>) => number): number =>
    rows.reduce((total, row) => total + count(row), 0)
  const delivered = sum((row) => row.delivered)
  const failed = sum((row) => row.failed)
  const all = delivered + failed
  return {
    delivered,
    failed,
    successRate: all === 0 ? null : delivered / all,
    p50: quantile(rows, all, 0.5),
    p99: quantile(rows, all, 0.99),
  }
}

/** One summary for each hour with attempts, oldest first. */
export function byHour(rows: readonly Row<'subscriber_hours'>[]): (Summary & { hour: number })[] {
  return [...Map.groupBy(rows, (row) => row.hour)]
    .toSorted(([a], [b]) => a - b)
    .map(([hour, some]) => Object.assign({ hour }, summarize(some)))
}

function quantile(rows: readonly Row<'subscriber_hours'>[], all: number, share: number): number | null {
  if (all === 0) return null
  let seen = 0
  for (const row of rows.toSorted((a, b) => a.duration_class - b.duration_class)) {
    seen += row.delivered + row.failed
    if (seen >= all * share) return row.duration_class
  }
  return null
}

/** In the order in which they are decided: the first that applies. */
export const subscriberStates = ['disabled', 'paused', 'failing', 'idle', 'active'] as const
export type SubscriberState = (typeof subscriberStates)[number]

/** The one state of a subscriber. `idle`: no attempt ended in the last day. */
export function stateOf(
  { status, failing_since }: Pick<Row<'subscribers'>, 'status' | 'failing_since'>,
  { delivered, failed }: Pick<Summary, 'delivered' | 'failed'>,
): SubscriberState {
  if (status !== 'active') return status
  if (failing_since !== null) return 'failing'
  return delivered + failed === 0 ? 'idle' : 'active'
}

/** What decides between `idle` and `active`. */
interface Activity {
  /** The first hour of the last day. */
  since: number
  /** Subscribers whose last attempts are not in the table yet. */
  unwritten: readonly string[]
}

/** SQL for `stateOf` of a row of `subscribers`. */
export function isInState(state: SubscriberState, { since, unwritten }: Activity): RawBuilder<SqlBool> {
  if (state === 'disabled' || state === 'paused') return sql<SqlBool>`subscribers.status = ${sql.lit(state)}`
  if (state === 'failing')
    return sql<SqlBool>`subscribers.status = 'active' and subscribers.failing_since is not null`
  const written = sql`exists (select 1 from subscriber_hours h where h.subscriber_id = subscribers.id and h.hour >= ${since})`
  const attempted =
    unwritten.length === 0 ? written : sql`(${written} or subscribers.id in (${sql.join(unwritten)}))`
  const healthy = sql`subscribers.status = 'active' and subscribers.failing_since is null`
  return state === 'idle'
    ? sql<SqlBool>`${healthy} and not ${attempted}`
    : sql<SqlBool>`${healthy} and ${attempted}`
}

/** The first hour of the last day, which is 24 hours and a part. Milliseconds since 1970. */
export function lastDayBegins(now: number): number {
  return Math.floor((now - 24 * hour) / hour) * hour
}

/** The attempts of the last day by subscriber; every id has a summary. */
export async function lastDays(
  health: Health,
  subscriberIds: readonly string[],
  now: number,
): Promise<Map<string, Summary>> {
  const rows = await health.read(subscriberIds, lastDayBegins(now), Number.MAX_SAFE_INTEGER)
  const bySubscriber = Map.groupBy(rows, (row) => row.subscriber_id)
  return new Map(subscriberIds.map((id) => [id, summarize(bySubscriber.get(id) ?? [])]))
}
