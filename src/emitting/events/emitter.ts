import { Problem } from '../../errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Database, RunLast, Tx } from '../../storage/database.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { EventCatalogue } from './event-catalogue.ts'
import { type NewEvent, type PreparedEvent, prepareEvent } from './event.ts'
import { type FanOut, insertRows, type InsertedDelivery, newDelivery } from './fan-out.ts'
import { type Recorded, recordEvents } from './recorded-events.ts'
import { schedule, type ScheduledEvents } from './scheduled-events.ts'
import { isOneOf } from '../../storage/sql-text.ts'
import type { CommittedDelivery } from '../store.ts'
import { GroupCommit } from '../../storage/group-commit.ts'

export interface Emitted extends Recorded {
  /** The stable id that subscribers get. */
  eventId: string
  /** The deliveries of the event, for the dispatcher after the commit; `undefined` if there are too many to return. */
  committed: readonly CommittedDelivery[] | undefined
  /** When it is sent, in milliseconds since 1970, if the caller chose a time. */
  deliverAt?: number
}

/**
 * Emits events in the caller's transaction: they and their deliveries are committed or rolled back with it. Returns a function to call
 * after the commit, which starts the deliveries without a scan; `database.signal('deliveries')` starts them too.
 * @param causedBy the number of the received event whose handler emits them
 * @throws Problem `invalid-body`, also for data that the declaration of the type does not allow; `id-conflict` if an event with
 * the same id and another type, data, audience, time or channels exists
 */
type EmitWithin = (tx: Tx, events: readonly NewEvent[], causedBy?: number) => Promise<() => void>

interface EmitterParts {
  database: Pick<Database, 'engine' | 'recordNumbers' | 'signal' | 'transaction'>
  clock: Clock
  catalogue: EventCatalogue
  fanOut: FanOut
  dispatcher: () => Pick<Dispatcher, 'generation' | 'offer'>
  scheduledEvents: Pick<ScheduledEvents, 'expect'>
}

/** An event and the subscribers that get it. */
interface Addressed {
  event: NewEvent
  subscriberIds: readonly string[]
}

interface PendingResults {
  /** Must not be awaited before the commit. */
  results: Promise<(Emitted | Problem)[]>
}

type Prepare = (event: NewEvent, now: number) => PreparedEvent

/**
 * Records events and inserts their deliveries, in transactions of its own or within one of the caller's. After the commit, `announce`
 * starts the deliveries.
 */
export class Emitter {
  readonly #parts: EmitterParts
  readonly #single: GroupCommit<NewEvent, Emitted>
  readonly emitWithin: EmitWithin = async (tx, events, causedBy) => {
    const emitted = await this.emitAll(tx, events, causedBy)
    return () => this.announce(emitted)
  }

