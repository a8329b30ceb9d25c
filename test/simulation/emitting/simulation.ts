import { Chance } from '../../harness/chance.ts'
import { calm, rough, stormy, type Weather } from '../receiving/faults.ts'
import { VirtualTime } from '../receiving/virtual-time.ts'
import { Invariants } from './invariants.ts'
import { DispatcherNode } from './node.ts'
import { manners, Receivers } from './receivers.ts'
import { Sessions } from './sessions.ts'
import { Tables } from './tables.ts'
import type { World } from './world.ts'
import { runWatched } from '../runs.ts'

/** Milliseconds before each attempt. */
const schedule = [0, 200, 1_000, 4_000]
/** Milliseconds of virtual time that everything must be done in when nothing goes wrong any more. */
const restWithin = 600_000
/** Milliseconds that an event to a healthy subscriber may take when nothing goes wrong, whatever the others do. */
const healthyWithin = 4_500
const mostSteps = 400_000

const weathers: readonly [string, Weather][] = [
  ['calm', calm],
  ['rough', rough],
  ['stormy', stormy],
]

export interface Run {
  readonly seed: number
  readonly engine: 'sqlite' | 'postgres'
  readonly weather: string
  readonly deliveries: number
  readonly calls: number
  readonly dead: number
  readonly kills: number
  readonly steps: number
  /** Milliseconds, virtual. */
  readonly lasted: number
  /** The first thing that must not be. */
  readonly failure?: string
}

/**
 * One run of the dispatcher over a simulated queue, in which the seed decides everything: events are emitted to
 * subscribers that hang, flap, lie and answer late; processes are killed, suspended, stopped and started again, sessions break,
 * statements fail; then all is well again, and nothing may be lost, sent after its success, out of its order, or left.
 * @param onTrace is given each line of what happens
 */
export async function simulateDeliveries(seed: number, onTrace?: (line: string) => void): Promise<Run> {
  return runWatched(new Simulation(seed, onTrace))
}

class Simulation {
  readonly #seed: number
  readonly #chance: Chance
  readonly #time = new VirtualTime()
  readonly #tables = new Tables()
  readonly #receivers = new Receivers()
  readonly #world: World
  readonly #weather: string
  readonly #sessions: Sessions
  readonly #invariants: Invariants
  /** Processes that are to be there; one is missing while it is started again. */
  readonly #nodes: (DispatcherNode | undefined)[]
  #names = 0
  #events = 0
  #kills = 0
  #failure: string | undefined

