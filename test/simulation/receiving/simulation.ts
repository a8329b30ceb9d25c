import type { IncomingEvent } from '../../../src/receiving/queue/store.ts'
import { unhandledWait } from '../../../src/receiving/worker/timing.ts'
import { Chance } from '../../harness/chance.ts'
import { BoundedRuns } from './bounded-runs.ts'
import { Claimers } from './claimers.ts'
import { calm, rough, stormy, type Weather } from './faults.ts'
import { Invariants } from './invariants.ts'
import { ServiceNode } from './node.ts'
import { Server } from './server.ts'
import { SlotTable } from './slots.ts'
import { Storage } from './storage.ts'
import { VirtualTime } from './virtual-time.ts'
import { kinds, newTask, type Task } from './work.ts'
import type { World } from './world.ts'
import { runWatched } from '../runs.ts'

/** Milliseconds: the first attempt is due at once, the others behind these. */
const schedule = [0, 100, 1_000, 4_000]
/** Milliseconds of virtual time that everything must be done in when nothing goes wrong any more. */
const restWithin = 300_000
/** Milliseconds that a quick event may take from its receipt when nothing goes wrong, whatever others do. */
const quickWithin = 20_000
/** Milliseconds that a stop may take, beyond what handlers are given. */
const stopWithin = 60_000
/** Only so many events come first that may end their process. */
const mostKillers = 12
const mostSteps = 400_000
const shortKinds = kinds.filter(({ type }) => ['quick', 'ordered', 'emits', 'idle'].includes(type))

export interface Run {
  readonly seed: number
  readonly engine: 'sqlite' | 'postgres'
  readonly weather: string
  readonly events: number
  readonly processed: number
  readonly failed: number
  readonly kills: number
  readonly steps: number
  /** Milliseconds, virtual. */
  readonly lasted: number
  /** The first thing that must not be. */
  readonly failure?: string
}

const weathers: readonly [string, Weather][] = [
  ['calm', calm],
  ['rough', rough],
  ['stormy', stormy],
]

/** A storage is made once for many runs: that takes longer than a run. */
const storage = new Storage()

/**
 * One run of the worker over a simulated database, in which the seed decides everything: events come, processes are
 * killed, suspended, stopped and started again, the database goes and comes back; then all is well again, and nothing may
 * be lost, done twice, or left.
 * @param onTrace is given each line of what happens
 */
export async function simulate(seed: number, onTrace?: (line: string) => void): Promise<Run> {
  return runWatched(new Simulation(seed, onTrace))
}

class Simulation {
  readonly #seed: number
  readonly #chance: Chance
  readonly #time = new VirtualTime()
  readonly #world: World
  readonly #tasks = new Map<string, Task>()
  readonly #invariants: Invariants
  readonly #weather: string
  /** Processes that are to be there; one is missing while it is started again. */
  readonly #nodes: (ServiceNode | undefined)[]
  readonly #connections: number
  readonly #settles: boolean
  #names = 0
  #kills = 0
  #failure: string | undefined

