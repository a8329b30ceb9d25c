import { setTimeout as wait } from 'node:timers/promises'
import { waitUntilHandled } from './acknowledge/stored.ts'
import { subscribe } from './deliver/subscribers.ts'
import {
  createDatabase,
  engineTitles,
  execute,
  readNumber,
  type BenchDatabase,
  type EngineName,
} from './harness/databases.ts'
import { startOn, type Postern } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { startHelper, type Helper } from './harness/processes.ts'
import { generate, startGenerator, type Generator, type Load } from './load/load.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import { onEachEngine, scaled, type Bench, type BenchContext, type Scale } from './measure/bench.ts'
import { cpuOf, cpuOfFamily, postmasterOf } from './measure/cpu.ts'
import { figure, figureOf, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'
import { createOrders, handler } from './process/orders.ts'
import type { Steady, SteadyResult } from './sizing/steady.ts'

/** Events a second. */
const rates = [1, 100, 1000]
/** Seconds: the first make Node compile what runs often, and do not count. */
const before = 6
const measured = 10
/** Of a round as fast as they are answered. */
const webhooks = 12_000
const emits = 1_500
const subscribers = 5
const limit = 120_000
const megabyte = 1024 * 1024

/** In a trial the last one, which leaves enough rows to divide by. */
const ratesOf = ({ size }: Scale): number[] => (size < 0.1 ? rates.slice(-1) : rates)

interface Rig {
  database: BenchDatabase
  postern: Postern
  sink: Helper<{ port: number }, Expectation, Sunk>
  steady: Helper<object, Steady, SteadyResult>
  generator: Generator
  subscribers: number
  /** Milliseconds of CPU until now, of all threads of Postern and of all processes of PostgreSQL. */
  cpu: () => { posternMs: number; postgresMs: number }
}

export const sizing: Bench = {
  name: 'sizing',
  about:
    'What one process needs at a constant rate of events, what an event costs it when it is saturated, and the bytes that an event leaves in the database',
  plan(scale) {
    const steady = scale.engines.length * ratesOf(scale).length
    const saturated = scale.engines.includes('postgres') ? countSteps(2, scale) : 0
    return {
      steps: steady + saturated,
      seconds:
        steady * (4 + (before + measured) * Math.max(0.05, scale.size)) +
        saturated * Math.max(2, 8 * scale.size),
    }
  },
  run: (context) => onEachEngine(context, measure, notes),
}

const notes = [
  `"1 event/s" is one webhook a second through a handler that writes one row, and one emitted event a second to one subscriber, of ${bodyBytes} bytes each, for ${measured} s after ${before} s of the same. CPU as the kernel counts it, of all threads of Postern and of all processes of PostgreSQL. One run for each rate.`,
  'Bytes are those of the tables with their indexes after the load, divided by the rows. The row of the handler is not in them. PostgreSQL: with the room of old versions of rows, which later rows use after a vacuum.',
  `"Saturated" is over 64 connections as fast as they are answered, with the same handler, and with ${subscribers} subscribers for each emitted event. The load generator and the receiver share the machine. Checkpoints and vacuum during the round are included.`,
]

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  const figures: Figure[] = []
  for (const rate of ratesOf(context.scale)) {
    context.step(`${engineTitles[engine]}: ${rate} a second`)
    figures.push(...(await measureRate(engine, rate, context)))
  }
  // For docs/guides/scaling.md, which is about one PostgreSQL primary.
  if (engine === 'postgres') figures.push(...(await measureSaturated(engine, context)))
  return { figures }
}

async function measureRate(engine: EngineName, rate: number, context: BenchContext): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const rig = await setUp(stack, engine, context, 1, `${rate} a second`)
  const title = `${engineTitles[engine]}: ${rate} event${rate === 1 ? '' : 's'}/s`
  await load(rig, 'before', rate, Math.max(0.5, before * context.scale.size))
  const first = rig.cpu()
  const seconds = Math.max(0.5, measured * context.scale.size)
  const { sent, memory, sessions } = await load(rig, 'measured', rate, seconds)
  const last = rig.cpu()
  // Of the time that the events stand for: on a busy machine they take longer to send.
  const share = (part: keyof typeof first): number => (100 * rate * (last[part] - first[part])) / 1000 / sent
  const figures = [
    figure(`${title}: CPU of Postern`, '% of a core', [share('posternMs')]),
    figure(`${title}: resident memory at most`, 'MB', [memory / megabyte]),
  ]
  if (engine === 'postgres') {
    figures.push(figure(`${title}: CPU of PostgreSQL`, '% of a core', [share('postgresMs')]))
    figures.push(figure(`${title}: connections at most`, 'sessions', [sessions]))
  }
  if (rate === rates.at(-1)) figures.push(...(await bytesOfRows(rig.database)))
  return figures
}

const units = {
  posternMs: 'ms of CPU of Postern',
  postgresMs: 'ms of CPU of PostgreSQL',
  walBytes: 'bytes of write-ahead log',
  syncs: 'syncs of the write-ahead log',
  perSecond: 'a second',
}
/** What one webhook with its handler, or one delivery with its share of the event, costs. */
type Cost = Record<keyof typeof units, number>