  constructor(seed: number, onTrace?: (line: string) => void) {
    this.#seed = seed
    const chance = (this.#chance = new Chance(seed))
    const time = this.#time
    const engine = seed % 2 === 0 ? 'sqlite' : 'postgres'
    const [name, weather] = weathers[chance.below(weathers.length)]!
    this.#weather = name
    this.#nodes = Array.from({ length: engine === 'sqlite' ? 1 : 1 + chance.below(3) })
    this.#world = {
      engine,
      time,
      chance,
      tables: this.#tables,
      receivers: this.#receivers,
      weather,
      schedule,
      trace: (who, what) => onTrace?.(`${time.now.toFixed(2).padStart(11)} ${who}: ${what}`),
      notify: () => {
        for (const node of this.#nodes)
          if (node && !chance.is(this.#world.weather.signalIsLost))
            node.process.after(chance.next(), () => node.hear())
      },
      tell: (teller, id) => {
        for (const node of this.#nodes)
          if (node && node.process.name !== teller && !chance.is(this.#world.weather.signalIsLost))
            node.process.after(20 * chance.next(), () => node.hearOf(id))
      },
      fail: (what) => this.fail(what),
    }
    this.#sessions = new Sessions(this.#world)
    this.#invariants = new Invariants(this.#world, this.#sessions)
  }

  /** Only the first counts: what comes after may follow from it. */
  fail(what: string): void {
    this.#world.trace('FAILURE', what)
    this.#failure ??= what
  }

  async run(): Promise<Run> {
    const { chance } = this.#world
    this.#subscribe(2 + chance.below(6))
    for (const index of this.#nodes.keys()) this.#start(index)
    const chaosUntil = 4_000 + 30_000 * chance.next()
    this.#emitSome(chaosUntil)
    if (this.#weather === 'calm') this.#watchTheHealthy()
    else this.#upset(chaosUntil)
    await this.#until(() => this.#time.now >= chaosUntil, chaosUntil)
    this.#world.trace('all', 'is well from now on')
    this.#world.weather = calm
    this.#receivers.calm = true
    this.#resumeAll()
    await this.#rest()
    await this.#replaySome()
    await this.#stopAll()
    const deliveries = this.#tables.deliveries
    return {
      seed: this.#seed,
      engine: this.#world.engine,
      weather: this.#weather,
      deliveries: deliveries.length,
      calls: this.#receivers.calls.length,
      dead: deliveries.filter(({ status }) => status === 'dead').length,
      kills: this.#kills,
      steps: this.#time.steps,
      lasted: Math.round(this.#time.now),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    }
  }

  #subscribe(count: number): void {
    const { chance } = this.#world
    for (let n = 0; n < count; n += 1) {
      const id = `s${n}`
      this.#receivers.manners.set(id, chance.pick(manners))
      this.#tables.subscribers.set(id, {
        id,
        status: 'active',
        ordered: chance.is(0.3),
        concurrency: chance.pick([1, 2, 10]),
        rate: chance.is(0.25) ? chance.pick([0.5, 2, 20]) : undefined,
        timeout: chance.pick([500, 3_000]),
        updatedAt: 1,
      })
    }
  }

  #emitSome(until: number): void {
    const { chance, time } = this.#world
    const next = (): void => {
      const at = time.now + (chance.is(0.1) ? 3_000 : 150) * chance.next()
      if (at >= until || this.#events > 400) return
      time.at(at, () => {
        const node = chance.pick(this.#nodes)
        const burst = chance.is(0.05) ? 1 + chance.below(30) : 1
        for (let n = 0; n < burst; n += 1) this.#emit(node)
        if (chance.is(0.02)) this.#pauseOne()
        next()
      })
    }
    next()
  }

  #emit(node: DispatcherNode | undefined): void {
    if (!node) return
    const ids = [...this.#tables.subscribers.keys()].filter(
      (id) => this.#chance.is(0.6) && this.#tables.subscribers.get(id)!.status !== 'disabled',
    )
    if (ids.length > 0) node.emit((this.#events += 1), ids)
  }

  #pauseOne(): void {
    const { chance, time } = this.#world
    const row = chance.pick([...this.#tables.subscribers.values()])
    row.status = 'paused'
    row.updatedAt += 1
    this.#someNode()?.changed(row.id)
    time.at(time.now + 3_000 * chance.next(), () => this.#resume(row.id))
  }

  #resume(id: string): void {
    const row = this.#tables.subscribers.get(id)!
    if (row.status === 'active') return
    row.status = 'active'
    row.updatedAt += 1
    this.#someNode()?.changed(id)
  }

  /** One that is there, of any number. */
  #someNode(): DispatcherNode | undefined {
    const there = this.#nodes.filter((node) => node !== undefined)
    return there.length === 0 ? undefined : this.#chance.pick(there)
  }

  #resumeAll(): void {
    for (const id of this.#tables.subscribers.keys()) this.#resume(id)
  }

  /** Those that answer at once and have no bound of their own are never held up by the others. */
  #watchTheHealthy(): void {
    const { time } = this.#world
    for (const row of this.#tables.subscribers.values()) {
      if (this.#receivers.manners.get(row.id) !== 'fast' || row.ordered) continue
      if (row.rate !== undefined || row.concurrency < 10) continue
      const watch = (): void => {
        if (this.#receivers.calm) return
        for (const { id, subscriberId, status, dueAt } of this.#tables.deliveries) {
          const waits = subscriberId === row.id && status === 'pending' && row.status === 'active'
          if (waits && Date.UTC(2026, 0, 1) + time.now - dueAt > healthyWithin)
            return this.fail(`delivery ${id} to the healthy ${row.id} waits for ${healthyWithin} ms`)
        }
        time.at(time.now + 500, watch)
      }
      watch()
    }
  }

  #upset(until: number): void {
    const { chance, time } = this.#world
    const next = (): void => {
      const at = time.now + 4_000 * chance.next()
      if (at >= until) return
      time.at(at, () => {
        this.#upsetOnce()
        next()
      })
    }
    next()
  }

  #upsetOnce(): void {
    const { chance, engine, trace } = this.#world
    const index = chance.below(this.#nodes.length)
    const node = this.#nodes[index]
    if (!node) return
    const what = chance.next()
    if (what < 0.4) {
      this.#kills += 1
      node.kill()
      this.#restart(index)
    } else if (what < 0.55) {
      this.#stop(index, node)
    } else if (what < 0.75) {
      const lasts = chance.is(0.3) ? 15_000 * chance.next() : 500 * chance.next()
      trace(node.process.name, `is suspended for ${Math.round(lasts)} ms`)
      node.process.suspend(lasts)
      // As a machine that is put to sleep: its connections are taken for dead meanwhile.
      if (chance.is(0.5)) this.#sessions.breakThose(node.process, true)
    } else if (engine === 'postgres') this.#upsetSession(node)
  }

  #upsetSession({ process }: DispatcherNode): void {
    const { chance, trace } = this.#world
    const lasts = chance.is(0.5) ? 2_000 * chance.next() : 15_000 * chance.next()
    const manner = chance.next()
    if (manner < 0.6) {
      trace(process.name, `loses its session, and gets none for ${Math.round(lasts)} ms`)
      this.#sessions.breakThose(process, true)
      if (manner < 0.4) this.#sessions.cutOff(process, lasts)
    } else if (manner < 0.9) {
      trace(process.name, `is cut off for ${Math.round(lasts)} ms`)
      this.#sessions.cutOff(process, lasts)
    } else {
      trace(process.name, 'has its session ended behind its back')
      this.#sessions.cutOff(process, lasts)
      this.#sessions.breakThose(process, false)
    }
  }

  #start(index: number): void {
    this.#nodes[index] = new DispatcherNode(`p${(this.#names += 1)}`, this.#world, this.#sessions)
  }

  #restart(index: number): void {
    const { chance, time } = this.#world
    this.#nodes[index] = undefined
    // As quickly as a supervisor does, or after a while.
    time.at(time.now + (chance.is(0.7) ? 200 : 8_000) * chance.next(), () => this.#start(index))
  }

  #stop(index: number, node: DispatcherNode): void {
    this.#nodes[index] = undefined
    void node.stop(2_000 * this.#chance.next()).then(() => this.#restart(index))
  }

  #done(): boolean {
    return this.#tables.deliveries.every(({ status }) => status !== 'pending')
  }

  async #rest(): Promise<void> {
    const limit = this.#time.now + restWithin
    const done = await this.#until(() => this.#done(), limit)
    if (!done) this.fail(`not all was done ${restWithin} ms after everything was well`)
    this.#invariants.settled()
  }

  async #replaySome(): Promise<void> {
    const finished = this.#tables.deliveries.filter(() => this.#chance.is(0.2))
    const [node] = this.#nodes
    if (finished.length === 0 || !node) return
    for (const row of finished) {
      this.#invariants.replayed(row)
      this.#tables.replay(row, node.process.now())
    }
    this.#world.trace('somebody', `replays ${finished.length}`)
    this.#world.notify()
    await this.#rest()
  }

  async #stopAll(): Promise<void> {
    const stopping = this.#nodes.filter((node) => node !== undefined)
    let stopped = 0
    for (const node of stopping) void node.stop(1_000).then(() => (stopped += 1))
    const all = await this.#until(() => stopped === stopping.length, this.#time.now + 60_000)
    if (!all) this.fail('a process does not stop')
  }

  /** Goes on until then, or until something is wrong. */
  async #until(done: () => boolean, limit: number): Promise<boolean> {
    if (this.#failure !== undefined) return true
    await this.#time.run(() => done() || this.#failure !== undefined || this.#time.steps > mostSteps, limit)
    if (this.#time.steps > mostSteps) this.fail('it does not come to rest')
    return done() || this.#failure !== undefined
  }
}
