import type { Clock } from '../clock.ts'
import { Problem } from '../errors.ts'
import type { Tx } from '../storage/database.ts'
import type { EventCatalogue } from './event-catalogue.ts'
import { prepareEvent, type NewEvent, type PreparedEvent } from './event.ts'
import { newDelivery, type FanOut, type NewInLog } from './fan-out.ts'
import { recordEvents } from './outbox.ts'

export interface Emitted {
  /** The event's place in the log. */
  id: number
  /** The stable id that subscribers get. */
  eventId: string
}

/**
 * Emits events within the caller's transaction: they and their deliveries exist when it commits, and never did when it
 * rolls back. After the commit the caller wakes the dispatcher: `database.signal('deliveries')`. `causedBy` is the number of
 * the received event whose handler emits them.
 * @throws Problem `invalid-body`, also for what the declaration of its type does not allow; `id-conflict` when an id is
 * taken by an event of another type, other data or another audience.
 */
export type EmitWithin = (tx: Tx, events: readonly NewEvent[], causedBy?: number) => Promise<Emitted[]>

export interface EmitterParts {
  clock: Clock
  catalogue: EventCatalogue
  fanOut: FanOut
}

export interface Emitter {
  /** To every subscriber that the events are for; all of them or none. */
  within: EmitWithin
  /** The same for events that the service itself makes: their types need no declaration. */
  builtIn: EmitWithin
  /** Each by itself: what is wrong with one keeps none of the others from being emitted. */
  settle: (tx: Tx, events: readonly NewEvent[]) => Promise<(Emitted | Problem)[]>
  /** To these subscribers alone, whatever they ask for. Returns the deliveries' ids, none when it was emitted before. */
  toThese: (
    tx: Tx,
    event: NewEvent,
    subscriberIds: readonly string[],
  ) => Promise<Emitted & { deliveryIds: number[] }>
}

export function createEmitter({ clock, catalogue, fanOut }: EmitterParts): Emitter {
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
  ): Promise<(Emitted | Problem)[]> {
    const recorded = await recordEvents(tx, events, now, causedBy)
    const made: NewInLog[] = []
    for (const [index, result] of recorded.entries())
      if (!(result instanceof Problem) && result.isNew) made.push({ id: result.id, event: events[index]! })
    await fanOut.deliver(tx, made, now)
    return recorded.map((result, index) =>
      result instanceof Problem ? result : { id: result.id, eventId: events[index]!.eventId },
    )
  }

  const allWithin =
    (prepareOne: typeof prepareEvent): EmitWithin =>
    async (tx, events, causedBy) => {
      if (events.length === 0) return []
      const now = clock.now()
      const prepared = events.map((event, index) => pointingAt(index, events, () => prepareOne(event, now)))
      const results = await emit(tx, prepared, now, causedBy ?? null)
      return results.map((result, index) =>
        pointingAt(index, events, () => {
          if (result instanceof Problem) throw result
          return result
        }),
      )
    }

  return {
    within: allWithin(prepare),
    builtIn: allWithin(prepareEvent),

    async settle(tx, events) {
      const now = clock.now()
      const prepared = events.map((event) => settled(() => prepare(event, now)))
      const good = prepared.filter((event): event is PreparedEvent => !(event instanceof Problem))
      const results = (await emit(tx, good, now, null)).values()
      return prepared.map((event) => (event instanceof Problem ? event : results.next().value!))
    },

    async toThese(tx, event, subscriberIds) {
      const now = clock.now()
      const prepared = prepareEvent(event, now)
      const { eventId } = prepared
      const [recorded] = await recordEvents(tx, [prepared], now, null)
      if (recorded instanceof Problem) throw recorded
      const { id, isNew } = recorded!
      if (!isNew || subscriberIds.length === 0) return { id, eventId, deliveryIds: [] }
      const rows = subscriberIds.map((subscriberId) => newDelivery(id, subscriberId, now, now))
      const made = await tx.insertInto('deliveries').values(rows).returning('id').execute()
      return { id, eventId, deliveryIds: made.map((delivery) => delivery.id) }
    },
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
