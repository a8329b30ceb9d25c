import { sql } from 'kysely'
import { byService, type RecordAudit } from '../../accounts/audit/audit.ts'
import type { Tx } from '../../storage/database.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { Row } from '../../storage/tables.ts'
import type { AttemptOutcome, AttemptResult } from '../attempt/attempt.ts'
import type { OperationalEvent, SideEffects } from './completions.ts'
import { type Condition, holds } from '../subscribers/conditions.ts'
import type { Endpoint } from './endpoints.ts'
import type { Emitter } from '../events/emitter.ts'
import { matchesType } from '../events/event.ts'
import type { DueDelivery, EventPayload } from '../store.ts'
import { laterThanBefore } from '../subscribers/subscribers.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { subscriberTarget } from '../subscribers/subscriber-audit.ts'
import type { ModuleParts } from '../../http/service-module.ts'

/** Failed attempts of one delivery after which its subscriber counts as failing: by default five minutes after the first. */
const failingAfter = 3

interface OperationalEventsParts extends Pick<ModuleParts, 'configuration' | 'database' | 'clock'> {
  emitter: Pick<Emitter, 'emitTo'>
  record: RecordAudit
  /** Called when a side effect that may have changed the subscriber is committed. */
  changed: (subscriberId: string) => void
}

interface FinishedAttempt {
  delivery: DueDelivery
  endpoint: Endpoint
  event: EventPayload
  outcome: AttemptOutcome
  result: AttemptResult
}

/** One side effect of an attempt. Returns the event to publish, if there is one. */
type SideEffect = (tx: Tx) => OperationalEvent | Promise<OperationalEvent | void> | undefined

/**
 * The side effects of attempts on their subscribers: marks them as failing or recovered, warns before it disables them, disables
 * them, and publishes events about all this to the subscribers that admins marked as operational. Attempts to those cause none of
 * these events, so that no event causes another one, and do not disable them, because nobody would be warned.
 * `delivery.failing` is published once until a delivery succeeds again.
 */
export class OperationalEvents {
  readonly #parts: OperationalEventsParts

  constructor(parts: OperationalEventsParts) {
    this.#parts = parts
  }

  /** The side effects, to be applied in the transaction that records the attempt; `undefined` if there are none, as usual. */
  sideEffects(attempt: FinishedAttempt): SideEffects | undefined {
    const effects = this.#effectsOf(attempt)
    if (effects.length === 0) return undefined
    const { changed, database } = this.#parts
    return {
      async apply(tx) {
        const events: OperationalEvent[] = []
        for (const effect of effects) {
          const event = await effect(tx)
          if (event && !attempt.endpoint.operational) events.push(event)
        }
        return events
      },
      onCommitted() {
        changed(attempt.endpoint.id)
        database.signal('deliveries')
      },
    }
  }

