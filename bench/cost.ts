import { setTimeout as wait } from 'node:timers/promises'
import { waitUntilHandled } from './acknowledge/stored.ts'
import { subscribe } from './deliver/subscribers.ts'
import { createDatabase, readNumber, type BenchDatabase } from './harness/databases.ts'
import { adminKey, production, startPostern, webhookSecret, type Postern } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator } from './load/generate.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuOf, cpuOfFamily, postmasterOf } from './measure/cpu.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'
import { createOrders, handler } from './process/orders.ts'

const webhooks = 12_000
const emits = 1_500
const subscribers = 5
const bytes = 1024
const limit = 120_000
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** What one webhook with its handler, or one delivery with its share of the event, costs. */
interface Cost {
  posternMs: number
  postgresMs: number
  /** Bytes of the write-ahead log. */
  walBytes: number
  /** Syncs of the write-ahead log. */
  syncs: number
}

interface Measured extends Cost {
  perSecond: number
}

const names = {
  received: 'webhook with its handler',
  delivered: 'delivery with a fifth of its event',
}
const units: Record<keyof Cost, string> = {
  posternMs: 'ms of CPU of Postern',
  postgresMs: 'ms of CPU of PostgreSQL',
  walBytes: 'bytes of write-ahead log',
  syncs: 'syncs of the write-ahead log',
}

export const cost: Bench = {
  name: 'cost',
  about: 'What one webhook and one delivery cost a saturated process and its PostgreSQL',
  plan(scale) {
    if (!scale.engines.includes('postgres')) return { steps: 0, seconds: 0 }
    const steps = countSteps(2, scale)
    return { steps, seconds: 20 + steps * Math.max(2, 8 * scale.size) }
  },
  async run(context) {
    const { postgresServer, scale } = context
    if (!scale.engines.includes('postgres') || postgresServer === undefined)
      return { figures: [], ratios: [], notes: ['Not measured: it is about PostgreSQL.'] }
    return measure(postgresServer, context)
  },
}

async function measure(server: string, context: BenchContext): Promise<Outcome> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
  const generator = stack.use(await startGenerator())
  const database = await createDatabase('postgres', server)
  await createOrders(database)
  const postern = stack.use(
    await startPostern({
      folder: database.folder,
      env: { ...production, ...handler, DATABASE_URL: database.url },
      profile: context.profile('cost'),
    }),
  )
  const paths = Array.from({ length: subscribers }, (_, index) => `/subscriber-${index}`)
  await subscribe(postern.port, `http://127.0.0.1:${sink.ready.port}`, paths, secret)
  const counter = await counterOf(server, database, postern)
  const port = postern.port

  const received: Side<Measured> = {
    name: names.received,
    run: (prefix) =>
      counter(scaled(webhooks, context.scale), async (count) => {
        const requests = { kind: 'webhooks', count, prefix, secret: webhookSecret, bytes } as const
        await generate(generator, { port, connections: 64, requests }, 200)
        await waitUntilHandled(database)
      }),
  }
  const delivered: Side<Measured> = {
    name: names.delivered,
    run: (prefix) =>
      counter(scaled(emits, context.scale) * subscribers, async (count) => {
        const requests = {
          kind: 'emits',
          count: count / subscribers,
          prefix,
          bytes,
          apiKey: adminKey,
        } as const
        await generate(generator, { port, connections: 64, requests }, 202)
        const { distinct } = await sink.ask({ distinct: count, limit })
        if (distinct !== count) throw new Error(`${distinct} deliveries came instead of ${count}`)
      }),
  }
  const sides = [received, delivered]
  const rounds = await interleave(sides, context.scale, context.step)
  return report(sides.map(({ name }, index) => ({ name, rounds: rounds[index]! })))
}

function report(sides: readonly { name: string; rounds: readonly Measured[] }[]): Outcome {
  const figures: Figure[] = sides.flatMap(({ name, rounds }) => [
    ...(Object.keys(units) as (keyof Cost)[]).map((key) =>
      figure(
        name,
        units[key],
        rounds.map((round) => round[key]),
      ),
    ),
    figure(
      name,
      'a second',
      rounds.map(({ perSecond }) => perSecond),
    ),
  ])
  return {
    figures,
    ratios: [],
    notes: [
      `One process, ${bytes} bytes each, over 64 connections as fast as they are answered; a handler that writes one row, and ${subscribers} subscribers for each emitted event. The load generator and the receiver share the machine. CPU as the kernel counts it, of all threads of Postern and of all processes of PostgreSQL, checkpoints and vacuum during the round included.`,
    ],
  }
}

/** Runs work and tells what each of its events cost. */
async function counterOf(
  server: string,
  database: BenchDatabase,
  postern: Postern,
): Promise<(count: number, work: (count: number) => Promise<void>) => Promise<Measured>> {
  const postmaster = await postmasterOf(server)
  const syncsSql = await syncsStatement(database)
  const look = async (): Promise<Cost> => ({
    posternMs: cpuOf(postern.pid) * 1000,
    postgresMs: cpuOfFamily(postmaster) * 1000,
    walBytes: await readNumber(database, `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`),
    syncs: await readNumber(database, syncsSql),
  })
  return async (count, work) => {
    const before = await look()
    const began = performance.now()
    await work(count)
    const seconds = (performance.now() - began) / 1000
    // Sessions report their statistics once a second at most.
    await wait(1_500)
    const after = await look()
    const each = (key: keyof Cost): number => (after[key] - before[key]) / count
    return {
      posternMs: each('posternMs'),
      postgresMs: each('postgresMs'),
      walBytes: each('walBytes'),
      syncs: each('syncs'),
      perSecond: count / seconds,
    }
  }
}

/** PostgreSQL 18 counts the syncs of its log elsewhere (https://www.postgresql.org/docs/18/monitoring-stats.html). */
async function syncsStatement(database: BenchDatabase): Promise<string> {
  const version = await readNumber(database, `select current_setting('server_version_num')::int`)
  return version >= 180_000
    ? `select sum(fsyncs) from pg_stat_io where object = 'wal'`
    : 'select wal_sync from pg_stat_wal'
}
