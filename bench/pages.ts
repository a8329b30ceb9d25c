import { setTimeout as wait } from 'node:timers/promises'
import { join } from 'node:path'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { adminKey } from './load/sample.ts'
import { generate, startGenerator, type Generator } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, median, percentile, type Outcome } from './measure/outcome.ts'
import { pageCalls, type PageCall } from './pages/calls.ts'
import { fillPages } from './pages/fill.ts'
import { shapeOf, type Shape } from './pages/shape.ts'

const events = 1_000_000
const fewestEvents = 20_000
/** Of each call, one after the other. */
const requests = 100
/** Of a call whose answers are shared for some seconds. */
const spacedRequests = 10
/** Milliseconds at the 99th percentile. */
const bound = 100
/** Events a second that a search of bodies reads. */
const searched = 50_000
/** Calls whose figures are kept in the results; all are printed. */
const mostShown = 15

const headers = { authorization: `Bearer ${adminKey}` }

interface Measured {
  name: string
  /** Of each round. */
  p50: number[]
  p99: number[]
}

export const pages: Bench = {
  name: 'pages',
  about: 'GET calls of the pages of the dashboard, with a million events and a million deliveries',
  plan(scale) {
    return {
      steps: scale.engines.length * (1 + scale.rounds),
      seconds: scale.engines.length * (90 + scale.rounds * 200) * Math.max(0.05, scale.size),
    }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      ...(context.scale.only === undefined
        ? []
        : [`Only the calls whose names match \`${context.scale.only}\` were measured.`]),
      `${scaled(requests, context.scale)} requests of each call, one at a time. The figure is the time within which 99 of 100 were answered. Only the ${mostShown} slowest calls are listed.`,
    ]),
}

async function measure(engine: EngineName, { scale, ...context }: BenchContext): Promise<Partial<Outcome>> {
  const title = engineTitles[engine]
  context.step(`${title}: filling the tables`)
  await using stack = new AsyncDisposableStack()
  const database = await createDatabase(engine, context.postgresServer)
  const shape = shapeOf(Math.max(fewestEvents, scaled(events, scale)))
  await fillPages(database.url, shape)
  const postern = stack.use(
    await startOn(database, {
      env: { POSTERN_CONFIG: join(import.meta.dirname, 'pages', 'pages.config.ts') },
      profile: context.profile(`pages ${engine}`),
    }),
  )
  const generator = stack.use(await startGenerator())
  const measured = callsOf(shape, scale.only).map((call) => ({
    call,
    name: call.name,
    p50: [] as number[],
    p99: [] as number[],
  }))
  const searches: number[] = []
  for (let round = 1; round <= scale.rounds; round += 1) {
    context.step(`${title}: round ${round} of ${scale.rounds}`)
    for (const one of measured) {
      const { p50, p99 } = await timesOf(generator, postern.port, one.call, scaled(1_000, scale) / 1_000)
      one.p50.push(p50)
      one.p99.push(p99)
    }
    searches.push(await searchRate(postern.origin))
  }
  const { figures, notes } = describe(title, measured)
  const search = figure(`${title}: search of bodies`, 'events/s', searches)
  return { figures: [...figures, { ...search, atLeast: searched }], notes }
}

function callsOf(shape: Shape, only = ''): PageCall[] {
  const names = new RegExp(only)
  const calls = pageCalls(shape).filter(({ name }) => names.test(name))
  if (calls.length === 0) throw new Error(`no call of the pages has a name that matches ${only}`)
  return calls
}

async function timesOf(
  generator: Generator,
  port: number,
  { paths, cachedFor }: PageCall,
  size: number,
): Promise<{ p50: number; p99: number }> {
  const ask = (some: readonly string[], count: number) =>
    generate(
      generator,
      { port, connections: 1, requests: { kind: 'gets', count, paths: some, headers } },
      200,
    )
  if (cachedFor === undefined) {
    await ask(paths, Math.ceil(10 * size))
    // From the end, so that no answer is one that was computed before.
    return ask(paths.toReversed(), Math.ceil(requests * size))
  }
  const times: number[] = []
  for (let index = 0; index < Math.ceil(spacedRequests * size); index += 1) {
    await wait(cachedFor)
    times.push((await ask(paths, 1)).p50)
  }
  times.sort((a, b) => a - b)
  return { p50: median(times), p99: percentile(times, 0.99) }
}

/** The last line of a search. */
interface SearchEnd {
  type: string
  scanned: number
  matches: number
  /** Of the next request; null at the end of the log. */
  cursor: number | null
}

/** Searches all bodies for a text that none has, in as many requests as that takes, and returns the events a second. */
async function searchRate(origin: string): Promise<number> {
  const query = new URLSearchParams({ text: 'this text is in no body' })
  const began = performance.now()
  let scanned = 0
  for (;;) {
    const response = await fetch(`${origin}/events/search?${query.toString()}`, { headers })
    const last = (await response.text()).trim().split('\n').at(-1)!
    const end = JSON.parse(last) as SearchEnd
    if (end.type !== 'end' || end.matches > 0) throw new Error(`the search of bodies ended with ${last}`)
    scanned += end.scanned
    if (end.cursor === null) return (scanned * 1_000) / (performance.now() - began)
    query.set('cursor', String(end.cursor))
  }
}

function describe(title: string, measured: readonly Measured[]): Pick<Outcome, 'figures' | 'notes'> {
  const slowest = measured.toSorted((a, b) => median(b.p99) - median(a.p99))
  console.log(`\n${title}: milliseconds, half and 99 of 100 answered within`)
  for (const { name, p50, p99 } of slowest)
    console.log(
      `${name.padEnd(50)} ${median(p50).toFixed(1).padStart(8)} ${median(p99).toFixed(1).padStart(8)}`,
    )
  const over = slowest.filter(({ p99 }) => median(p99) > bound)
  return {
    figures: slowest
      .slice(0, mostShown)
      .map(({ name, p99 }) => figure(`${title}: ${name}`, 'ms', p99, bound)),
    notes: [
      over.length === 0
        ? `${title}: all ${measured.length} calls answer within ${bound} ms.`
        : `${title}: over ${bound} ms: ${over.map(({ name }) => name).join(', ')}.`,
    ],
  }
}
