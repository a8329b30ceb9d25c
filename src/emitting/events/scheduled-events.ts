import { sql } from 'kysely'
import type { AuditOrigin, RecordAudit } from '../../accounts/audit/audit.ts'
import { Problem } from '../../errors.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { WakeUps } from '../../runtime/repeated-pass.ts'
import type { Worker } from '../../runtime/worker.ts'
import type { Database, Tx } from '../../storage/database.ts'
import { type FanOut, type LoggedEvent, storedEvent } from './fan-out.ts'
import type { ModuleParts } from '../../http/service-module.ts'

interface ScheduledEventsParts extends Pick<ModuleParts, 'database' | 'clock' | 'log'> {
  fanOut: FanOut
  record: RecordAudit
}

/** Events of one transaction: few, because each can have 1 MiB and deliveries to thousands of subscribers. */
const perStep = 20
/** Milliseconds between two reads at most: a signal of another process may be lost. */
const pollEvery = 60_000
/** Milliseconds after which what is due is read again: another process releases it, or it failed. */
const retryAfter = 2_000

/**
 * Gives scheduled events to the subscribers that match them at their time, and cancels them before. A scheduled event has no
 * deliveries, so it neither delays an ordered subscriber nor goes to one that was removed meanwhile.
 */
export class ScheduledEvents implements Worker {
  readonly name = 'scheduled'
  readonly #parts: ScheduledEventsParts
  readonly #wakeUps: WakeUps
  #unlisten: (() => void) | undefined

  constructor(parts: ScheduledEventsParts) {
    this.#parts = parts
    this.#wakeUps = new WakeUps(parts.clock, () => this.#releaseAll())
  }

  start(): void {
    this.#unlisten = this.#parts.database.onSignal('scheduled', () => this.#wakeUps.now())
    this.#wakeUps.start()
  }

  stop(): Promise<void> {
    this.#unlisten?.()
    return this.#wakeUps.stop()
  }

  async oldestDue(): Promise<number | undefined> {
    const next = await this.#next()
    return next !== undefined && next <= this.#parts.clock.now() ? next : undefined
  }

  /** Looks for due events at this time, in milliseconds since 1970, if this process runs the worker. */
  expect(time: number): void {
    this.#wakeUps.in(Math.min(Math.max(0, time - this.#parts.clock.now()), pollEvery))
  }

  /**
   * Cancels a scheduled event. Again is no error.
   * @throws Problem `not-found`; `conflict` if it is not scheduled, or its time has come
   */
  async cancel(event: number, origin: AuditOrigin): Promise<void> {
    const { database, clock, record } = this.#parts
    await database.transaction(async (tx) => {
      const canceled = await tx
        .updateTable('scheduled_events')
        .set({ canceled_at: clock.now() })
        .where('event', '=', event)
        .where('released_at', 'is', null)
        .where('canceled_at', 'is', null)
        .executeTakeFirst()
      if (canceled.numUpdatedRows === 0n) return refuseUnlessCanceled(tx, event)
      await record(tx, { action: 'event.canceled', target: `event:${event}`, ...origin })
    })
  }

