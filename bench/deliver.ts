import { Webhook } from 'standardwebhooks'
import { setTimeout as wait } from 'node:timers/promises'
import type { DeliveryPlan } from './bare/delivery-loop.ts'
import { senders, startSender } from './deliver/rivals.ts'
import { setStatus, subscribe, subscriberSecret } from './deliver/subscribers.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { checkoutBefore, startOn } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator } from './load/load.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import { availableRivals, type Rival } from './rivals/start.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf } from './measure/cpu.ts'
import { figureOf, ratio, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Rounds, type Side } from './measure/rounds.ts'

/** Ten subscribers with the ten attempts at a time that each has by default. */
const paths = Array.from({ length: 10 }, (_, index) => `/subscriber-${index}`)
const concurrency = 10 * paths.length
const events = 2_000
/** `,"timestamp":"2026-01-01T00:00:00.000Z"`: what Postern adds to the body of the call that emits. */
const addedBytes = 39
const limit = 120_000
const bounds: Record<EngineName, number> = { sqlite: 0.6, postgres: 0.5 }

/** Subscribes to the channels of tracing as a tracer does, and does no more than set a context. */
const tracer = `import { subscribe } from 'node:diagnostics_channel'
const context = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
for (const operation of ['verify', 'commit', 'handle', 'emit', 'attempt']) {
  subscribe('postern:' + operation + ':start', (work) => { work.context = context })
  subscribe('postern:' + operation + ':end', () => {})
}`

interface Extra {
  name: string
  /** Of the subscribers. */
  settings?: object
  env?: Record<string, string>
  /** The last request must have it. */
  head: RegExp
}

/** Compared with Postern on SQLite alone: none of it depends on the database. */
const extras: readonly Extra[] = [
  {
    name: 'Postern, bearer and gzip',
    settings: { auth: { type: 'bearer', token: 'bench-token' }, gzip: true },
    head: /\r\nauthorization: bearer bench-token[^]*\r\ncontent-encoding: gzip/i,
  },
  {
    name: 'Postern, transformed',
    settings: {
      transformation:
        "function handler(w) { w.headers['x-type'] = w.eventType; w.payload.via = 'bench'; return w }",
    },
    head: /\r\nx-type: /i,
  },
  {
    name: 'Postern, traced',
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tracer)}` },
    head: /\r\ntraceparent: 00-4bf92f35/i,
  },
]

const pending = `select count(*) from deliveries where status = 'pending'`

/** Milliseconds since 1970, finer than whole ones. */
const now = (): number => performance.timeOrigin + performance.now()

interface Delivered {
  /** From the first arrival at the sink to the last one and, with Postern, to the last row that says so. */
  perSecond: number
  emittedPerSecond?: number
  /** Microseconds of the service's processor time for each delivery, all its threads. */
  cpu?: number
}

export const deliver: Bench = {
  name: 'deliver',
  about:
    'Deliveries to a fast local sink, all state kept, against a bare undici loop that signs and posts the same bodies',
  plan(scale) {
    const steps = scale.engines.reduce((sum, engine) => {
      const others = scale.rivals ? senders.filter(({ engines }) => engines.includes(engine)) : []
      const own = (checkoutBefore ? 3 : 2) + (engine === 'sqlite' ? extras.length : 0)
      return sum + countSteps(own + others.reduce((all, { tunings }) => all + tunings.length, 0), scale)
    }, 0)
    return { steps, seconds: steps * Math.max(0.5, 5 * scale.size) }
  },
  async run(context) {
    const { available, notes } = await availableRivals(senders, context.scale)
    const count = scaled(events, context.scale)
    return onEachEngine(context, (engine) => measure(engine, available, context), [
      ...notes,
      `${count} events of ${bodyBytes} bytes a round to ${paths.length} subscribers, ${concurrency} attempts at a time on both sides. Postern's clock stops when every delivery is written down as delivered; the sink had each of them, and the signature of the last one was verified by another library.`,
    ])
  },
}

