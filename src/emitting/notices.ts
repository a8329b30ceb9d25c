import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SubscribersTable } from '../storage/tables.ts'
import type { AttemptResult } from './attempt.ts'
import type { Following } from './completions.ts'
import { holds, type Condition } from './conditions.ts'
import { consequenceOf, disablesAt, reasonOfFailing, type DisablingPolicy } from './disabling.ts'
import type { Destination } from './destinations.ts'
import type { Emitter } from './emitter.ts'
import { matchesType } from './event-types.ts'
import type { Claimed, Payload } from './store.ts'
import type { Verdict } from './verdict.ts'

/** A subscriber's deliveries are told to fail when one of them has failed so often: by default five minutes after its first attempt. */
export const failingAfter = 3

export interface NoticesParts {
  database: Database
  emitter: Emitter
  clock: Clock
  disabling: DisablingPolicy
  /** Disables a subscriber, if it is active and still at that address, and fails if `failing`; tells it, too. */
  disable: (
    tx: Tx,
    subscriber: { id: string; url: string },
    reason: string,
    failing: boolean,
  ) => Promise<void>
  /** Told when what is known of a subscriber has changed. */
  changed: (id: string) => void
}

/** One thing that follows from an attempt. */
type Consequence = (tx: Tx) => Promise<unknown>

/**
 * What follows from attempts for their subscribers, and the events about it for the subscribers that admins marked as
 * operational. What those do themselves is never told, so no event causes another one. That a subscriber fails is told
 * once, until a delivery arrives again.
 */
export class Notices {
  readonly #parts: NoticesParts

  constructor(parts: NoticesParts) {
    this.#parts = parts
  }

  /**
   * What an attempt means for its subscriber, to be done in the transaction that writes it down; `undefined` when that is
   * nothing, as it mostly is.
   */
  following(
    delivery: Claimed,
    destination: Destination,
    event: Payload,
    verdict: Verdict,
    result: AttemptResult,
  ): Following | undefined {
    const consequences = [...this.#consequences(delivery, destination, event, verdict, result)]
    if (consequences.length === 0) return undefined
    return {
      async within(tx) {
        for (const follow of consequences) await follow(tx)
      },
      committed: () => {
        this.#parts.changed(destination.id)
        this.#parts.database.signal('deliveries')
      },
    }
  }

  *#consequences(
    delivery: Claimed,
    destination: Destination,
    event: Payload,
    verdict: Verdict,
    result: AttemptResult,
  ): Iterable<Consequence> {
    const { disabling, clock, disable } = this.#parts
    const { id, operational, failingSince } = destination
    if (!operational) {
      const about = { subscriber: subscriberOf(destination), delivery: deliveryOf(delivery, event, result) }
      const dead = verdict.kind === 'dead'
      if (verdict.kind === 'delivered') {
        if (failingSince !== null) yield (tx) => this.#recovered(tx, id, about)
      } else if (result.failure !== 'aborted') {
        if (failingSince === null && (dead || delivery.begun >= failingAfter))
          // A dead letter is told by itself.
          yield (tx) => this.#failing(tx, id, dead ? undefined : about)
        const next = consequenceOf(destination, disabling, clock.now())
        if (next === 'warn') yield (tx) => this.#warn(tx, destination, about)
        else if (next === 'disable')
          yield (tx) => disable(tx, destination, reasonOfFailing(failingSince!), true)
      }
      if (dead) yield (tx) => this.#emit(tx, 'delivery.dead', about)
    }
    if (verdict.kind !== 'retry' && verdict.disable !== undefined) {
      const reason = verdict.disable
      yield (tx) => disable(tx, destination, reason, false)
    }
  }

  /** That a subscriber was disabled, within the transaction that does it; then the caller wakes the dispatcher. */
  async disabled(tx: Tx, row: SubscribersTable): Promise<void> {
    if (row.operational === 1) return
    await this.#emit(tx, 'subscriber.disabled', {
      subscriber: subscriberOf(row),
      reason: row.disabled_reason,
    })
  }

  /** Of several deliveries and processes that notice the same, one tells it. */
  async #failing(tx: Tx, id: string, about: object | undefined): Promise<void> {
    const changed = await this.#change(
      tx,
      id,
      { failing_since: this.#parts.clock.now() },
      'failing_since',
      'is',
    )
    if (changed && about) await this.#emit(tx, 'delivery.failing', about)
  }

  async #recovered(tx: Tx, id: string, about: object): Promise<void> {
    const health = { failing_since: null, warned_at: null }
    if (await this.#change(tx, id, health, 'failing_since', 'is not'))
      await this.#emit(tx, 'delivery.recovered', about)
  }

  async #warn(tx: Tx, { id, failingSince }: Destination, about: object): Promise<void> {
    const warnedAt = this.#parts.clock.now()
    if (!(await this.#change(tx, id, { warned_at: warnedAt }, 'warned_at', 'is'))) return
    const at = disablesAt({ failingSince, warnedAt }, this.#parts.disabling)
    await this.#emit(tx, 'subscriber.disabling', {
      ...about,
      failingSince: new Date(failingSince!).toISOString(),
      disablesAt: new Date(at!).toISOString(),
    })
  }

  /** Whether the row was as expected. */
  async #change(
    tx: Tx,
    id: string,
    columns: Partial<Pick<SubscribersTable, 'failing_since' | 'warned_at'>>,
    expected: 'failing_since' | 'warned_at',
    toBe: 'is' | 'is not',
  ): Promise<boolean> {
    const now = this.#parts.clock.now()
    const row = await tx
      .updateTable('subscribers')
      .set({
        ...columns,
        // Opened subscribers are kept by it.
        updated_at: sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`,
      })
      .where('id', '=', id)
      .where(expected, toBe, null)
      .returning('id')
      .executeTakeFirst()
    return row !== undefined
  }

  /** Whether anybody is to get it; if not, there is no such event. */
  async #emit(tx: Tx, type: string, data: object): Promise<boolean> {
    const { database, emitter } = this.#parts
    const rows = await tx
      .selectFrom('subscribers')
      .select(['id', 'event_types', 'conditions'])
      .where('operational', '=', 1)
      .where('status', 'in', ['active', 'paused'])
      .orderBy('id')
      // Nobody removes them before their deliveries are written.
      .$if(database.engine === 'postgres', (locking) => locking.forKeyShare())
      .execute()
    const wanting = rows.filter(
      ({ event_types, conditions }) =>
        matchesType(JSON.parse(event_types) as string[], type) &&
        (conditions === null || holds(JSON.parse(conditions) as Condition[], data)),
    )
    if (wanting.length === 0) return false
    await emitter.toThese(
      tx,
      { type, data },
      wanting.map(({ id }) => id),
    )
    return true
  }
}

function subscriberOf({ id, url, owner }: Pick<SubscribersTable, 'id' | 'url' | 'owner'>) {
  return { id, url, owner }
}

function deliveryOf(
  { id, event, begun }: Pick<Claimed, 'id' | 'event' | 'begun'>,
  { event_id, type }: Pick<Payload, 'event_id' | 'type'>,
  { status, error }: Pick<AttemptResult, 'status' | 'error'>,
) {
  return { id, event, eventId: event_id, eventType: type, attempts: begun, status, error }
}