  async #releaseAll(): Promise<void> {
    const { clock, log } = this.#parts
    let next: number | undefined
    let failed = false
    try {
      while (
        ((next = await this.#next()) ?? Number.POSITIVE_INFINITY) <= clock.now() &&
        !this.#wakeUps.stopped
      )
        if (!(await this.#release())) break
    } catch (error) {
      failed = true
      log.error({ err: error }, 'scheduled events could not be released')
    }
    const now = clock.now()
    const isDue = next !== undefined && next <= now
    this.expect(failed || isDue ? now + retryAfter : (next ?? Infinity))
  }

  async #next(): Promise<number | undefined> {
    const row = await this.#parts.database.reader
      .selectFrom('scheduled_events')
      .select((eb) => eb.fn.min<number | null>('deliver_at').as('next'))
      .where('released_at', 'is', null)
      .where('canceled_at', 'is', null)
      .executeTakeFirst()
    return row?.next ?? undefined
  }

  /** Inserts the deliveries of the first due events. Returns whether there were any that no other process releases. */
  async #release(): Promise<boolean> {
    const { database, fanOut, clock } = this.#parts
    const now = clock.now()
    const count = await database.inBackground(async (tx) => {
      const events = await lockDue(database, tx, now)
      if (events.length === 0) return 0
      const prepared = events.map(({ event }) => event)
      const candidates = await fanOut.candidates(tx, prepared)
      const { inserted } = await fanOut.insertDeliveries(tx, events, { candidates, now })
      await inserted
      const numbers = events.map(({ id }) => id)
      await tx
        .updateTable('scheduled_events')
        .set({ released_at: now })
        .where('event', 'in', numbers)
        .execute()
      await extendRetention(tx, numbers, now)
      return events.length
    })
    if (count > 0) database.signal('deliveries')
    return count > 0
  }
}

async function lockDue({ engine }: Database, tx: Tx, now: number): Promise<LoggedEvent[]> {
  const query = tx
    .selectFrom('scheduled_events as s')
    .innerJoin('events as e', 'e.id', 's.event')
    .leftJoin('idempotency_keys as k', 'k.event', 's.event')
    .leftJoin('event_options as o', 'o.event', 's.event')
    .select(['s.event', 'e.type', 'e.payload', 'e.nonce', 'k.audience', 'o.channels'])
    .where('s.deliver_at', '<=', now)
    .where('s.released_at', 'is', null)
    .where('s.canceled_at', 'is', null)
    .orderBy('s.deliver_at')
    .orderBy('s.event')
    .limit(perStep)
  const rows = await (engine === 'postgres' ? query.forUpdate('s').skipLocked() : query).execute()
  return rows.map(storedEvent)
}

/** A payload's retention period begins when its event is sent, however late that is. */
async function extendRetention(tx: Tx, events: readonly number[], now: number): Promise<void> {
  await tx
    .updateTable('event_options')
    .set({
      expires_at: sql`expires_at + ${now} -
        (select deliver_at from scheduled_events s where s.event = event_options.event)`,
    })
    .where('event', 'in', [...events])
    .where('expires_at', 'is not', null)
    .execute()
}

/** @throws Problem */
async function refuseUnlessCanceled(tx: Tx, event: number): Promise<void> {
  const row = await tx
    .selectFrom('events as e')
    .leftJoin('scheduled_events as s', 's.event', 'e.id')
    .select(['s.released_at', 's.canceled_at'])
    .where('e.id', '=', event)
    .executeTakeFirst()
  if (!row) throw new Problem('not-found', { detail: 'There is no such event.' })
  if (row.canceled_at !== null) return
  const detail =
    row.released_at === null
      ? 'The event is not scheduled: only events with `deliverAt` or `delay` can be canceled, before their time.'
      : `The event was sent at ${isoTime(row.released_at)} and can no longer be canceled.`
  throw new Problem('conflict', { detail })
}

/**
 * Records when events with a time are to be sent.
 * @param events with the number of each in the log, and whether it is new
 * @returns the time of each that has one, by its number: of a repeated event, the time of the first call
 */
export async function schedule(
  tx: Tx,
  events: readonly { id: number; isNew: boolean; deliverAt: number }[],
  now: number,
): Promise<Map<number, number>> {
  const times = new Map(events.filter(({ isNew }) => isNew).map(({ id, deliverAt }) => [id, deliverAt]))
  const rows = [...times].map(([event, deliver_at]) => {
    return { event, deliver_at, released_at: deliver_at > now ? null : now }
  })
  if (rows.length > 0) await tx.insertInto('scheduled_events').values(rows).execute()
  const before = events.filter(({ id }) => !times.has(id)).map(({ id }) => id)
  if (before.length === 0) return times
  const known = await tx
    .selectFrom('scheduled_events')
    .select(['event', 'deliver_at'])
    .where('event', 'in', before)
    .execute()
  for (const { event, deliver_at } of known) times.set(event, deliver_at)
  return times
}
