import { sql } from 'kysely'
import type { Clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SubscribersTable } from '../storage/tables.ts'
import type { AttemptResult } from './attempt.ts'
import type { SideEffects, OperationalEvent } from './completions.ts'
import { holds, type Condition } from './conditions.ts'
import { consequenceOf, disablesAt, reasonOfFailing, type DisablingPolicy } from './disabling.ts'
import type { Destination } from './destinations.ts'
import type { Emitter } from './emitter.ts'
import { matchesType } from './event-types.ts'
import type { ClaimedDelivery, EventPayload } from './store.ts'
import type { AttemptOutcome } from './attempt-outcome.ts'

/** A subscriber's deliveries are told to fail when one of them has failed so often: by default five minutes after its first attempt. */
export const failingAfter = 3

export interface OperationalEventsParts {
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

/** One thing that follows from an attempt; returns what is to be told of it, if anything is. */
type Consequence = (tx: Tx) => OperationalEvent | Promise<OperationalEvent | void> | undefined

/**
 * What follows from attempts for their subscribers, and the events about it for the subscribers that admins marked as
 * operational. What those do themselves is never told, so no event causes another one. That a subscriber fails is told
 * once, until a delivery arrives again.
 */
export class OperationalEvents {
  readonly #parts: OperationalEventsParts

  constructor(parts: OperationalEventsParts) {
    this.#parts = parts
  }

  /**
   * What an attempt means for its subscriber, to be done in the transaction that writes it down; `undefined` when that is
   * nothing, as it mostly is.
   */
  sideEffects(
    delivery: ClaimedDelivery,
    destination: Destination,
    event: EventPayload,
    outcome: AttemptOutcome,
    result: AttemptResult,
  ): SideEffects | undefined {
    const consequences = [...this.#consequences(delivery, destination, event, outcome, result)]
    if (consequences.length === 0) return undefined
    return {
      async apply(tx) {
        const operationalEvents: OperationalEvent[] = []
        for (const follow of consequences) {
          const notice = await follow(tx)
          if (notice) operationalEvents.push(notice)
        }
        return operationalEvents
      },
      onCommitted: () => {
        this.#parts.changed(destination.id)
        this.#parts.database.signal('deliveries')
      },
    }
  }

  *#consequences(
    delivery: ClaimedDelivery,
    destination: Destination,
    event: EventPayload,
    outcome: AttemptOutcome,
    result: AttemptResult,
  ): Iterable<Consequence> {
    const { disabling, clock, disable } = this.#parts
    const { id, operational, failingSince } = destination
    if (!operational) {
      const about = { subscriber: subscriberOf(destination), delivery: deliveryOf(delivery, event, result) }
      const dead = outcome.kind === 'dead'
      if (outcome.kind === 'delivered') {
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
      if (dead) yield () => ({ type: 'delivery.dead', data: about })
    }
    if (outcome.kind !== 'retry' && outcome.disable !== undefined) {
      const reason = outcome.disable
      yield (tx) => disable(tx, destination, reason, false)
    }
  }

  /** That a subscriber was disabled, within the transaction that does it; then the caller wakes the dispatcher. */
  async publishDisabled(tx: Tx, row: SubscribersTable): Promise<void> {
    if (row.operational === 1) return
    const data = { subscriber: subscriberOf(row), reason: row.disabled_reason }
    await this.publish(tx, [{ type: 'subscriber.disabled', data }])
  }

  /** Of several deliveries and processes that notice the same, one tells it. */
  async #failing(tx: Tx, id: string, about: object | undefined): Promise<OperationalEvent | undefined> {
    const changed = await this.#change(
      tx,
      id,
      { failing_since: this.#parts.clock.now() },
      'failing_since',
      'is',
    )
    return changed && about ? { type: 'delivery.failing', data: about } : undefined
  }

  async #recovered(tx: Tx, id: string, about: object): Promise<OperationalEvent | undefined> {
    const health = { failing_since: null, warned_at: null }
    const changed = await this.#change(tx, id, health, 'failing_since', 'is not')
    return changed ? { type: 'delivery.recovered', data: about } : undefined
  }

  async #warn(
    tx: Tx,
    { id, failingSince }: Destination,
    about: object,
  ): Promise<OperationalEvent | undefined> {
    const warnedAt = this.#parts.clock.now()
    if (!(await this.#change(tx, id, { warned_at: warnedAt }, 'warned_at', 'is'))) return undefined
    const at = disablesAt({ failingSince, warnedAt }, this.#parts.disabling)
    const data = {
      ...about,
      failingSince: new Date(failingSince!).toISOString(),
      disablesAt: new Date(at!).toISOString(),
    }
    return { type: 'subscriber.disabling', data }
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

  /** Emits them to whoever is to get them; what nobody is to get makes no event. Few statements, however many they are. */
  async publish(tx: Tx, operationalEvents: readonly OperationalEvent[]): Promise<void> {
    if (operationalEvents.length === 0) return
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
    const operational = rows.map(({ id, event_types, conditions }) => ({
      id,
      eventTypes: JSON.parse(event_types) as string[],
      conditions: conditions === null ? [] : (JSON.parse(conditions) as Condition[]),
    }))
    const addressed = operationalEvents.map(({ type, data }) => ({
      event: { type, data },
      subscriberIds: operational
        .filter(({ eventTypes, conditions }) => matchesType(eventTypes, type) && holds(conditions, data))
        .map(({ id }) => id),
    }))
    await emitter.emitEachTo(
      tx,
      addressed.filter(({ subscriberIds }) => subscriberIds.length > 0),
    )
  }
}

function subscriberOf({ id, url, owner }: Pick<SubscribersTable, 'id' | 'url' | 'owner'>) {
  return { id, url, owner }
}

function deliveryOf(
  { id, event, begun }: Pick<ClaimedDelivery, 'id' | 'event' | 'begun'>,
  { event_id, type }: Pick<EventPayload, 'event_id' | 'type'>,
  { status, error }: Pick<AttemptResult, 'status' | 'error'>,
) {
  return { id, event, eventId: event_id, eventType: type, attempts: begun, status, error }
}
