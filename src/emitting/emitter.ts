import type { Clock } from '../runtime/clock.ts'
import { Problem } from '../errors.ts'
import type { RunLast, Tx } from '../storage/database.ts'
import type { Engine } from '../storage/query-runner.ts'
import type { EventCatalogue } from './event-catalogue.ts'
import { prepareEvent, type NewEvent, type PreparedEvent } from './event.ts'
import { newDelivery, type FanOut, type InsertedDelivery, type LoggedEvent } from './fan-out.ts'
import { recordEvents } from './outbox.ts'
import type { CommittedDelivery } from './store.ts'

export interface Emitted {
  /** The event's place in the log. */
  id: number
  /** The stable id that subscribers get. */
  eventId: string
  /** What was made for it, for the dispatcher when the transaction is committed; `undefined` where that is very much. */
  committed: readonly CommittedDelivery[] | undefined
}

/**
 * Emits events within the caller's transaction: they and their deliveries exist when it commits, and never did when it
 * rolls back. After the commit the caller wakes the dispatcher: `database.signal('deliveries')`. `causedBy` is the number of
 * the received event whose handler emits them.
 * @throws Problem `invalid-body`, also for what the declaration of its type does not allow; `id-conflict` when an id is
 * taken by an event of another type, other data or another audience.
 */
export type EmitWithin = (tx: Tx, events: readonly NewEvent[], causedBy?: number) => Promise<Emitted[]>

/** To be called when what was emitted is committed: then it goes out without being looked for. */
export type Announce = (emitted: readonly Emitted[]) => void

export interface EmitterParts {
  engine: Engine
  clock: Clock
  catalogue: EventCatalogue
  fanOut: FanOut
  /** Grows with the lanes of this process's dispatcher. */
  generation: () => number
  /** Told of the highest numbers of an event and a delivery that were given out. */
  saw: (event: number, delivery: number) => void
}

export interface Emitter {
  /** To every subscriber that the events are for; all of them or none. */
  emitAll: EmitWithin
  /** The same for events that the service itself makes: their types need no declaration. */
  emitBuiltIn: EmitWithin
  /**
   * Each by itself: what is wrong with one keeps none of the others from being emitted. This ends the transaction: what
   * became of them is told by its commit.
   */
  emitEach: (tx: Tx, last: RunLast, events: readonly NewEvent[]) => Promise<PendingResults>
  /** To these subscribers alone, whatever they ask for. Returns the deliveries' ids, none when it was emitted before. */
  emitTo: (
    tx: Tx,
    event: NewEvent,
    subscriberIds: readonly string[],
  ) => Promise<Emitted & { deliveryIds: number[] }>
  /** The same of many, none of which has an id: a few statements. */
  emitEachTo: (tx: Tx, addressed: readonly Addressed[]) => Promise<void>
}

/** An event, and who is to get it. */
export interface Addressed {
  event: NewEvent
  subscriberIds: readonly string[]
}

export interface PendingResults {
  /** Not to be waited for before the commit. */
  results: Promise<(Emitted | Problem)[]>
}

export function createEmitter({ engine, clock, catalogue, fanOut, generation, saw }: EmitterParts): Emitter {
  const prepare = (event: NewEvent, now: number): PreparedEvent => {
    const prepared = prepareEvent(event, now)
    catalogue.check(prepared.type, prepared.data)
    return prepared
  }

  async function emit(
    tx: Tx,
    events: readonly PreparedEvent[],
    now: number,
    causedBy: number | null,
    last?: RunLast,
  ): Promise<PendingResults> {
    // On PostgreSQL both are one round trip.
    const [recorded, candidates] = await Promise.all([
      recordEvents(engine, tx, events, now, causedBy),
      fanOut.candidates(tx, events),
    ])
    const made: LoggedEvent[] = []
    for (const [index, result] of recorded.entries())
      if (!(result instanceof Problem) && result.isNew) made.push({ id: result.id, event: events[index]! })
    // Before the deliveries are there: a lane that is made later finds them in the table.
    const before = generation()
    const delivered = await fanOut.insertDeliveries(tx, made, candidates, now, last)
    const results = delivered.made.then((told) => {
      // Numbers grow: the last ones are the highest.
      saw(made.at(-1)?.id ?? 0, told?.at(-1)?.id ?? 0)
      const deliveries = told && Map.groupBy(told, ({ event }) => event)
      return recorded.map((result, index) => {
        if (result instanceof Problem) return result
        const event = events[index]!
        const committed =
          deliveries && (deliveries.get(result.id) ?? []).map((one) => freshOf(one, event, before))
        // Emitted twice in one call, its deliveries are told of once.
        deliveries?.delete(result.id)
        return { id: result.id, eventId: event.eventId, committed }
      })
    })
    return { results }
  }

  const allWithin =
    (prepareOne: typeof prepareEvent): EmitWithin =>
    async (tx, events, causedBy) => {
      if (events.length === 0) return []
      const now = clock.now()
      const prepared = events.map((event, index) => pointingAt(index, events, () => prepareOne(event, now)))
      const { results } = await emit(tx, prepared, now, causedBy ?? null)
      return (await results).map((result, index) =>
        pointingAt(index, events, () => {
          if (result instanceof Problem) throw result
          return result
        }),
      )
    }

  return {
    emitAll: allWithin(prepare),
    emitBuiltIn: allWithin(prepareEvent),

    async emitEach(tx, last, events) {
      const now = clock.now()
      const prepared = events.map((event) => settled(() => prepare(event, now)))
      const good = prepared.filter((event): event is PreparedEvent => !(event instanceof Problem))
      const emitted = await emit(tx, good, now, null, last)
      const results = emitted.results.then((all) => {
        const rest = all.values()
        return prepared.map((event) => (event instanceof Problem ? event : rest.next().value!))
      })
      // Whoever waits for the commit is told by it as well.
      results.catch(() => undefined)
      return { results }
    },

    async emitTo(tx, event, subscriberIds) {
      const now = clock.now()
      const prepared = prepareEvent(event, now)
      const { eventId } = prepared
      const [recorded] = await recordEvents(engine, tx, [prepared], now, null)
      if (recorded instanceof Problem) throw recorded
      const { id, isNew } = recorded!
      if (!isNew || subscriberIds.length === 0) return { id, eventId, committed: [], deliveryIds: [] }
      const { nonce } = prepared
      const rows = subscriberIds.map((subscriberId) => newDelivery({ id, nonce }, subscriberId, now, now))
      const before = generation()
      const made = await tx
        .insertInto('deliveries')
        .values(rows)
        .returning(['id', 'event', 'subscriber_id', 'due_at', 'nonce'])
        .execute()
      const committed = made.map((delivery) => freshOf(delivery, prepared, before))
      return { id, eventId, committed: committed, deliveryIds: made.map((delivery) => delivery.id) }
    },

    async emitEachTo(tx, addressed) {
      if (addressed.length === 0) return
      const now = clock.now()
      const prepared = addressed.map(({ event }) => prepareEvent(event, now))
      const recorded = await recordEvents(engine, tx, prepared, now, null)
      const rows = addressed.flatMap(({ subscriberIds }, index) => {
        const one = recorded[index]!
        if (one instanceof Problem) throw one
        const made = { id: one.id, nonce: prepared[index]!.nonce }
        return subscriberIds.map((id) => newDelivery(made, id, now, now))
      })
      await fanOut.insert(tx, rows)
    },
  }
}

function freshOf(
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

function settled<T>(work: () => T): T | Problem {
  try {
    return work()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** Of several events, a problem names the one at fault. */
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
