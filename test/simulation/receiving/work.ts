// The handlers of the simulation, and what they are up to with each event.
import { CompiledQuery } from 'kysely'
import { sleep } from '../../../src/runtime/clock.ts'
import type { HandlerContext } from '../../../src/index.ts'
import type { RegisteredHandler } from '../../../src/receiving/handlers/declared-handlers.ts'
import { plansOver, type PlanOf } from '../../../src/receiving/handlers/plan.ts'
import type { Chance } from '../../harness/chance.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

/** How a handler ends with an event. */
type Ending =
  | 'well'
  | 'throws at once'
  | 'throws after its writes'
  | 'hangs'
  | 'hangs in its transaction'
  | 'ignores its signal'
  | 'ends the process'

const bad = [
  'throws at once',
  'throws after its writes',
  'hangs',
  'hangs in its transaction',
  'ignores its signal',
] as const

/** What is to come of one event, and what has. */
export interface Task {
  readonly eventId: string
  readonly type: string
  readonly orderKey: string | null
  /** The attempts that end badly: all of them for a poison event, until it is cured. */
  bad: number
  readonly ending: Ending
  /** Milliseconds before the first statement, and from there to the last one. */
  readonly before: number
  readonly inside: number
  /** Does not wait for a statement; tries one that fails and goes on; emits once more when it has ended. */
  readonly careless: boolean
  /** A statement has failed that its handler did not wait for. */
  excused: boolean
  /** Attempts that a handler began. */
  begun: number
  acknowledged: boolean
  receivedAt: number
  /** It had failed and was processed again: others may have gone by. */
  reprocessed: boolean
}

/** A type of events: its handler's bounds, and what it is to leave behind for each event. */
export interface Kind {
  readonly type: string
  readonly timeout: number
  readonly concurrency?: number
  readonly ordered?: boolean
  readonly effects: number
  readonly followUps: number
  readonly before: number
  readonly inside: number
  /** Of its events so many are poison, and so many end badly for a while. */
  readonly poison: number
  readonly bad: number
}

const plain = { timeout: 1_500, effects: 1, followUps: 1, before: 4, inside: 3, poison: 0, bad: 0 }

/** The last one is handled by nobody. */
export const kinds: readonly Kind[] = [
  { ...plain, type: 'quick' },
  { ...plain, type: 'ordered', ordered: true, bad: 0.2, poison: 0.05 },
  { ...plain, type: 'faulty', bad: 0.5, poison: 0.2 },
  { ...plain, type: 'slow', before: 700 },
  { ...plain, type: 'long', concurrency: 2, effects: 2, inside: 600, bad: 0.1 },
  { ...plain, type: 'single', concurrency: 1, inside: 30, bad: 0.1 },
  { ...plain, type: 'emits', effects: 0 },
  { ...plain, type: 'idle', effects: 0, followUps: 0, bad: 0.1 },
  { ...plain, type: 'killer', before: 50, poison: 0.6, bad: 1 },
  { ...plain, type: 'nobody', effects: 0, followUps: 0 },
]

/** @param trouble of any kind of events so many end badly for a while, and a quarter of it is poison */
export function newTask(
  chance: Chance,
  kind: Kind,
  number: number,
  { most, trouble }: { most: number; trouble: number },
): Task {
  const poison = chance.is(kind.poison) || chance.is(trouble / 4)
  return {
    eventId: `e${number}`,
    type: kind.type,
    orderKey: kind.ordered ? `key ${chance.below(3)}` : null,
    bad: poison ? Infinity : chance.is(kind.bad) || chance.is(trouble) ? 1 + chance.below(most) : 0,
    ending: kind.type === 'killer' ? 'ends the process' : chance.pick(bad),
    before: chance.is(0.3) ? 0 : kind.before * chance.next(),
    inside: chance.is(0.3) ? 0 : kind.inside * chance.next(),
    careless: chance.is(0.1),
    excused: false,
    begun: 0,
    acknowledged: false,
    receivedAt: 0,
    reprocessed: false,
  }
}

/** Runs of handlers in one process that nobody has given up: to be held against their bounds. */
export class Running {
  readonly #counts = new Map<string, number>()
  all = 0

  begin(key: string): number {
    this.all += 1
    this.#counts.set(key, this.of(key) + 1)
    return this.of(key)
  }

  end(key: string): void {
    this.all -= 1
    this.#counts.set(key, this.of(key) - 1)
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }
}

export const mostRunning = 192
const perLane = 64

