import { sql } from 'kysely'
import type { Clock } from '../runtime/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SubscribersTable } from '../storage/tables.ts'
import type { AttemptResult } from './attempt.ts'
import type { Following, Notice } from './completions.ts'
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

/** One thing that follows from an attempt; returns what is to be told of it, if anything is. */
type Consequence = (tx: Tx) => Notice | Promise<Notice | void> | undefined

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
        const notices: Notice[] = []
        for (const follow of consequences) {
          const notice = await follow(tx)
          if (notice) notices.push(notice)
        }
        return notices
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
      if (dead) yield () => ({ type: 'delivery.dead', data: about })
    }
    if (verdict.kind !== 'retry' && verdict.disable !== undefined) {
      const reason = verdict.disable
      yield (tx) => disable(tx, destination, reason, false)
    }
  }

  /** That a subscriber was disabled, within the transaction that does it; then the caller wakes the dispatcher. */
  async disabled(tx: Tx, row: SubscribersTable): Promise<void> {
    if (row.operational === 1) return
    const data = { subscriber: subscriberOf(row), reason: row.disabled_reason }
    await this.tell(tx, [{ type: 'subscriber.disabled', data }])
  }

  /** Of several deliveries and processes that notice the same, one tells it. */
  async #failing(tx: Tx, id: string, about: object | undefined): Promise<Notice | undefined> {
    const changed = await this.#change(
      tx,
      id,
      { failing_since: this.#parts.clock.now() },
      'failing_since',
      'is',
    )
    return changed && about ? { type: 'delivery.failing', data: about } : undefined
  }

  async #recovered(tx: Tx, id: string, about: object): Promise<Notice | undefined> {
    const health = { failing_since: null, warned_at: null }
    const changed = await this.#change(tx, id, health, 'failing_since', 'is not')
    return changed ? { type: 'delivery.recovered', data: about } : undefined
  }

  async #warn(tx: Tx, { id, failingSince }: Destination, about: object): Promise<Notice | undefined> {
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
  async tell(tx: Tx, notices: readonly Notice[]): Promise<void> {
    if (notices.length === 0) return
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
    const addressed = notices.map(({ type, data }) => ({
      event: { type, data },
      subscriberIds: operational
        .filter(({ eventTypes, conditions }) => matchesType(eventTypes, type) && holds(conditions, data))
        .map(({ id }) => id),
    }))
    await emitter.eachToThese(
      tx,
      addressed.filter(({ subscriberIds }) => subscriberIds.length > 0),
    )
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