  constructor(parts: EmitterParts) {
    this.#parts = parts
    this.#single = new GroupCommit<NewEvent, Emitted>({
      commit: (events) => this.commitEach(events),
      refuse: (reason) => new Problem(reason, { retryAfter: 1 }),
      // A commit begins in the next turn of the event loop. SQLite has one write lock.
      limits: { enough: 1, concurrency: parts.database.engine === 'sqlite' ? 1 : 3, batch: 200 },
    })
  }

  /** Passes committed events to the dispatcher, which then sends them without a scan. */
  announce(emitted: readonly Emitted[]): void {
    const { database, clock, dispatcher } = this.#parts
    dispatcher().offer(emitted.map(({ committed }) => committed))
    const now = clock.now()
    if (emitted.some(({ deliverAt = 0 }) => deliverAt > now)) database.signal('scheduled')
  }

  /**
   * Emits one event by group commit.
   * @throws as `EmitWithin`; Problem `overloaded` if too many events wait; StorageUnavailable
   */
  commit(event: NewEvent): Promise<Emitted> {
    return this.#single.add(event)
  }

  /** Emits events in one transaction; all of them or none. @throws as `EmitWithin`; StorageUnavailable */
  async commitAll(events: readonly NewEvent[]): Promise<Emitted[]> {
    const emitted = await this.#parts.database.transaction((tx) => this.emitAll(tx, events))
    this.announce(emitted)
    return emitted
  }

  /**
   * Emits events in one transaction, each with its own result: a problem with one does not prevent the others. A problem instead of an
   * event is its result.
   * @throws StorageUnavailable
   */
  async commitEach(events: readonly (NewEvent | Problem)[]): Promise<(Emitted | Problem)[]> {
    if (events.every((event) => event instanceof Problem)) return [...events]
    const { results } = await this.#parts.database.transaction((tx, last) => this.#emitEach(tx, last, events))
    const settled = await results
    this.announce(settled.filter((result): result is Emitted => !(result instanceof Problem)))
    return settled
  }

  /** Emits events to all subscribers that they match; all of them or none. @throws as `EmitWithin` */
  async emitAll(tx: Tx, events: readonly NewEvent[], causedBy?: number): Promise<Emitted[]> {
    const stored = await this.#storedOf(tx, events)
    return this.#emitAll(tx, events, (event, now) => this.#prepare(event, now, stored), causedBy)
  }

  /** Like emit, but for events of the service itself, whose types are not declared. */
  emitBuiltIn(tx: Tx, events: readonly NewEvent[], causedBy?: number): Promise<Emitted[]> {
    return this.#emitAll(tx, events, prepareEvent, causedBy)
  }

  /** @param last sends the last statement together with the commit; its result arrives with that of the commit */
  async #emitEach(tx: Tx, last: RunLast, events: readonly (NewEvent | Problem)[]): Promise<PendingResults> {
    const now = this.#parts.clock.now()
    const stored = await this.#storedOf(tx, events)
    const prepared = events.map((event) =>
      event instanceof Problem ? event : orProblem(() => this.#prepare(event, now, stored)),
    )
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
   * Emits events with new ids to the given subscribers, regardless of their event types. A subscriber that was removed
   * meanwhile gets no delivery. The number of statements does not depend on the number of events.
   */
  async emitTo(tx: Tx, addressed: readonly Addressed[]): Promise<Emitted[]> {
    const { clock, dispatcher } = this.#parts
    const { engine } = this.#parts.database
    const now = clock.now()
    const prepared = addressed.map(({ event }) => prepareEvent(event, now))
    const recorded = (await recordEvents(engine, tx, prepared, { now })).map(orThrow)
    const rows = addressed.flatMap(({ subscriberIds }, index) => {
      const event = { id: recorded[index]!.id, nonce: prepared[index]!.nonce }
      return subscriberIds.map((subscriberId) => newDelivery(event, subscriberId, now, now))
    })
    const { generation } = dispatcher()
    const inserted = await insertRows(engine, tx, rows)
    return this.#resultsOf(prepared, recorded, { inserted, generation }).map(orThrow)
  }

  #prepare(event: NewEvent, now: number, stored: ReadonlySet<string> | undefined): PreparedEvent {
    const prepared = prepareEvent(event, now)
    this.#parts.catalogue.check(prepared.type, prepared.data, stored)
    return prepared
  }

  /** Those types of the events that are not declared, but stored and not archived; `undefined` if none needs this check. */
  async #storedOf(tx: Tx, events: readonly (NewEvent | Problem)[]): Promise<ReadonlySet<string> | undefined> {
    const types = this.#parts.catalogue.undeclared(
      events.flatMap((event) => (event instanceof Problem ? [] : event.type)),
    )
    if (types.length === 0) return undefined
    const rows = await tx
      .selectFrom('event_types')
      .select('type')
      .where(isOneOf(this.#parts.database.engine, 'type', types))
      .where('archived', '=', 0)
      .execute()
    return new Set(rows.map(({ type }) => type))
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
    return (await results).map((result, index) => pointingAt(index, events, () => orThrow(result)))
  }

  async #emit(
    tx: Tx,
    events: readonly PreparedEvent[],
    { now, causedBy, last }: { now: number; causedBy: number | null; last?: RunLast },
  ): Promise<PendingResults> {
    const { database, fanOut, dispatcher } = this.#parts
    // PostgreSQL gets both in one round trip.
    const [recorded, candidates] = await Promise.all([
      recordEvents(database.engine, tx, events, { now, causedBy }),
      fanOut.candidates(tx, events),
    ])
    const times = events.some(({ deliverAt }) => deliverAt !== null)
      ? await this.#schedule(tx, events, recorded, now)
      : undefined
    const logged = newOf(events, recorded).filter(({ id }) => !((times?.get(id) ?? 0) > now))
    // Taken before the insert: a queue that is claimed later reads the deliveries from the table.
    const { generation } = dispatcher()
    const { inserted } = await fanOut.insertDeliveries(tx, logged, { candidates, now, run: last })
    const results = inserted.then((rows) =>
      this.#resultsOf(events, recorded, { inserted: rows, generation, times }),
    )
    return { results }
  }

  async #schedule(
    tx: Tx,
    events: readonly PreparedEvent[],
    recorded: readonly (Recorded | Problem)[],
    now: number,
  ): Promise<Map<number, number>> {
    const chosen = recorded.flatMap((result, index) => {
      const { deliverAt } = events[index]!
      return result instanceof Problem || deliverAt === null ? [] : [{ ...result, deliverAt }]
    })
    const times = await schedule(tx, chosen, now)
    const later = [...times.values()].filter((time) => time > now)
    if (later.length > 0) this.#parts.scheduledEvents.expect(later.reduce((a, b) => Math.min(a, b)))
    return times
  }

  /**
   * @param inserted `undefined` if there were too many deliveries to return
   * @param times when the events with a time are sent
   */
  #resultsOf(
    events: readonly PreparedEvent[],
    recorded: readonly (Recorded | Problem)[],
    about: {
      inserted: readonly InsertedDelivery[] | undefined
      generation: number
      times?: ReadonlyMap<number, number> | undefined
    },
  ): (Emitted | Problem)[] {
    const { inserted, generation, times } = about
    const deliveriesOf = inserted && Map.groupBy(inserted, ({ event }) => event)
    let highestId = 0
    const results = recorded.map((result, index): Emitted | Problem => {
      if (result instanceof Problem) return result
      const { id, isNew, at } = result
      if (isNew) highestId = Math.max(highestId, id)
      const event = events[index]!
      const deliveries = deliveriesOf && (deliveriesOf.get(id) ?? [])
      // An event that occurs twice in one call offers its deliveries once.
      deliveriesOf?.delete(id)
      const committed = deliveries?.map((delivery) => committedDelivery(delivery, event, generation))
      const emitted: Emitted = { id, eventId: event.eventId, isNew, at, committed }
      const deliverAt = times?.get(id)
      return deliverAt === undefined ? emitted : { ...emitted, deliverAt }
    })
    // Deliveries are returned in the order of their ids.
    this.#parts.database.recordNumbers(highestId, inserted?.at(-1)?.id ?? 0)
    return results
  }
}

/** The events that this call recorded, with their numbers. */
function newOf(events: readonly PreparedEvent[], recorded: readonly (Recorded | Problem)[]) {
  const logged: { id: number; event: PreparedEvent }[] = []
  for (const [index, result] of recorded.entries())
    if (!(result instanceof Problem) && result.isNew) logged.push({ id: result.id, event: events[index]! })
  return logged
}

function committedDelivery(
  { id, event, subscriber_id, due_at, nonce }: InsertedDelivery,
  { eventId, type, payload, audience, headers }: PreparedEvent,
  generation: number,
): CommittedDelivery {
  return {
    delivery: { id, event, nonce, subscriberId: subscriber_id, number: 1, begun: 1, dueAt: due_at },
    payload: { event_id: eventId, type, payload, audience, nonce, headers },
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

function orThrow<T>(result: T | Problem): T {
  if (result instanceof Problem) throw result
  return result
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
