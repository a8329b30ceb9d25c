import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RunLast, Tx } from '../../storage/database.ts'
import type { Engine } from '../../storage/query-runner.ts'
import type { EventCatalogue } from './event-catalogue.ts'
import { prepareEvent, type NewEvent, type PreparedEvent } from './event.ts'
import { newDelivery, type InsertedDelivery } from './insert-deliveries.ts'
import { type FanOut, type LoggedEvent } from './fan-out.ts'
import { recordEvents, type Recorded } from './record-events.ts'
import type { CommittedDelivery } from '../store.ts'

export interface Emitted {
  /** The event's number in the log. */
  id: number
  /** The stable id that subscribers get. */
  eventId: string
  /** The deliveries of the event, for the dispatcher after the commit; `undefined` if there are too many to return. */
  committed: readonly CommittedDelivery[] | undefined
}

/**
 * Emits events in the caller's transaction: they and their deliveries are committed or rolled back with it. After the commit the
 * caller wakes the dispatcher: `database.signal('deliveries')`.
 * @param causedBy the number of the received event whose handler emits them
 * @throws Problem `invalid-body`, also for data that the declaration of the type does not allow; `id-conflict` if an event with
 * the same id and another type, data or audience exists
 */
export type EmitWithin = (tx: Tx, events: readonly NewEvent[], causedBy?: number) => Promise<Emitted[]>

/** Passes committed events to the dispatcher, which then sends them without a scan. */
export type Announce = (emitted: readonly Emitted[]) => void

export interface EmitterParts {
  engine: Engine
  clock: Clock
  catalogue: EventCatalogue
  fanOut: FanOut
  /** Increases with each queue that this process claims. See `CommittedDelivery`. */
  generation: () => number
  /** Called with the highest numbers that an event and a delivery got. */
  saw: (event: number, delivery: number) => void
}

/** An event and the subscribers that get it. */
export interface Addressed {
  event: NewEvent
  subscriberIds: readonly string[]
}

export interface PendingResults {
  /** Must not be awaited before the commit. */
  results: Promise<(Emitted | Problem)[]>
}

type Prepare = (event: NewEvent, now: number) => PreparedEvent

/** Records events and inserts their deliveries, within a transaction. */
export class Emitter {
  readonly #parts: EmitterParts

  constructor(parts: EmitterParts) {
    this.#parts = parts
  }

  /** Emits events to all subscribers that they match; all of them or none. See `EmitWithin`. */
  emitAll(tx: Tx, events: readonly NewEvent[], causedBy?: number): Promise<Emitted[]> {
    return this.#emitAll(tx, events, (event, now) => this.#prepare(event, now), causedBy)
  }

  /** Like emit, but for events of the service itself, whose types are not declared. */
  emitBuiltIn(tx: Tx, events: readonly NewEvent[], causedBy?: number): Promise<Emitted[]> {
    return this.#emitAll(tx, events, prepareEvent, causedBy)
  }

  /**
   * Emits each event with its own result: a problem with one does not prevent the others.
   * @param last sends the last statement together with the commit; its result arrives with that of the commit
   */
  async emitEach(tx: Tx, last: RunLast, events: readonly NewEvent[]): Promise<PendingResults> {
    const now = this.#parts.clock.now()
    const prepared = events.map((event) => orProblem(() => this.#prepare(event, now)))
    const valid = prepared.filter((event): event is PreparedEvent => !(event instanceof Problem))
    const emitted = await this.#emit(tx, valid, { now, causedBy: null, last })
    const results = emitted.results.then((all) => {
      const rest = all.values()
      return prepared.map((event) => (event instanceof Problem ? event : rest.next().value!))
    })
    // The commit fails with the same error, and its caller handles it.
    results.catch(() => undefined)
    return { results }
  }

  /**
   * Emits an event to these subscribers, regardless of their event types. Returns the ids of the deliveries; none if the event
   * was emitted before, or for a subscriber that was removed meanwhile.
   */
  async emitTo(
    tx: Tx,
    event: NewEvent,
    subscriberIds: readonly string[],
  ): Promise<Emitted & { deliveryIds: number[] }> {
    const { engine, clock, fanOut, generation } = this.#parts
    const now = clock.now()
    const prepared = prepareEvent(event, now)
    const { eventId, nonce } = prepared
    const [recorded] = await recordEvents(engine, tx, [prepared], { now })
    if (recorded instanceof Problem) throw recorded
    const { id, isNew } = recorded!
    if (!isNew || subscriberIds.length === 0) return { id, eventId, committed: [], deliveryIds: [] }
    const rows = subscriberIds.map((subscriberId) => newDelivery({ id, nonce }, subscriberId, now, now))
    const before = generation()
    const inserted = await fanOut.insertReturning(tx, rows)
    const committed = inserted.map((delivery) => committedDelivery(delivery, prepared, before))
    return { id, eventId, committed, deliveryIds: inserted.map((delivery) => delivery.id) }
  }

  /** Like emitTo, but for many events without ids of the caller. The number of statements does not depend on their number. */
  async emitEachTo(tx: Tx, addressed: readonly Addressed[]): Promise<void> {
    if (addressed.length === 0) return
    const { engine, clock, fanOut } = this.#parts
    const now = clock.now()
    const prepared = addressed.map(({ event }) => prepareEvent(event, now))
    const recorded = await recordEvents(engine, tx, prepared, { now })
    const rows = addressed.flatMap(({ subscriberIds }, index) => {
      const result = recorded[index]!
      if (result instanceof Problem) throw result
      const event = { id: result.id, nonce: prepared[index]!.nonce }
      return subscriberIds.map((subscriberId) => newDelivery(event, subscriberId, now, now))
    })
    await fanOut.insert(tx, rows)
  }

  #prepare(event: NewEvent, now: number): PreparedEvent {
    const prepared = prepareEvent(event, now)
    this.#parts.catalogue.check(prepared.type, prepared.data)
    return prepared
  }

  async #emitAll(
    tx: Tx,
    events: readonly NewEvent[],
    prepare: Prepare,
    causedBy: number | undefined,
  ): Promise<Emitted[]> {
    if (events.length === 0) return []
    const now = this.#parts.clock.now()
    const prepared = events.map((event, index) => pointingAt(index, events, () => prepare(event, now)))
    const { results } = await this.#emit(tx, prepared, { now, causedBy: causedBy ?? null })
    return (await results).map((result, index) =>
      pointingAt(index, events, () => {
        if (result instanceof Problem) throw result
        return result
      }),
    )
  }

