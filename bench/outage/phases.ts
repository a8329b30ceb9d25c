import { loadavg } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { webhookSecret } from '../harness/postern.ts'
import { startHelper, type Helper } from '../harness/processes.ts'
import type { Checked, Question, Report, SenderParameters } from './messages.ts'
import { openWorld, type World } from './world.ts'

export interface Plan {
  /** Without a database. */
  readonly minutes: number
  /** Webhooks a second meanwhile, and beside the drain. */
  readonly rate: number
  readonly live: number
  /** Of a body. */
  readonly bytes: number
  readonly connections: number
  readonly handled: boolean
}

export interface Drain {
  /** Events in the spool when the server was up again, and seconds from then until it was empty. */
  readonly spooled: number
  readonly seconds: number
  /** Live webhooks acknowledged meanwhile, and milliseconds that their answers took. */
  readonly live: number
  readonly p50: number
  readonly p99: number
  /** Seconds of CPU, all threads and sessions. */
  readonly posternCpu: number
  readonly postgresCpu: number
  /** Of the machine, over one minute: before the drain, without its own work, and after it. */
  readonly loadBefore: number
  readonly loadAfter: number
}

export interface Outcome {
  readonly plan: Plan
  readonly drain: Drain
  /** Seconds from the empty spool until each event was processed. */
  readonly handledAfter: number
  readonly refused: Readonly<Record<string, number>>
  /** The most resident memory of the service that was seen, in MB. */
  readonly memory: number
  readonly checked: Checked
}

type Tell = (line: string) => void
type Sender = Helper<object, Question, unknown>

/** Milliseconds. */
const tellEvery = 10_000
const lookEvery = 100
/** Seconds with a database before and after. */
const around = 5
/** Bytes that an event takes in a spool beside its body, at most. */
const aroundAnEvent = 1_024

/** Carries out a plan from start to end, and tells how far it is. */
export async function carryOut(plan: Plan, tell: Tell): Promise<Outcome> {
  const spoolBytes = Math.max(1, plan.minutes * 2) * 60 * plan.rate * (plan.bytes + aroundAnEvent) + 2 ** 28
  await using world = await openWorld({ ...plan, spoolBytes: Math.ceil(spoolBytes) })
  const { bytes, connections } = plan
  const parameters: SenderParameters = { port: world.postern.port, connections, secret: webhookSecret, bytes }
  await using sender = await startHelper<object, Question, unknown>('outage/sender.ts', parameters)
  const watch = new Watch(world, sender, tell)

  await sender.ask({ kind: 'send', rate: plan.live })
  await watch.over('before', around * 1000)
  tell('PostgreSQL crashes')
  await world.postgres.crash()
  await sender.ask({ kind: 'send', rate: plan.rate })
  await watch.over('away', plan.minutes * 60_000)
  await sender.ask({ kind: 'send', rate: plan.live })
  await world.postgres.restart()
  tell('PostgreSQL is back')
  const drain = await drainOf(world, sender, watch)
  tell(`the spool is empty after ${drain.seconds.toFixed(1)} s`)
  const emptyAt = performance.now()
  await watch.over('after', around * 1000)
  await sender.ask({ kind: 'send', rate: 0 })
  while (!(await world.handled())) await watch.over('handling', 1_000)
  const handledAfter = (performance.now() - emptyAt) / 1000
  const { refused } = (await sender.ask({ kind: 'report' })) as Report
  tell('compares what was acknowledged with the events and effects')
  const question: Question = { kind: 'check', databaseUrl: world.database.url, handled: plan.handled }
  const checked = (await sender.ask(question)) as Checked
  return { plan, drain, handledAfter, refused, memory: watch.memory, checked }
}

async function drainOf(world: World, sender: Sender, watch: Watch): Promise<Drain> {
  const { spooled } = await world.state()
  const loadBefore = loadavg()[0]!
  const began = performance.now()
  const before = { cpu: await world.cpu(), report: (await sender.ask({ kind: 'report' })) as Report }
  for (;;) {
    await wait(lookEvery)
    const { spooled, back } = await world.state()
    if (back && spooled === 0) break
    watch.tellNowAndThen('drain', spooled)
  }
  const seconds = (performance.now() - began) / 1000
  const [cpu, report] = [await world.cpu(), (await sender.ask({ kind: 'report' })) as Report]
  return {
    spooled,
    seconds,
    live: report.acknowledged - before.report.acknowledged,
    p50: report.p50 ?? Number.NaN,
    p99: report.p99 ?? Number.NaN,
    posternCpu: cpu.postern - before.cpu.postern,
    postgresCpu: cpu.postgres - before.cpu.postgres,
    loadBefore,
    loadAfter: loadavg()[0]!,
  }
}

/** Tells now and then how far it is, and remembers the most memory. */
class Watch {
  /** MB. */
  memory = 0
  readonly #world: World
  readonly #sender: Sender
  readonly #tell: Tell
  readonly #began = performance.now()
  #told = this.#began

  constructor(world: World, sender: Sender, tell: Tell) {
    this.#world = world
    this.#sender = sender
    this.#tell = tell
  }

  /** Resolves after so many milliseconds. */
  async over(phase: string, ms: number): Promise<void> {
    const until = performance.now() + ms
    for (;;) {
      const left = until - performance.now()
      if (left > 0) await wait(Math.min(left, tellEvery))
      const { acknowledged, refused, p50, p99 } = (await this.#sender.ask({ kind: 'report' })) as Report
      const { spooled } = await this.#world.state()
      const times = p50 === null ? '' : `p50 ${p50.toFixed(0)} ms, p99 ${p99?.toFixed(0)} ms`
      this.#line(phase, spooled, `acknowledged ${acknowledged}, refused ${JSON.stringify(refused)}, ${times}`)
      if (performance.now() >= until) return
    }
  }

  /** The sender is not asked: its next report is of the whole phase. */
  tellNowAndThen(phase: string, spooled: number): void {
    this.#measure()
    if (performance.now() - this.#told >= tellEvery) this.#line(phase, spooled, '')
  }

  #measure(): number {
    const memory = (this.#world.postern.memory() ?? Number.NaN) / 2 ** 20
    this.memory = Math.max(this.memory, memory)
    return memory
  }

  #line(phase: string, spooled: number, rest: string): void {
    this.#told = performance.now()
    const seconds = ((this.#told - this.#began) / 1000).toFixed(0)
    this.#tell(
      `${seconds.padStart(5)} s  ${phase}: spool ${spooled}, ${this.#measure().toFixed(0)} MB  ${rest}`,
    )
  }
}
