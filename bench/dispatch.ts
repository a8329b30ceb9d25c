import { setTimeout as wait } from 'node:timers/promises'
import { setStatus, subscribe } from './deliver/subscribers.ts'
import { besideHanging, subscribers } from './dispatch/beside-hanging.ts'
import { delaysOf, type Dispatching } from './dispatch/delays.ts'
import { emitPaced, now } from './dispatch/paced.ts'
import { copySubscribers, queueDeliveries } from './dispatch/rows.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { adminKey, production, startPostern, type Postern } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Figure, type Outcome, type Ratio } from './measure/outcome.ts'
import { percentile } from './measure/statistics.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const fanOut = 10_000
const shallow = 1_000
const deep = 1_000_000
/** Deliveries that are timed of a queue. */
const timed = 10_000

export const dispatch: Bench = {
  name: 'dispatch',
  about:
    'Deliveries beyond their rate: the first byte when idle, healthy subscribers beside hanging ones, a fan-out to 10,000, and a queue of a million',
  plan({ engines, rounds, warmUp, size }) {
    return {
      steps: engines.length * (2 + warmUp + 2 * rounds),
      seconds: engines.length * (40 + 5 * warmUp + 34 * rounds) * size,
    }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) {
      const { figures, ratios } = await measure(engine, context)
      outcome.figures.push(...figures)
      outcome.ratios.push(...ratios)
    }
    outcome.notes.push(
      `The first byte is timed from the call that emits to its arrival at the sink. ${subscribers} subscribers get 50 events a second; of the hanging rounds a tenth of them never answer, and have all the attempts under way that they may have, from before the first event until behind the last. Short rounds in pairs, each a ratio.`,
      `The queue: one subscriber has 1,000 deliveries waiting, or a million; what is timed are ${timed} of them at most, from the moment it is resumed, with the memory of the process at the end.`,
    )
    return outcome
  },
}

async function measure(
  engine: EngineName,
  context: BenchContext,
): Promise<{ figures: Figure[]; ratios: Ratio[] }> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
  const database = await createDatabase(engine, context.postgresServer)
  const postern = stack.use(
    await startPostern({ folder: database.folder, env: { ...production, DATABASE_URL: database.url } }),
  )
  const side: Dispatching = { postern, database, sink, origin: `http://127.0.0.1:${sink.ready.port}` }
  const title = engineTitles[engine]
  const { scale } = context

  const [first] = await subscribe(postern.port, side.origin, ['/first'], secret)
  const idle: number[] = []
  for (let round = -scale.warmUp; round < scale.rounds; round += 1) {
    context.step(`${title}: idle, round ${round + 1}`)
    const { delays } = await delaysOf(side, 1, {
      count: scaled(200, scale),
      every: 25,
      prefix: `idle${round}`,
    })
    if (round >= 0) idle.push(percentile(delays, 0.5))
  }
  await setStatus(postern.port, [first!], 'paused')
  const { healthy, hang } = await besideHanging(side, secret, scale, (round) =>
    context.step(`${title}: beside hanging ones, round ${round + 1}`),
  )

  context.step(`${title}: fan-out to ${fanOut}`)
  const cpu = await fanOutCpu(side, first!, scaled(fanOut, scale))
  context.step(`${title}: a queue of ${deep}`)
  const queues = await queueRates(side, context)
  const [with_, without] = [
    figure(`${title}: p99 with a tenth hanging`, 'ms', hang),
    figure(`${title}: p99 with none hanging`, 'ms', healthy),
  ]
  return {
    figures: [
      figure(`${title}: from the call to the first byte, idle, median`, 'ms', idle, 5),
      without,
      with_,
      figure(`${title}: CPU of one event to ${fanOut} subscribers`, 'ms', [cpu], 1_000),
      ...queues.figures.map(({ name, unit, value }) => figure(`${title}: ${name}`, unit, [value])),
    ],
    ratios: [
      ratio(`${title}: p99, none hanging / a tenth hanging`, without, with_, { bound: 1 / 1.2 }),
      ...queues.ratios.map(({ name, of, to }) =>
        ratio(`${title}: ${name}`, figure('', '', [of]), figure('', '', [to])),
      ),
    ],
  }
}

async function cpuOf({ port }: Postern): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  const seconds = /^postern_process_cpu_seconds_total (\S+)/m.exec(await response.text())?.[1]
  return Number(seconds) * 1_000
}

async function fanOutCpu({ postern, database }: Dispatching, first: string, count: number): Promise<number> {
  await copySubscribers(database, first, count)
  const before = await cpuOf(postern)
  await emitPaced(postern.port, { count: 1, every: 0, prefix: 'fan-out' })
  const cpu = (await cpuOf(postern)) - before
  const made = await readNumber(database, `select count(*) from deliveries where subscriber_id like 'copy-%'`)
  if (made !== count) throw new Error(`${made} deliveries were made for ${count} subscribers`)
  return cpu
}

async function queueRates(
  { postern, database, sink, origin }: Dispatching,
  { scale }: BenchContext,
): Promise<{
  figures: { name: string; unit: string; value: number }[]
  ratios: { name: string; of: number; to: number }[]
}> {
  const event = await readNumber(database, `select min(event) from deliveries`)
  const results: { rate: number; memory: number }[] = []
  for (const count of [scaled(timed, scale), scaled(shallow, scale), scaled(deep, scale)]) {
    const [id] = await subscribe(postern.port, origin, [`/queue-${count}`], secret)
    await setStatus(postern.port, [id!], 'paused')
    await queueDeliveries(database, { event, subscriberId: id!, count, dueAt: Date.now() })
    await sink.ask({ distinct: 0, limit: 0 })
    const began = now()
    await setStatus(postern.port, [id!], 'active')
    const wanted = Math.min(count, scaled(timed, scale))
    const done = `select count(*) from (select 1 from deliveries where subscriber_id = $1 and status = 'delivered' limit ${wanted}) done`
    while ((await readNumber(database, done, [id!])) < wanted) await wait(20)
    results.push({ rate: (wanted * 1_000) / (now() - began), memory: postern.memory() ?? 0 })
    await setStatus(postern.port, [id!], 'paused')
  }
  const [, few, many] = results as [unknown, (typeof results)[0], (typeof results)[0]]
  return {
    figures: [
      { name: `deliveries of one subscriber with ${shallow} waiting`, unit: 'deliveries/s', value: few.rate },
      { name: `the same with ${deep} waiting`, unit: 'deliveries/s', value: many.rate },
      { name: `resident memory with ${shallow} waiting`, unit: 'MB', value: few.memory / 1e6 },
      { name: `resident memory with ${deep} waiting`, unit: 'MB', value: many.memory / 1e6 },
    ],
    ratios: [
      { name: `${deep} waiting / ${shallow} waiting`, of: many.rate, to: few.rate },
      { name: `memory, ${shallow} waiting / ${deep} waiting`, of: few.memory, to: many.memory },
    ],
  }
}
