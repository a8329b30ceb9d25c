import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { Call } from './receivers.ts'
import type { DeliveryRow } from './tables.ts'
import type { Sessions } from './sessions.ts'
import type { World } from './world.ts'

/** Milliseconds by which times of two machines differ, and by which a timer comes late. */
const tolerance = 5

interface Flight {
  readonly call: Call
  readonly row: DeliveryRow
}

/** What must hold in every run, whatever happened in it. */
export class Invariants {
  readonly #world: World
  readonly #overtaken: ReadonlySet<VirtualProcess>
  readonly #rows = new Map<string, DeliveryRow>()
  /** Calls of each delivery since it was last replayed. */
  readonly #flights = new Map<DeliveryRow, Flight[]>()
  readonly #ofSubscriber = new Map<string, Flight[]>()

  constructor(world: World, { overtaken }: Sessions) {
    this.#world = world
    this.#overtaken = overtaken
    world.receivers.onCall = (call) => this.#called(call)
  }

  #rowOf(call: Call): DeliveryRow {
    const key = `${call.subscriberId} ${call.event}`
    let row = this.#rows.get(key)
    if (!row) {
      row = this.#world.tables.deliveries.find(
        ({ subscriberId, event }) => subscriberId === call.subscriberId && event === call.event,
      )
      if (!row) throw new Error(`${key} was sent, and never emitted`)
      this.#rows.set(key, row)
    }
    return row
  }

  replayed(row: DeliveryRow): void {
    this.#flights.delete(row)
  }

  #called(call: Call): void {
    const { fail, tables } = this.#world
    const subscriber = tables.subscribers.get(call.subscriberId)!
    const row = this.#rowOf(call)
    const what = `delivery ${row.id} (event ${call.event} to ${call.subscriberId})`
    const flights = this.#flights.get(row) ?? []
    this.#flights.set(row, flights)
    const others = this.#ofSubscriber.get(call.subscriberId) ?? []
    this.#ofSubscriber.set(call.subscriberId, others)

    // Its new owner had read it before the one that was taken for dead could write down that it was done.
    const doneBehindItsBack = flights.some(
      ({ call: { process } }) => process !== call.process && this.#overtaken.has(process),
    )
    if (row.status !== 'pending' && !doneBehindItsBack) fail(`${what} is sent although it is ${row.status}`)
    for (const { call: before } of flights) {
      // What a killed process was doing is the crash window; what a live one does is not over.
      if (before.process === call.process && before.endedAt === undefined)
        fail(`${what} is sent twice at a time`)
      if (before.process === call.process && before.succeeded)
        fail(`${what} is sent again by the process that saw it succeed`)
      if (
        before.process !== call.process &&
        before.process.alive &&
        before.endedAt === undefined &&
        // Asleep, or cut off: it cannot end what it had begun.
        !before.overtaken
      )
        fail(`${what} is sent by two processes at a time`)
    }
    const running = others.filter(
      ({ call: { endedAt, overtaken, process } }) => endedAt === undefined && process.alive && !overtaken,
    )
    const most = subscriber.ordered ? 1 : subscriber.concurrency
    if (running.length >= most)
      fail(`${call.subscriberId} has ${running.length + 1} attempts at a time instead of ${most}`)
    this.#checkRate(others, call, subscriber.rate)
    if (subscriber.ordered) {
      const earlier = tables.deliveries.find(
        ({ id, subscriberId, status }) =>
          subscriberId === call.subscriberId && id < row.id && status === 'pending',
      )
      if (earlier) fail(`${what} is sent before delivery ${earlier.id}, which is pending`)
    }
    flights.push({ call, row })
    others.push({ call, row })
  }

  /** In no span of time more than the rate allows, and a second's worth that was saved up. */
  #checkRate(others: readonly Flight[], call: Call, rate: number | undefined): void {
    if (rate === undefined) return
    const burst = Math.max(1, rate)
    for (let back = 1; back <= Math.min(others.length, 40); back += 1) {
      const first = others[others.length - back]!.call
      const span = call.at - first.at
      // A lane that changes hands begins with one.
      const processes = new Set([call.process, ...others.slice(-back).map((other) => other.call.process)])
      const hands = processes.size
      if (back + 1 > burst + ((span + tolerance) / 1000) * rate + hands + 1e-9)
        return this.#world.fail(
          `${call.subscriberId} has ${back + 1} attempts within ${span.toFixed(1)} ms at a rate of ${rate}`,
        )
    }
  }

  /** When all was well for long enough. */
  settled(): void {
    const { tables, fail, schedule } = this.#world
    for (const row of tables.deliveries) {
      const { status } = tables.subscribers.get(row.subscriberId)!
      if (row.status === 'pending' && status === 'active')
        fail(`delivery ${row.id} to ${row.subscriberId} is left`)
      if (row.status === 'pending') continue
      const calls = this.#flights.get(row) ?? []
      if (row.attempts - row.attemptsBefore > schedule.length)
        fail(`delivery ${row.id} has ${row.attempts - row.attemptsBefore} attempts`)
      if (row.status === 'delivered' && !calls.some(({ call }) => call.succeeded))
        fail(`delivery ${row.id} is written down as delivered, and never was`)
      if (row.status === 'dead' && row.attempts - row.attemptsBefore < schedule.length)
        fail(`delivery ${row.id} is dead before its last attempt`)
    }
  }
}
