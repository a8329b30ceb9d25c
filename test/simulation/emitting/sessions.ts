import type { ClaimListener } from '../../../src/storage/postgres/claimer.ts'
import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import type { VirtualProcess } from '../receiving/virtual-time.ts'
import type { World } from './world.ts'

// As in src/storage/postgres/claimer.ts, in milliseconds.
const loseAfter = 2_500
const takeOverAfter = 6_000
const lookEvery = 1_000

/** The dispatchers of all processes, and the session of each. */
export class Sessions {
  readonly #world: World
  readonly #holders = new Map<number, Session>()
  readonly #listeners = new Set<Session>()
  /** Processes that others took for dead. What they did before may be written down after others have read of it. */
  readonly overtaken = new Set<VirtualProcess>()
  /** Those of them that slept at that moment: they cannot have known it. */
  readonly overtakenAsleep = new Set<VirtualProcess>()

  constructor(world: World) {
    this.#world = world
  }

  enlist(session: Session): number {
    const id = this.#world.tables.enlist()
    this.#holders.set(id, session)
    this.#listeners.add(session)
    return id
  }

  /** The lock is gone: who has no session for so long is taken for dead, and the others hear of it. */
  missing(id: number, session: Session): void {
    const { time, chance } = this.#world
    const { connections } = session
    time.at(time.now + takeOverAfter + lookEvery * chance.next(), () => {
      // It was there meanwhile, and may be missing again: that is counted from then.
      if (session.known === id && session.connections !== connections) return
      this.overtaken.add(session.process)
      if (session.process.suspendedUntil > time.now) this.overtakenAsleep.add(session.process)
      this.strike(id)
    })
  }

  strike(id: number): void {
    const { tables, trace } = this.#world
    if (!tables.dispatchers.has(id)) return
    tables.strike(id)
    this.#holders.delete(id)
    trace('sessions', `dispatcher ${id} is struck off`)
    for (const session of this.#listeners) session.freed()
  }

  knows(id: number): boolean {
    return this.#holders.has(id)
  }

  /** The process of a dispatcher is no more. */
  gone(session: Session): void {
    this.#listeners.delete(session)
  }
}

/** A process's session. */
export class Session {
  readonly #sessions: Sessions
  readonly process: VirtualProcess
  #listener: ClaimListener | undefined
  /** How often it was made. */
  connections = 0
  #id: number | undefined
  #there = false

  constructor(sessions: Sessions, process: VirtualProcess) {
    this.#sessions = sessions
    this.process = process
  }

  start(listener: ClaimListener): void {
    if (this.#listener) return
    this.#listener = listener
    this.#connect()
  }

  /** @throws StorageUnavailable while others could take this process for dead */
  get id(): number {
    if (!this.#there || this.#id === undefined) throw new StorageUnavailable(new Error('no session'))
    return this.#id
  }

  get known(): number | undefined {
    return this.#id
  }

  freed(): void {
    this.process.after(0, () => this.#listener?.freed())
  }

  /** It breaks, and is made anew after a while: in time, or too late. */
  breaks(lasts: number): void {
    if (!this.#there) return
    this.#there = false
    const id = this.#id!
    this.#sessions.missing(id, this)
    this.process.after(Math.min(lasts, loseAfter), () => {
      if (lasts < loseAfter) return this.#connect()
      this.#id = undefined
      this.#listener?.lost()
      this.process.after(lasts - loseAfter, () => this.#connect())
    })
  }

  /** As the kernel ends it when its process is killed. */
  ends(): void {
    this.#there = false
    this.#sessions.gone(this)
    if (this.#id !== undefined) this.#sessions.missing(this.#id, this)
  }

  leave(): void {
    if (this.#id !== undefined) this.#sessions.strike(this.#id)
    this.#sessions.gone(this)
    this.#there = false
  }

  #connect(): void {
    this.connections += 1
    // Struck off while it slept: as the claimer, it finds that its row is gone.
    if (this.#id !== undefined && !this.#sessions.knows(this.#id)) {
      this.#id = undefined
      this.#listener?.lost()
    }
    this.#id ??= this.#sessions.enlist(this)
    this.#there = true
  }
}