  /** In the order in which they are applied. */
  #effectsOf(attempt: FinishedAttempt): SideEffect[] {
    const { delivery, endpoint, outcome, result } = attempt
    const { clock, configuration } = this.#parts
    const { emitDisableAfter } = configuration
    const { failingSince, operational } = endpoint
    const effects: SideEffect[] = []
    if (outcome.kind === 'delivered') {
      if (failingSince !== null) effects.push((tx) => this.#markRecovered(tx, attempt))
    } else if (result.failure !== 'aborted') {
      if (failingSince === null && (outcome.kind === 'dead' || delivery.begun >= failingAfter))
        effects.push((tx) => this.#markFailing(tx, attempt))
      const consequence = operational ? undefined : consequenceOf(endpoint, emitDisableAfter, clock.now())
      if (consequence === 'warn') effects.push((tx) => this.#warn(tx, attempt))
      if (consequence === 'disable') {
        const reason = `Every attempt since ${isoTime(failingSince!)} failed.`
        effects.push((tx) => this.#disable(tx, endpoint, reason, true))
      }
    }
    if (outcome.kind === 'dead' && !operational)
      effects.push(() => ({ type: 'delivery.dead', data: descriptionOf(attempt) }))
    if (outcome.kind !== 'retry' && outcome.disable !== undefined) {
      const reason = outcome.disable
      effects.push((tx) => this.#disable(tx, endpoint, reason, false))
    }
    return effects
  }

  /** Publishes that a subscriber was disabled, in the transaction that does it. Then the caller wakes the dispatcher. */
  async publishDisabled(tx: Tx, row: Row<'subscribers'>): Promise<void> {
    if (row.operational === 1) return
    const data = { subscriber: subscriberOf(row), reason: row.disabled_reason }
    await this.publish(tx, [{ type: 'subscriber.disabled', data }])
  }

  /** Disables a subscriber if it is active and has that address, and with `failing` if it still fails. */
  async #disable(
    tx: Tx,
    { id, url }: Pick<Row<'subscribers'>, 'id' | 'url'>,
    reason: string,
    failing: boolean,
  ): Promise<void> {
    const { clock, record } = this.#parts
    const row = await tx
      .updateTable('subscribers')
      .set({ status: 'disabled', disabled_reason: reason, updated_at: laterThanBefore(clock.now()) })
      .where('id', '=', id)
      .where('url', '=', url)
      .where('status', '=', 'active')
      .$if(failing, (still) => still.where('failing_since', 'is not', null))
      .returningAll()
      .executeTakeFirst()
    if (!row) return
    await record(tx, {
      action: 'subscriber.disabled',
      target: subscriberTarget(id),
      detail: { from: 'active', to: 'disabled', cause: failing ? 'failing' : 'asked by the subscriber' },
      ...byService,
    })
    await this.publishDisabled(tx, row)
  }

  async #markFailing(tx: Tx, attempt: FinishedAttempt): Promise<OperationalEvent | undefined> {
    const { endpoint, outcome } = attempt
    const columns = { failing_since: this.#parts.clock.now() }
    const changed = await this.#updateIf(tx, endpoint.id, columns, 'failing_since is null')
    // A dead delivery has an event of its own.
    if (!changed || outcome.kind === 'dead') return undefined
    return { type: 'delivery.failing', data: descriptionOf(attempt) }
  }

  async #markRecovered(tx: Tx, attempt: FinishedAttempt): Promise<OperationalEvent | undefined> {
    const columns = { failing_since: null, warned_at: null }
    const changed = await this.#updateIf(tx, attempt.endpoint.id, columns, 'failing_since is not null')
    return changed ? { type: 'delivery.recovered', data: descriptionOf(attempt) } : undefined
  }

  async #warn(tx: Tx, attempt: FinishedAttempt): Promise<OperationalEvent | undefined> {
    const { clock, configuration } = this.#parts
    const { id, failingSince } = attempt.endpoint
    const warnedAt = clock.now()
    if (!(await this.#updateIf(tx, id, { warned_at: warnedAt }, 'warned_at is null'))) return undefined
    const at = disablesAt({ failingSince, warnedAt }, configuration.emitDisableAfter)
    const data = {
      ...descriptionOf(attempt),
      failingSince: isoTime(failingSince!),
      disablesAt: isoTime(at!),
    }
    return { type: 'subscriber.disabling', data }
  }

  /**
   * Updates a subscriber under a condition and returns whether it held: of several deliveries and processes that find the same,
   * one publishes it.
   */
  async #updateIf(
    tx: Tx,
    id: string,
    columns: Partial<Pick<Row<'subscribers'>, 'failing_since' | 'warned_at'>>,
    condition: 'failing_since is null' | 'failing_since is not null' | 'warned_at is null',
  ): Promise<boolean> {
    const row = await tx
      .updateTable('subscribers')
      .set({ ...columns, updated_at: laterThanBefore(this.#parts.clock.now()) })
      .where('id', '=', id)
      .where(sql<boolean>`${sql.raw(condition)}`)
      .returning('id')
      .executeTakeFirst()
    return row !== undefined
  }

  /**
   * Emits events to the operational subscribers that asked for them. An event without such a subscriber is not recorded, nor one
   * about a subscriber that was removed during its attempt. The number of statements does not depend on the number of events.
   */
  async publish(tx: Tx, events: readonly OperationalEvent[]): Promise<void> {
    if (events.length === 0) return
    const { engine } = this.#parts.database
    const operational = await tx
      .selectFrom('subscribers')
      .select(['id', 'event_types', 'conditions'])
      .where('operational', '=', 1)
      .where('status', 'in', ['active', 'paused'])
      .orderBy('id')
      // No subscriber may be removed before its deliveries are inserted.
      .$if(engine === 'postgres', (locking) => locking.forKeyShare())
      .execute()
    const addressed = events.map(({ type, data }) => ({
      event: { type, data },
      subscriberIds: operational
        .filter(({ event_types }) => matchesType(JSON.parse(event_types) as string[], type))
        .filter(({ conditions }) => holds(JSON.parse(conditions ?? '[]') as Condition[], data))
        .map(({ id }) => id),
    }))
    const wanted = addressed.filter(({ subscriberIds }) => subscriberIds.length > 0)
    if (wanted.length === 0) return
    const ids = [...new Set(wanted.map(({ event }) => event.data.subscriber.id))]
    const rows = await tx
      .selectFrom('subscribers')
      .select('id')
      .where(isOneOf(engine, 'id', ids))
      .execute()
    const known = new Set(rows.map(({ id }) => id))
    const about = wanted.filter(({ event }) => known.has(event.data.subscriber.id))
    if (about.length > 0) await this.#parts.emitter.emitTo(tx, about)
  }
}

function descriptionOf({ delivery, endpoint, event, result }: FinishedAttempt) {
  return {
    subscriber: subscriberOf(endpoint),
    delivery: {
      id: delivery.id,
      event: delivery.event,
      eventId: event.event_id,
      eventType: event.type,
      attempts: delivery.begun,
      status: result.status,
      error: result.error,
    },
  }
}

function subscriberOf({ id, url, owner }: Pick<Row<'subscribers'>, 'id' | 'url' | 'owner'>) {
  return { id, url, owner }
}

const day = 86_400_000

/** The state of a failing subscriber; times in milliseconds since 1970. */
type Failing = Pick<Endpoint, 'failingSince' | 'warnedAt'>

/** The shortest time between the warning and the disabling: a day, or half of a shorter `after`. */
function notice(after: number): number {
  return Math.min(day, after / 2)
}

/**
 * When the next failure disables the subscriber; `null` while it does not fail. At least the notice after the warning.
 * @param after milliseconds without a success; Infinity never disables
 */
export function disablesAt({ failingSince, warnedAt }: Failing, after: number): number | null {
  if (failingSince === null || after === Infinity) return null
  const at = failingSince + after
  return warnedAt === null ? at : Math.max(at, warnedAt + notice(after))
}

/** Returns the consequence of an attempt that fails at `now`. Subscribers are only disabled by failures, never by time alone. */
export function consequenceOf(failing: Failing, after: number, now: number): 'warn' | 'disable' | undefined {
  const at = disablesAt(failing, after)
  if (at === null) return undefined
  if (failing.warnedAt === null) return now >= at - notice(after) ? 'warn' : undefined
  return now >= at ? 'disable' : undefined
}
