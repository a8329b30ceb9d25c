import type { ClaimSession, OpenClaimSession } from '../../../src/storage/postgres/session/claim-session.ts'
import { ConnectionLost, latency, Refused } from '../receiving/faults.ts'
import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { World } from './world.ts'

// As in src/storage/postgres/session/claim-session.ts, in milliseconds.
const connectWithin = 2_000
const answerWithin = 4_000
/** When the server takes a machine for gone that it cannot reach. */
const goneAfter = 8_000

/** What the database knows of the sessions of all dispatchers. */
export class Sessions {
  readonly world: World
  /** By the number of a dispatcher, the session that holds its lock; a session that has ended holds none. */
  readonly locks = new Map<number, Session>()
  /** Processes that others took for dead. What they did before may be written down after others have read of it. */
  readonly overtaken = new Set<VirtualProcess>()
  readonly #unreachableUntil = new Map<VirtualProcess, number>()

  constructor(world: World) {
    this.world = world
  }

  openFor(process: VirtualProcess): OpenClaimSession {
    return (onBroken) => new Session(this, process, onBroken)
  }

  reaches(process: VirtualProcess): boolean {
    return (this.#unreachableUntil.get(process) ?? 0) <= this.world.time.now
  }

  /** The server ends what a process has open. @param heard whether that process is told, as it is unless it sleeps or is cut off */
  breakThose(process: VirtualProcess, heard: boolean): void {
    for (const session of this.locks.values()) if (session.process === process) session.endedByServer(heard)
  }

  /** Nothing goes through between the process and the server for so long; the server notices late. */
  cutOff(process: VirtualProcess, lasts: number): void {
    const { time } = this.world
    this.#unreachableUntil.set(process, time.now + lasts)
    time.at(time.now + goneAfter, () => {
      if (!this.reaches(process)) this.breakThose(process, false)
    })
  }

  missing(): number[] {
    return [...this.world.tables.dispatchers].filter((id) => !this.locks.get(id)?.open)
  }

  /** Returns how many lanes were theirs. */
  takeOver(ids: readonly number[]): number {
    const { tables, trace } = this.world
    const dead = ids.filter((id) => tables.dispatchers.has(id) && !this.locks.get(id)?.open)
    for (const id of dead) {
      trace('sessions', `dispatcher ${id} is struck off`)
      this.#overtake(dead, this.locks.get(id)!)
    }
    return dead.reduce((lanes, id) => lanes + tables.strike(id), 0)
  }

  /** @param dead the numbers that are struck off together: a process may have given up one of them and lost another. */
  #overtake(dead: readonly number[], { process, heard }: Session): void {
    const { receivers, tables, time, fail } = this.world
    this.overtaken.add(process)
    // It has noticed, and has another number by now, which is its own also while a session is made anew for it.
    for (const [number, other] of this.locks)
      if (!dead.includes(number) && other.process === process && tables.dispatchers.has(number)) return
    // A suspended process cannot end its attempts.
    const awake = process.alive && process.suspendedUntil < time.now - 50
    for (const call of receivers.calls)
      if (call.process === process && call.endedAt === undefined) {
        if (awake && heard) fail(`${process.name} was taken for dead, and still sends ${call.event}`)
        call.overtaken = true
      }
  }
}

class Session implements ClaimSession {
  readonly process: VirtualProcess
  open = false
  /** Whether the process was told of the end. */
  heard = false
  #ended = false
  readonly #sessions: Sessions
  readonly #onBroken: (error?: unknown) => void

  constructor(sessions: Sessions, process: VirtualProcess, onBroken: (error?: unknown) => void) {
    this.#sessions = sessions
    this.process = process
    this.#onBroken = onBroken
  }

  enlist(id: number | undefined): Promise<{ id: number; held: boolean } | undefined> {
    const { world, locks } = this.#sessions
    return this.#ask(connectWithin, () => {
      if (id !== undefined && !world.tables.dispatchers.has(id)) return undefined
      const number = id ?? world.tables.enlist()
      if (locks.get(number)?.open) return { id: number, held: false }
      this.open = true
      locks.set(number, this)
      world.trace(this.process.name, `is dispatcher ${number}`)
      return { id: number, held: true }
    })
  }

  findMissing(): Promise<number[]> {
    return this.#ask(answerWithin, () => this.#sessions.missing(), true)
  }

  takeOver(ids: readonly number[]): Promise<number> {
    return this.#ask(answerWithin, () => this.#sessions.takeOver(ids), true)
  }

  leave(id: number): Promise<void> {
    return this.#ask(answerWithin, () => void this.#sessions.world.tables.strike(id), true)
  }

  async end(): Promise<void> {
    const { world } = this.#sessions
    this.#ended = true
    world.time.at(world.time.now + world.chance.next(), () => (this.open = false))
  }

  endedByServer(heard: boolean): void {
    if (!this.open) return
    this.open = false
    this.heard = heard
    if (heard) this.process.after(0, () => this.#onBroken(new ConnectionLost()))
  }

  #ask<T>(within: number, work: () => T, opened = false): Promise<T> {
    const { world } = this.#sessions
    const { time, chance, weather } = world
    return new Promise((resolve, reject) => {
      const cancel = this.process.after(within, () => reject(new Error('no answer')))
      const answer = (then: () => void): void =>
        void this.process.after(latency(weather, chance), () => {
          cancel()
          then()
        })
      const arrive = (): void => {
        if (!this.process.alive || this.#ended) return
        // What is sent into the void is sent again and again.
        if (!this.#sessions.reaches(this.process)) return void time.at(time.now + 200, arrive)
        if (opened && !this.open) return answer(() => reject(new ConnectionLost()))
        if (!opened && chance.is(weather.connectionBreaks)) return answer(() => reject(new Refused()))
        const result = work()
        answer(() => resolve(result))
      }
      time.at(time.now + latency(weather, chance), arrive)
    })
  }
}
