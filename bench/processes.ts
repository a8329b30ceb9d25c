import { setTimeout as wait } from 'node:timers/promises'
import { subscribe } from './deliver/subscribers.ts'
import { createDatabase, readNumber, type BenchDatabase } from './harness/databases.ts'
import { adminKey, production, startPostern, webhookSecret, type Postern } from './harness/postern.ts'
import { startHelper, type Helper } from './harness/processes.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import type { Bench, BenchContext } from './measure/bench.ts'
import { cpuOf, cpuOfFamily, postmasterOf } from './measure/cpu.ts'
import { figure, ratio, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'
import { createOrders, handler } from './process/orders.ts'
import type { Steady, SteadyResult } from './processes/load.ts'

/** How many processes share the load, and which part of the load is sent. */
const sideSettings = [
  { name: '1 process', count: 1, part: 1 },
  { name: '2 processes', count: 2, part: 1 },
  { name: '4 processes', count: 4, part: 1 },
  // What each of four processes has to do: it tells the cost of less work at once from that of several processes.
  { name: '1 process, a quarter of the load', count: 1, part: 1 / 4 },
] as const
type SideSettings = (typeof sideSettings)[number]
/** A second. */
const webhooks = 300
const emits = 100
const subscribers = 5
const bytes = 450
/** Seconds that are measured. */
const measured = 10
/**
 * Seconds before them, for each process: all have then had as many requests as one alone. Node compiles what has run often, so
 * of processes that began just now, four that share a load run slower code than one.
 */
const before = 8
/** What the same work may cost on four processes, of what it costs on one. */
const most = 1.15
const bounded: SideSettings['name'] = '4 processes'
const limit = 60_000
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

type Generator = Helper<object, Steady, SteadyResult>

/** Milliseconds of CPU for each webhook that was handled and each delivery. */
interface Cost {
  postern: number
  postgres: number
  transactions: number
  /** Milliseconds within which 99 of 100 were done: requests answered, deliveries begun and webhooks handled, from their commits. */
  p99: number
  begun: number
  handled: number
}

export const processes: Bench = {
  name: 'processes',
  about:
    'CPU of Postern and PostgreSQL for each webhook or delivery of a constant load, on one, two and four processes',
  plan(scale) {
    if (!scale.engines.includes('postgres')) return { steps: 0, seconds: 0 }
    const steps = countSteps(sideSettings.length, scale)
    const warming = Math.max(...sideSettings.map(warmUpOf))
    return { steps, seconds: steps * (10 + (warming + measured) * Math.max(0.05, scale.size)) }
  },
  async run(context) {
    const { postgresServer, scale } = context
    if (!scale.engines.includes('postgres') || postgresServer === undefined)
      return { figures: [], ratios: [], notes: ['Not measured: it is about PostgreSQL.'] }
    const sides = sideSettings.map((settings) => sideOf(settings, postgresServer, context))
    const results = await interleave(sides, scale, context.step)
    return report(sides.map(({ name }, index) => ({ name, costs: results[index]! })))
  },
}

function report(sides: readonly { name: string; costs: readonly Cost[] }[]): Outcome {
  const unit = 'ms of CPU for each webhook or delivery'
  const outcome: Outcome = { figures: [], ratios: [], notes: [] }
  const all: Figure[] = []
  for (const { name, costs } of sides) {
    const both = figure(
      `${name}: Postern and PostgreSQL`,
      unit,
      costs.map(({ postern, postgres }) => postern + postgres),
    )
    all.push(both)
    outcome.figures.push(
      both,
      figure(
        `${name}: Postern`,
        unit,
        costs.map(({ postern }) => postern),
      ),
      figure(
        `${name}: PostgreSQL`,
        unit,
        costs.map(({ postgres }) => postgres),
      ),
      figure(
        `${name}: transactions`,
        'for each webhook or delivery',
        costs.map(({ transactions }) => transactions),
      ),
      figure(
        `${name}: 99 of 100 requests answered within`,
        'ms',
        costs.map(({ p99 }) => p99),
      ),
      figure(
        `${name}: 99 of 100 deliveries begun within`,
        'ms',
        costs.map(({ begun }) => begun),
      ),
      figure(
        `${name}: 99 of 100 webhooks handled within`,
        'ms',
        costs.map(({ handled }) => handled),
      ),
    )
  }
  // The other way round than costs are spoken of, since bounds of ratios are what is to be reached at least.
  for (const [index, { name }] of sides.entries())
    if (index > 0)
      outcome.ratios.push(
        ratio(
          `${sides[0]!.name} / ${name}`,
          all[0]!,
          all[index]!,
          name === bounded ? { bound: 1 / most } : {},
        ),
      )
  outcome.notes.push(
    `${webhooks} webhooks a second through a handler that writes one row, and ${emits} emitted events a second to ${subscribers} subscribers, of ${bytes} bytes each, for ${measured} s, after ${before} s of the same for each process that shares it; each process gets the same share. The side with a quarter of the load has the work of one of four processes. CPU as the kernel counts it, of all threads of Postern and of all processes of PostgreSQL. Every webhook had one effect, and every event came to every subscriber.`,
  )
  return outcome
}

/** Seconds after which each process has had as many requests as one process with the whole load in `before`. */
const warmUpOf = ({ count, part }: SideSettings): number => (before * count) / part

function sideOf(settings: SideSettings, server: string, { scale }: BenchContext): Side<Cost> {
  const { name, count, part } = settings
  return {
    name,
    async run(prefix) {
      await using stack = new AsyncDisposableStack()
      const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
      const generator: Generator = stack.use(await startHelper('processes/steady.ts'))
      const database = await createDatabase('postgres', server)
      await createOrders(database)
      const services: Postern[] = []
      for (let index = 0; index < count; index += 1)
        services.push(
          stack.use(
            await startPostern({
              folder: database.folder,
              env: { ...production, ...handler, DATABASE_URL: database.url },
            }),
          ),
        )
      const paths = Array.from({ length: subscribers }, (_, index) => `/subscriber-${index}`)
      await subscribe(services[0]!.port, `http://127.0.0.1:${sink.ready.port}`, paths, secret)
      const load = (phase: string, seconds: number): Promise<SteadyResult> =>
        generator.ask({
          ports: services.map(({ port }) => port),
          seconds: Math.max(0.2, seconds * scale.size),
          webhooks: webhooks * part,
          emits: emits * part,
          prefix: `${prefix}-${phase}`,
          bytes,
          secret: webhookSecret,
          apiKey: adminKey,
        })

      const first = await load('before', warmUpOf(settings))
      await untilDone(database, sink, first)
      const postmaster = await postmasterOf(server)
      const look = async () => ({
        postern: services.reduce((sum, { pid }) => sum + cpuOf(pid), 0),
        postgres: cpuOfFamily(postmaster),
        transactions: await transactionsIn(database),
      })
      const since = Date.now()
      const began = await look()
      const sent = await load('measured', measured)
      await untilDone(database, sink, sent)
      const ended = await look()
      const works = sent.webhooks + sent.emits * subscribers
      if (
        (await readNumber(database, 'select count(distinct event_id) from orders')) !==
        first.webhooks + sent.webhooks
      )
        throw new Error('not every webhook had an effect')
      return {
        postern: ((ended.postern - began.postern) * 1000) / works,
        postgres: ((ended.postgres - began.postgres) * 1000) / works,
        transactions: (ended.transactions - began.transactions) / works,
        p99: sent.p99,
        begun: await readNumber(database, begunWithin, [since]),
        handled: await readNumber(database, handledWithin, [since]),
      }
    },
  }
}

const begunWithin = `
  select percentile_cont(0.99) within group (order by a.at - d.created_at) from attempts a join deliveries d on d.id = a.delivery
  where d.created_at >= $1`
const handledWithin = `
  select percentile_cont(0.99) within group (order by q.processed_at - e.created_at) from event_queue q join events e on e.id = q.event
  where e.created_at >= $1`

const transactionsIn = (database: BenchDatabase): Promise<number> =>
  readNumber(
    database,
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  )

async function untilDone(
  database: BenchDatabase,
  sink: Helper<{ port: number }, Expectation, Sunk>,
  { emits: emitted }: SteadyResult,
): Promise<void> {
  const { distinct } = await sink.ask({ distinct: emitted * subscribers, limit })
  if (distinct !== emitted * subscribers)
    throw new Error(`${distinct} deliveries came instead of ${emitted * subscribers}`)
  const until = performance.now() + limit
  while (
    (await readNumber(
      database,
      `select (select count(*) from event_queue where status = 'pending') + (select count(*) from deliveries where status = 'pending')`,
    )) > 0
  ) {
    if (performance.now() > until) throw new Error('not all work was done in time')
    await wait(10)
  }
}
