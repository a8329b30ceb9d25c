import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import type { SubscribersTable } from '../storage/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { AttemptResult } from './attempt.ts'
import { holds, type Condition } from './conditions.ts'
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
  log: Log
}

/**
 * Events about deliveries and subscribers, for the subscribers that admins marked as operational. What those do
 * themselves is never told, so no event causes another one. That a subscriber fails is told once, until a delivery
 * arrives again.
 */
export class Notices {
  readonly #parts: NoticesParts

  constructor(parts: NoticesParts) {
    this.#parts = parts
  }

  /**
   * What an attempt says of its subscriber, when it is written down. A crash between the two leaves it untold; the
   * delivery's own state is kept all the same. Never rejects: a delivery does not depend on it.
   */
  async tell(
    delivery: Claimed,
    destination: Destination,
    event: Payload,
    verdict: Verdict,
    result: AttemptResult,
  ): Promise<void> {
    const { operational, failing } = destination
    if (operational) return
    const recovers = verdict.kind === 'delivered' && failing
    const fails = verdict.kind === 'retry' && !failing && delivery.begun >= failingAfter
    if (!recovers && !fails && verdict.kind !== 'dead') return
    const { database, log } = this.#parts
    const about = { subscriber: subscriberOf(destination), delivery: deliveryOf(delivery, event, result) }
    try {
      const told = await database.transaction(
        async (tx) => {
          if (recovers) return this.#change(tx, destination.id, false, about)
          if (fails) return this.#change(tx, destination.id, true, about)
          return this.#emit(tx, 'delivery.dead', about)
        },
        { lane: 'work' },
      )
      if (told) database.signal('deliveries')
    } catch (error) {
      log.error({ err: error, subscriberId: destination.id }, 'admins could not be told of a delivery')
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
  async #change(tx: Tx, subscriberId: string, fails: boolean, about: object): Promise<boolean> {
    const now = this.#parts.clock.now()
    const row = await tx
      .updateTable('subscribers')
      .set({
        failing_since: fails ? now : null,
        // Opened subscribers are kept by it.
        updated_at: sql<number>`case when updated_at >= ${now} then updated_at + 1 else ${now} end`,
      })
      .where('id', '=', subscriberId)
      .where('failing_since', fails ? 'is' : 'is not', null)
      .returning('id')
      .executeTakeFirst()
    return row !== undefined && this.#emit(tx, fails ? 'delivery.failing' : 'delivery.recovered', about)
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
  { id, event, begun }: Claimed,
  { event_id, type }: Payload,
  { status, error }: AttemptResult,
) {
  return { id, event, eventId: event_id, eventType: type, attempts: begun, status, error }
}