async function measureSaturated(engine: EngineName, context: BenchContext): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const rig = await setUp(stack, engine, context, subscribers, 'saturated')
  const received = scaled(webhooks, context.scale)
  const emitted = scaled(emits, context.scale)
  const send = (requests: Load['requests'], status: number) =>
    generate(rig.generator, { port: rig.postern.port, connections: 64, requests }, status)
  const sides: Side<Cost>[] = [
    {
      name: 'webhook with its handler',
      run: (prefix) =>
        costOf(rig, received, async () => {
          await send({ kind: 'webhooks', count: received, prefix }, 200)
          await waitUntilHandled(rig.database)
        }),
    },
    {
      name: 'delivery with a fifth of its event',
      run: (prefix) =>
        costOf(rig, emitted * subscribers, async () => {
          await send({ kind: 'emits', count: emitted, prefix }, 202)
          await untilDelivered(rig, emitted)
        }),
    },
  ]
  const results = await interleave(sides, context, `${engineTitles[engine]}, saturated`)
  const keys = Object.keys(units) as (keyof Cost)[]
  return results.flatMap((side) => keys.map((key) => figureOf(side, units[key], (round) => round[key])))
}

async function setUp(
  stack: AsyncDisposableStack,
  engine: EngineName,
  { postgresServer, profile }: BenchContext,
  count: number,
  what: string,
): Promise<Rig> {
  const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
  const steady: Rig['steady'] = stack.use(await startHelper('sizing/steady.ts'))
  const generator = stack.use(await startGenerator())
  const database = await createDatabase(engine, postgresServer)
  await createOrders(database)
  const postern = stack.use(
    await startOn(database, { env: handler, profile: profile(`sizing ${engine}, ${what}`) }),
  )
  const paths = Array.from({ length: count }, (_, index) => `/subscriber-${index}`)
  await subscribe(postern.port, `http://127.0.0.1:${sink.ready.port}`, paths)
  const postmaster = engine === 'postgres' ? await postmasterOf(postgresServer!) : undefined
  const cpu = () => ({
    posternMs: cpuOf(postern.pid) * 1000,
    postgresMs: postmaster === undefined ? 0 : cpuOfFamily(postmaster) * 1000,
  })
  return { database, postern, sink, steady, generator, subscribers: count, cpu }
}

/** Sends for some seconds and waits until all is done; tells the most memory and sessions seen meanwhile. */
async function load(
  rig: Rig,
  prefix: string,
  rate: number,
  seconds: number,
): Promise<{ sent: number; memory: number; sessions: number }> {
  const { database, postern } = rig
  let [memory, sessions, done] = [0, 0, false]
  const looking = (async () => {
    while (!done) {
      memory = Math.max(memory, postern.memory() ?? 0)
      if (database.engine === 'postgres')
        sessions = Math.max(sessions, await readNumber(database, sessionsSql))
      await wait(250)
    }
  })()
  try {
    const sent = await rig.steady.ask({
      port: postern.port,
      seconds,
      webhooks: rate,
      emits: rate,
      prefix,
    })
    await untilDelivered(rig, sent.emits)
    await waitUntilHandled(database)
    return { sent: sent.webhooks, memory: Math.max(memory, postern.memory() ?? 0), sessions }
  } finally {
    done = true
    await looking
  }
}

/** Waits until every subscriber has got each of so many events. */
async function untilDelivered({ sink, subscribers: each }: Rig, events: number): Promise<void> {
  const { distinct } = await sink.ask({ distinct: events * each, limit })
  if (distinct !== events * each) throw new Error(`${distinct} deliveries came instead of ${events * each}`)
}

/** The sessions of Postern: this one, which counts them, is left out. */
const sessionsSql = `select count(*) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`

/** Runs work and tells what each of its events cost. */
async function costOf({ database, cpu }: Rig, count: number, work: () => Promise<void>): Promise<Cost> {
  const look = async () => ({
    ...cpu(),
    walBytes: await readNumber(database, `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`),
    syncs: await readNumber(database, await syncsSql(database)),
  })
  const first = await look()
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1000
  // Sessions report their statistics once a second at most.
  await wait(1_500)
  const last = await look()
  const each = (key: keyof typeof first): number => (last[key] - first[key]) / count
  return {
    posternMs: each('posternMs'),
    postgresMs: each('postgresMs'),
    walBytes: each('walBytes'),
    syncs: each('syncs'),
    perSecond: count / seconds,
  }
}

/** PostgreSQL 18 counts the syncs of its log elsewhere (https://www.postgresql.org/docs/18/monitoring-stats.html). */
async function syncsSql(database: BenchDatabase): Promise<string> {
  const version = await readNumber(database, `select current_setting('server_version_num')::int`)
  return version >= 180_000
    ? `select sum(fsyncs) from pg_stat_io where object = 'wal'`
    : 'select wal_sync from pg_stat_wal'
}

/** Bytes of a table with its indexes. */
const bytesOf = {
  // The pages of both (https://www.sqlite.org/dbstat.html).
  sqlite: `select coalesce(sum(pgsize), 0) from dbstat
    where aggregate = true and name in (select name from sqlite_schema where tbl_name = $1)`,
  postgres: `select pg_total_relation_size($1::regclass)::float8`,
}

async function bytesOfRows(database: BenchDatabase): Promise<Figure[]> {
  // Otherwise the file lacks what is still in the log of changes.
  if (database.engine === 'sqlite') await execute(database, 'pragma wal_checkpoint(passive)')
  const each = async (table: string): Promise<number> =>
    (await readNumber(database, bytesOf[database.engine], [table])) /
    (await readNumber(database, `select count(*) from ${table}`))
  const title = engineTitles[database.engine]
  const event = await each('events')
  const marker = await each('event_queue')
  const key = await each('idempotency_keys')
  const delivery = (await each('deliveries')) + (await each('attempts'))
  return [
    figure(`${title}: a received event, with its marker`, 'bytes', [event + marker]),
    figure(`${title}: of that, the marker, which stays longer`, 'bytes', [marker]),
    figure(`${title}: an emitted event, with its key`, 'bytes', [event + key]),
    figure(`${title}: of that, the key, which stays longer`, 'bytes', [key]),
    figure(`${title}: a delivery with one attempt`, 'bytes', [delivery]),
  ]
}
