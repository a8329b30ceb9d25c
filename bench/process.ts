import { join } from 'node:path'
import type { Processing } from './bare/processing-loop.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { startHelper } from './harness/processes.ts'
import { checkoutBefore, startOn } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'
import type * as backlogs from './process/backlog.ts'
import { createOrders, createOrdersAndMarkers, handler } from './process/orders.ts'
import { rateOf } from './process/rate.ts'
import { rivals, tune } from './process/rivals.ts'
import type { RivalRound } from './rivals/round.ts'
import { availableRivals, startRival, type Rival } from './rivals/start.ts'

/** Events of a side's first round, and the bounds of what it gets later: about as many as it processes in this time. */
const firstRound = 2_000
const most = 50_000
const seconds = 3
const limit = 120_000
const bareLoops = [
  { name: 'bare loop, one event per commit', perCommit: 1 },
  { name: 'bare loop, 64 events per commit', perCommit: 64 },
]

/** Events per second that SQLite is to reach on two cores. */
const least: Partial<Record<EngineName, number>> = { sqlite: 10_000 }

/** One of the things that are compared. */
interface Processor {
  name: string
  /** Processes so many events, checks what is left of them, and resolves with events per second. */
  process: (prefix: string, count: number) => Promise<number>
  /** What Postern is to reach of it. */
  bound?: number | undefined
}

export const processing: Bench = {
  name: 'process',
  about: 'A backlog of received events through a handler that writes one row, with exactly one effect each',
  plan(scale) {
    const steps = scale.engines.map((engine) => {
      const others = scale.rivals ? rivals.filter(({ engines }) => engines.includes(engine)) : []
      const settings = others.reduce((sum, { tunings }) => sum + tunings.length, 0)
      return settings + countSteps((checkoutBefore ? 2 : 1) + bareLoops.length + others.length, scale)
    })
    const all = steps.reduce((sum, count) => sum + count, 0)
    return { steps: all, seconds: all * Math.max(1.5, 5 * scale.size) }
  },
  async run(context) {
    const { available, notes } = await availableRivals(rivals, context.scale)
    return onEachEngine(context, (engine) => measure(engine, available, context), [
      `Events of ${bodyBytes} bytes, as many for each side as it processes in about ${seconds} s, of one source and type, all there before the first is processed. A side's clock runs from its first processed-event marker to its last. After every round each event had exactly one marker and exactly one row, for every side.`,
      ...notes,
    ])
  },
}

async function measure(
  engine: EngineName,
  available: readonly Rival[],
  context: BenchContext,
): Promise<Outcome> {
  await using stack = new AsyncDisposableStack()
  const notes: string[] = []
  const title = engineTitles[engine]
  const processors = [await startService('Postern'), ...(await startLoops())]
  for (const rival of available) if (rival.engines.includes(engine)) processors.push(await startTuned(rival))
  // At the other end than Postern (see `interleave`).
  if (checkoutBefore) processors.push(await startService('Postern before', checkoutBefore))
  const results = await interleave(processors.map(fill), context, title)
  const [ours, ...others] = results.map(({ name, rounds }) => figure(name, 'events/s', rounds))
  const ratios = others.map((other, index) => {
    const { name, bound } = processors[index + 1]!
    return ratio(`${title}: Postern / ${name}`, ours!, other, { bound })
  })
  return { figures: [{ ...ours!, atLeast: least[engine] }, ...others], ratios, notes }

  function fill({ name, process }: Processor): Side<number> {
    let count = firstRound
    return {
      name,
      async run(prefix) {
        const rate = await process(prefix, scaled(count, context.scale))
        count = Math.round(Math.min(most, Math.max(firstRound, rate * seconds)))
        return rate
      },
    }
  }

  async function startService(name: string, checkout?: string): Promise<Processor> {
    const database = await createDatabase(engine, context.postgresServer)
    await createOrders(database)
    const profile = checkout === undefined ? context.profile(`process, ${engine}`) : undefined
    stack.use(await startOn(database, { env: handler, checkout, profile }))
    // Another state of Postern has tables of its own.
    const { storeBacklog, waitUntilProcessed } = (await import(
      checkout ? join(checkout, 'bench/process/backlog.ts') : './process/backlog.ts'
    )) as typeof backlogs
    return {
      name,
      async process(prefix, count) {
        await storeBacklog(database, { prefix, count, bytes: bodyBytes })
        await waitUntilProcessed(database, limit)
        return rateOf(database, 'event_queue', prefix, count)
      },
    }
  }

  async function startLoops(): Promise<Processor[]> {
    const database = await createDatabase(engine, context.postgresServer)
    await createOrdersAndMarkers(database)
    const loop = stack.use(
      await startHelper<object, Processing, object>('bare/processing-loop.ts', { engine, url: database.url }),
    )
    return bareLoops.map(({ name, perCommit }) => ({
      name,
      async process(prefix, count) {
        await loop.ask({ prefix, count, perCommit })
        return rateOf(database, 'processed_events', prefix, count)
      },
    }))
  }

  async function startTuned(rival: Rival): Promise<Processor> {
    const { database, helper } = await startRival<RivalRound<object>, object>(
      stack,
      rival,
      engine,
      context.postgresServer,
      createOrdersAndMarkers,
    )
    const run = async (prefix: string, count: number, tuning: object): Promise<number> => {
      await helper.ask({ prefix, count, tuning })
      return rateOf(database, 'processed_events', prefix, count)
    }
    const step = (what: string): void => context.step(`${title}: ${what}`)
    const { tuning, note } = await tune(rival, run, scaled(firstRound, context.scale), step)
    notes.push(`${title}: ${note}`)
    const { name, bound } = rival
    return { name, bound, process: (prefix, count) => run(prefix, count, tuning) }
  }
}