async function measure(
  engine: EngineName,
  available: readonly Rival[],
  context: BenchContext,
): Promise<Partial<Outcome>> {
  await using stack = new AsyncDisposableStack()
  const count = scaled(events, context.scale)
  const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
  const origin = `http://127.0.0.1:${sink.ready.port}`
  const loop = stack.use(await startHelper<object, DeliveryPlan, object>('bare/delivery-loop.ts'))
  const generator = stack.use(await startGenerator())
  const arrivals = async (some = count): Promise<Sunk> => {
    const sunk = await sink.ask({ distinct: some * paths.length, limit })
    if (sunk.distinct !== some * paths.length) {
      throw new Error(`${sunk.distinct} deliveries came instead of ${some * paths.length}`)
    }
    verifySignature(sunk.last)
    return sunk
  }
  const bare: Side<Delivered> = {
    name: 'bare undici loop',
    async run(prefix) {
      await loop.ask({ origin, paths, events: count, concurrency, prefix, bytes: bodyBytes + addedBytes })
      const { firstAt, lastAt } = await arrivals()
      return { perSecond: rate(count, lastAt - firstAt) }
    },
  }
  const startSide = async (
    name: string,
    { checkout, settings, env: more, head }: Partial<Extra> & { checkout?: string } = {},
  ): Promise<Side<Delivered>> => {
    // Half as many events keep the whole run short.
    const some = head ? Math.ceil(count / 2) : count
    const database = await createDatabase(engine, context.postgresServer)
    const profile = name === 'Postern' ? context.profile(`deliver ${engine}`) : undefined
    const postern = stack.use(await startOn(database, { env: more ?? {}, checkout, profile }))
    const { port } = postern
    const ids = await subscribe(port, origin, paths, settings)
    return {
      name,
      async run(prefix) {
        await setStatus(port, ids, 'paused')
        const requests = { kind: 'emits', count: some, prefix } as const
        const emitted = await generate(generator, { port, connections: 64, requests }, 202)
        const waiting = arrivals(some)
        const { result: perSecond, cpu } = await cpuDuring(
          () => cpuOfService(postern.origin),
          async () => {
            await setStatus(port, ids, 'active')
            const { firstAt, last } = await waiting
            if (head && !head.test(last.head)) throw new Error(`${name} sent:\n${last.head}`)
            while ((await readNumber(database, pending)) > 0) {
              if (now() - firstAt > limit) throw new Error('not all deliveries were written down')
              await wait(10)
            }
            return rate(some, now() - firstAt)
          },
        )
        const each = totalOf(cpu) / (some * paths.length)
        return { perSecond, emittedPerSecond: emitted.perSecond, cpu: each }
      },
    }
  }
  const ours = await startSide('Postern')
  const before = checkoutBefore && (await startSide('Postern before', { checkout: checkoutBefore }))
  const special: Side<Delivered>[] = []
  if (engine === 'sqlite') for (const extra of extras) special.push(await startSide(extra.name, extra))

  // One side for each setting: the fastest of a product's counts.
  const rivals: { name: string; bound?: number | undefined; sides: Side<Delivered>[] }[] = []
  for (const sender of available) {
    if (!sender.engines.includes(engine)) continue
    const send = await startSender(stack, sender, engine, context.postgresServer)
    const sides = sender.tunings.map((tuning) => ({
      name: `${sender.name}, ${JSON.stringify(tuning)}`,
      async run(prefix: string) {
        const plan = { origin, paths, events: count, bytes: bodyBytes + addedBytes, prefix, tuning }
        const endedAt = await send(plan)
        const { firstAt } = await arrivals()
        return { perSecond: rate(count, endedAt - firstAt) }
      },
    }))
    rivals.push({ name: sender.name, bound: sender.bound, sides })
  }

  const title = engineTitles[engine]
  // The two states at both ends: each follows itself in every second round (see `interleave`).
  const sides = [
    ours,
    bare,
    ...special,
    ...rivals.flatMap((rival) => rival.sides),
    ...(before ? [before] : []),
  ]
  const results = await interleave(sides, context, title)
  const roundsOf = (side: Side<Delivered>): Rounds<Delivered> => results[sides.indexOf(side)]!
  const rateOf = (side: Side<Delivered>): Figure =>
    figureOf(roundsOf(side), 'deliveries/s', ({ perSecond }) => perSecond)
  const [bareRate, ourRate] = [rateOf(bare), rateOf(ours)]
  const emitted = { ...roundsOf(ours), name: `${title}: POST /events, each to ${paths.length} subscribers` }
  const fastest = rivals.map(({ name, bound, sides: settings }) => ({
    name,
    bound,
    figure: settings.map(rateOf).toSorted((a, b) => b.median - a.median)[0]!,
  }))
  const beforeRate = before && rateOf(before)
  const cpuOf = (side: Side<Delivered>): Figure =>
    figureOf(roundsOf(side), 'µs/delivery', ({ cpu }) => cpu ?? Number.NaN, ', processor')
  return {
    figures: [
      bareRate,
      ourRate,
      ...(before && beforeRate ? [beforeRate, cpuOf(before)] : []),
      cpuOf(ours),
      ...special.flatMap((side) => [rateOf(side), cpuOf(side)]),
      ...fastest.map((rival) => rival.figure),
      figureOf(emitted, 'events/s', ({ emittedPerSecond }) => emittedPerSecond ?? Number.NaN),
    ],
    ratios: [
      ratio(`${ourRate.name} / ${bare.name}`, ourRate, bareRate, { bound: bounds[engine] }),
      ...(beforeRate ? [ratio(`${ourRate.name} / before`, ourRate, beforeRate)] : []),
      ...special.map((side) => ratio(`${title}: ${side.name} / ${ours.name}`, rateOf(side), ourRate)),
      ...fastest.map((rival) =>
        ratio(`${ourRate.name} / ${rival.name}`, ourRate, rival.figure, { bound: rival.bound }),
      ),
    ],
  }
}

const rate = (count: number, ms: number): number => (count * paths.length * 1000) / ms

function verifySignature({ head, body }: Sunk['last']): void {
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
  )
  new Webhook(subscriberSecret).verify(body, headers)
}