  async #emit(
    tx: Tx,
    events: readonly PreparedEvent[],
    { now, causedBy, last }: { now: number; causedBy: number | null; last?: RunLast },
  ): Promise<PendingResults> {
    const { engine, fanOut, generation } = this.#parts
    // PostgreSQL gets both in one round trip.
    const [recorded, candidates] = await Promise.all([
      recordEvents(engine, tx, events, { now, causedBy }),
      fanOut.candidates(tx, events),
    ])
    const logged: LoggedEvent[] = []
    for (const [index, result] of recorded.entries())
      if (!(result instanceof Problem) && result.isNew) logged.push({ id: result.id, event: events[index]! })
    // Taken before the insert: a queue that is claimed later reads the deliveries from the table.
    const before = generation()
    const { inserted } = await fanOut.insertDeliveries(tx, logged, { candidates, now, run: last })
    return { results: inserted.then((rows) => this.#resultsOf(events, recorded, rows, before)) }
  }

  /** @param inserted `undefined` if there were too many deliveries to return */
  #resultsOf(
    events: readonly PreparedEvent[],
    recorded: readonly (Recorded | Problem)[],
    inserted: readonly InsertedDelivery[] | undefined,
    generation: number,
  ): (Emitted | Problem)[] {
    const deliveriesOf = inserted && Map.groupBy(inserted, ({ event }) => event)
    let highestId = 0
    const results = recorded.map((result, index): Emitted | Problem => {
      if (result instanceof Problem) return result
      const { id, isNew } = result
      if (isNew) highestId = Math.max(highestId, id)
      const event = events[index]!
      const deliveries = deliveriesOf && (deliveriesOf.get(id) ?? [])
      // An event that occurs twice in one call offers its deliveries once.
      deliveriesOf?.delete(id)
      const committed = deliveries?.map((delivery) => committedDelivery(delivery, event, generation))
      return { id, eventId: event.eventId, committed }
    })
    // Deliveries are returned in the order of their ids.
    this.#parts.saw(highestId, inserted?.at(-1)?.id ?? 0)
    return results
  }
}

function committedDelivery(
  { id, event, subscriber_id, due_at, nonce }: InsertedDelivery,
  { eventId, type, payload, audience }: PreparedEvent,
  generation: number,
): CommittedDelivery {
  return {
    delivery: { id, event, nonce, subscriberId: subscriber_id, number: 1, begun: 1, dueAt: due_at },
    payload: { event_id: eventId, type, payload, audience, nonce },
    generation,
  }
}

function orProblem<T>(work: () => T): T | Problem {
  try {
    return work()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** Adds the position of the event to a problem, if the call has several events. */
function pointingAt<T>(index: number, events: readonly NewEvent[], work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Problem) || events.length === 1) throw error
    const { detail = '', pointer = '' } = error.extras
    throw new Problem(error.code, {
      ...error.extras,
      detail: `Event ${index + 1} of ${events.length}: ${detail}`,
      pointer: `/${index}${pointer}`,
    })
  }
}