  constructor(seed: number, onTrace?: (line: string) => void) {
    storage.clear()
    this.#seed = seed
    const chance = (this.#chance = new Chance(seed))
    const time = this.#time
    const engine = seed % 2 === 0 ? 'sqlite' : 'postgres'
    const [name, weather] = weathers[chance.below(weathers.length)]!
    this.#weather = name
    this.#nodes = Array.from({ length: engine === 'sqlite' ? 1 : 1 + chance.below(3) })
    this.#connections = chance.pick([3, 6, 12])
    const claimers = new Claimers()
    const world: World = {
      engine,
      time,
      chance,
      storage,
      claimers,
      slots: new SlotTable(claimers),
      bounded: new BoundedRuns(),
      weather,
      trace: (who, what) => onTrace?.(`${time.now.toFixed(2).padStart(11)} ${who}: ${what}`),
      newName: (what) => `${what}${(this.#names += 1)}`,
      notify: (signal) => {
        for (const node of this.#nodes) {
          if (!node || chance.is(world.weather.signalIsLost)) continue
          node.process.after(chance.next(), () => node.hear(signal))
        }
      },
      server: undefined as unknown as Server,
    }
    this.#world = Object.assign(world, { server: new Server(world) })
    this.#settles = name === 'calm'
    this.#invariants = new Invariants(storage, this.#tasks, schedule.length, (what) => this.fail(what))
    storage.onCommit = (transaction) => this.#invariants.afterCommit(transaction)
  }

  /** Only the first counts: what comes after may follow from it. */
  fail(what: string): void {
    this.#world.trace('FAILURE', what)
    this.#failure ??= what
  }

  async run(): Promise<Run> {
    for (const index of this.#nodes.keys()) this.#start(index)
    const chaosUntil = 5_000 + 40_000 * this.#chance.next()
    this.#receiveSome(chaosUntil)
    if (!this.#settles) this.#upset(chaosUntil)
    await this.#until(() => this.#time.now >= chaosUntil, chaosUntil)
    this.#world.trace('all', 'is well from now on')
    this.#world.weather = calm
    await this.#rest('')
    this.#check()
    const failed = this.#invariants.failed()
    if (failed.length > 0) await this.#reprocess(failed)
    await this.#stopAll()
    const tasks = [...this.#tasks.values()]
    const stillFailed = this.#invariants.failed().length
    return {
      seed: this.#seed,
      engine: this.#world.engine,
      weather: this.#weather,
      events: tasks.length,
      processed: tasks.length - stillFailed,
      failed: stillFailed,
      kills: this.#kills,
      steps: this.#time.steps,
      lasted: Math.round(this.#time.now),
      ...(this.#failure !== undefined && { failure: this.#failure }),
    }
  }

  /** Goes on until then, or until something is wrong. False when it did not come. */
  async #until(done: () => boolean, limit: number): Promise<boolean> {
    const first = this.#time.steps
    return this.#time.run(() => {
      if (this.#time.steps - first > mostSteps) this.fail('it does not come to rest')
      return this.#failure !== undefined || done()
    }, limit)
  }

  async #rest(when: string): Promise<void> {
    const limit = this.#time.now + restWithin
    await this.#until(() => this.#nodes.every(Boolean) && this.#world.server.up, limit)
    if (!(await this.#until(() => this.#invariants.settled, limit)))
      this.fail(`something is left undone${when}: ${this.#invariants.unsettled()}`)
  }

  #check(): void {
    if (this.#failure === undefined)
      this.#invariants.atTheEnd({ calm: this.#settles, engine: this.#world.engine })
  }

  /** Some of what has failed is cured by then. */
  async #reprocess(failed: readonly string[]): Promise<void> {
    for (const id of failed) {
      const task = this.#tasks.get(id)!
      task.reprocessed = true
      if (this.#chance.is(0.7)) task.bad = 0
    }
    this.#world.trace('all', `that failed is processed again: ${failed.join(' ')}`)
    let done = false
    const limit = this.#time.now + restWithin
    while (!done && this.#time.now < limit && this.#failure === undefined) {
      const node = this.#nodes.find((one) => one?.process.alive)
      void node?.reprocess().then(() => (done = true))
      // A handler may end the process meanwhile.
      const over = (): boolean => done || node?.process.alive !== true
      await this.#until(() => over() && (done || this.#nodes.some(Boolean)), limit)
    }
    if (!done) this.fail('reprocessing does not end')
    await this.#rest(' after reprocessing')
    this.#check()
  }

  async #stopAll(): Promise<void> {
    const limit = this.#time.now + stopWithin
    let stopped = 0
    // A handler may have ended a process, which is started again.
    await this.#until(() => this.#nodes.every(Boolean), limit)
    for (const node of this.#nodes) void node?.stop(0).then(() => (stopped += 1))
    await this.#until(() => stopped === this.#nodes.length, limit)
    if (stopped < this.#nodes.length) this.fail('a stop does not end')
  }

  #start(index: number): void {
    this.#nodes[index] = new ServiceNode(this.#world.newName('process '), {
      world: this.#world,
      tasks: this.#tasks,
      schedule,
      connections: this.#connections,
      fail: (what) => this.fail(what),
      exit: (node) => {
        this.#kills += 1
        node.kill()
        // One that was stopping is started again by `#stop`.
        if (this.#nodes[index] === node) this.#restart(index)
      },
    })
  }

  #receiveSome(until: number): void {
    const { chance, time } = this.#world
    // Few of all kinds, or many short ones, which share their commits.
    const short = chance.is(0.5)
    const count = short ? 30 + chance.below(60) : 5 + chance.below(40)
    const all = this.#settles ? kinds.filter(({ type }) => type !== 'killer') : kinds
    const some = short ? shortKinds : chance.is(0.5) ? all : [chance.pick(all), chance.pick(all)]
    const others = some.filter(({ type }) => type !== 'killer')
    const harmless = others.length > 0 ? others : all.filter(({ type }) => type !== 'killer')
    const options = { most: schedule.length + 1, trouble: chance.pick([0, 0.05, 0.3]) }
    const inBursts = chance.pick([0.2, 0.5, 1])
    for (let number = 1; number <= count; number += 1) {
      // Each of them ends several processes, and a new one waits for seconds before it takes over.
      const kind = chance.pick(number > mostKillers ? harmless : some)
      const task = newTask(chance, kind, number, options)
      this.#tasks.set(task.eventId, task)
      // In bursts, or one by one.
      const at = chance.is(inBursts) ? (until / 4) * chance.below(4) : until * 0.9 * chance.next()
      for (let again = chance.is(0.2) ? 3 : 1; again > 0; again -= 1)
        time.at(at + (again - 1) * 3_000 * chance.next(), () => void this.#receive(task))
    }
  }

  async #receive(task: Task): Promise<void> {
    const { chance, time, trace } = this.#world
    const node = chance.pick(this.#nodes)
    if (!node) return
    const now = node.process.now()
    const { eventId, type, orderKey } = task
    const event: IncomingEvent = {
      source: 'provider',
      eventId,
      type,
      contentType: 'application/json',
      payload: new Uint8Array(),
      headers: '{}',
      receivedAt: now,
      status: 'pending',
      // It has waited for a process with a handler for long enough.
      dueAt: type === 'nobody' ? now - unhandledWait : now,
      orderKey,
    }
    try {
      await node.keep([event])
    } catch {
      return
    }
    trace(node.process.name, `acknowledges ${type} ${eventId}`)
    if (!task.acknowledged) task.receivedAt = time.now
    task.acknowledged = true
    if (this.#settles && type === 'quick' && task.bad === 0) this.#watch(task)
  }

  /** That nothing keeps a quick event waiting. */
  #watch(task: Task): void {
    this.#time.at(this.#time.now + quickWithin, () => {
      const { rows } = storage.read('select status from event_queue where event_id = ?', [task.eventId])
      if (rows[0]?.['status'] !== 'processed')
        this.fail(`${task.eventId} is still ${String(rows[0]?.['status'])} after ${quickWithin} ms`)
    })
  }

  /** Kills, stops and suspends processes, and takes the database away, until then. */
  #upset(until: number): void {
    const { chance, time } = this.#world
    const pause = chance.pick([300, 2_000, 8_000])
    const next = (): void => {
      const at = time.now + 2 * pause * chance.next()
      if (at < until)
        time.at(at, () => {
          this.#upsetOnce()
          next()
        })
    }
    next()
  }

  #upsetOnce(): void {
    const { chance, time, server, engine, trace } = this.#world
    const index = chance.below(this.#nodes.length)
    const node = this.#nodes[index]
    const what = chance.next()
    if (what < 0.4) {
      if (!node) return
      this.#kills += 1
      node.kill()
      this.#restart(index)
    } else if (what < 0.5) {
      if (node) this.#stop(index, node)
    } else if (what < 0.7) {
      const lasts = chance.is(0.3) ? 15_000 * chance.next() : 500 * chance.next()
      trace(node?.process.name ?? '', `is suspended for ${Math.round(lasts)} ms`)
      node?.process.suspend(lasts)
    } else if (engine === 'postgres' && what < 0.85) {
      trace('server', 'goes down')
      server.down()
      time.at(time.now + 6_000 * chance.next() ** 2, () => {
        trace('server', 'is up')
        server.up = true
      })
    } else if (engine === 'postgres' && node) {
      const sessions = server.sessionsOf(node.process)
      if (sessions.length > 0) chance.pick(sessions).close()
    }
  }

  #restart(index: number): void {
    const { chance, time } = this.#world
    this.#nodes[index] = undefined
    // As quickly as a supervisor does, or after a while.
    time.at(time.now + (chance.is(0.7) ? 200 : 10_000) * chance.next(), () => this.#start(index))
  }

  #stop(index: number, node: ServiceNode): void {
    const { chance, time } = this.#world
    this.#nodes[index] = undefined
    const within = 3_000 * chance.next()
    let ended = false
    void node.stop(within).then(() => {
      if (ended) return
      ended = true
      this.#restart(index)
    })
    // A supervisor kills what does not stop; a stop takes its time while the database is away.
    time.at(time.now + within + stopWithin, () => {
      if (ended) return
      ended = true
      // A handler has ended it meanwhile.
      if (!node.process.alive) return this.#restart(index)
      this.fail(`${node.process.name} does not stop`)
    })
  }
}