export interface WorkParts {
  world: World
  process: VirtualProcess
  tasks: ReadonlyMap<string, Task>
  running: Running
  /** Ends the process, as process.exit does. */
  exit: () => void
  fail: (what: string) => void
}

/** The plans of one process, as its configuration would give them. */
export function planOf(parts: WorkParts): PlanOf {
  const handlers = new Map(kinds.map((kind) => [kind.type, [handlerOf(kind, parts)]]))
  handlers.set('nobody', [])
  return plansOver('postgres', (_source, type) => handlers.get(type)!)
}

function handlerOf(kind: Kind, { world, process, tasks, running, exit, fail }: WorkParts): RegisteredHandler {
  const { type, timeout, concurrency } = kind
  return {
    id: type,
    key: type,
    timeout,
    concurrency,
    orderBy: undefined,
    async handle(event, context) {
      const task = tasks.get(event.id)!
      task.begun += 1
      const attempt = task.begun
      const ending = attempt <= task.bad ? task.ending : 'well'
      world.trace(process.name, `begins ${type} ${event.id}, attempt ${event.attempt}, ends ${ending}`)
      if (running.begin(type) > (concurrency ?? perLane)) fail(`${running.of(type)} of ${type} at once`)
      const endBounded = concurrency === undefined ? undefined : world.bounded.begin(type, process)
      if (concurrency !== undefined && world.bounded.of(type) > concurrency)
        fail(`${world.bounded.of(type)} of ${type} at once in all processes`)
      if (running.all > mostRunning) fail(`${running.all} handlers at once`)
      let over = false
      const end = (): void => {
        if (!over) running.end(type)
        endBounded?.()
        over = true
      }
      context.signal.addEventListener('abort', end, { once: true })
      try {
        await work(kind, task, ending, Number(event.id.slice(1)), context, { world, process, exit })
      } finally {
        end()
      }
      if (task.careless) {
        process.after(5, () => {
          try {
            context.emit({ type: 'late', data: {} })
            fail(`${event.id} could emit when it had ended`)
          } catch {
            // As it is to be.
          }
        })
      }
    },
  }
}

const insertEffect = 'insert into effects (token, event, late) values (?, ?, ?)'
const insertFollowUp = 'insert into follow_ups (token, event) values (?, ?)'
const forbidden = 'insert into effects (token, event, late) values (null, null, 0)'

async function work(
  kind: Kind,
  task: Task,
  ending: Ending,
  number: number,
  { tx, emit, signal }: HandlerContext,
  { world, process, exit }: Pick<WorkParts, 'world' | 'process' | 'exit'>,
): Promise<void> {
  const write = (late: 0 | 1 = 0): Promise<unknown> =>
    tx.executeQuery(CompiledQuery.raw(insertEffect, [Number(world.newName('')), number, late]))
  await sleep(process, task.before, signal)
  if (ending === 'ends the process') {
    exit()
    await new Promise(() => undefined)
  }
  if (ending === 'throws at once') throw new Error('as it has to')
  if (ending === 'hangs')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  if (kind.followUps > 0) emit({ type: 'done', data: {} })
  if (task.careless && (world.engine === 'sqlite' || task.begun === 1)) {
    // On SQLite the work goes on after this, on PostgreSQL it cannot.
    await tx.executeQuery(CompiledQuery.raw(forbidden)).catch(() => undefined)
  }
  let last: Promise<unknown> | undefined
  for (let effect = 0; effect < kind.effects; effect += 1) {
    last = write()
    // Nobody hears of it when it fails: on SQLite the rest of the work is kept then, which is the handler's own fault.
    last.catch(() => (task.excused ||= task.careless && world.engine === 'sqlite'))
    if (!task.careless) await last
    if (effect === 0) await sleep(process, task.inside, ending === 'ignores its signal' ? undefined : signal)
  }
  if (ending === 'throws after its writes') throw new Error('as it has to')
  if (ending === 'hangs in its transaction')
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  if (ending !== 'ignores its signal') return
  for (let round = 0; round < 4; round += 1) {
    await sleep(process, kind.timeout / 2)
    if (signal.aborted) await write(1).catch(() => undefined)
  }
  if (!signal.aborted) throw new Error('its signal never came')
}

/** Writes what handlers emit. */
export function emitWithin(world: World) {
  return async (
    tx: { executeQuery: (query: CompiledQuery) => Promise<unknown> },
    events: readonly unknown[],
    causedBy: number,
  ): Promise<() => void> => {
    for (const _ of events)
      await tx.executeQuery(CompiledQuery.raw(insertFollowUp, [Number(world.newName('')), causedBy]))
    return () => undefined
  }
}
