import { setTimeout as wait } from 'node:timers/promises'
import { waitUntilHandled } from './acknowledge/stored.ts'
import { subscribe } from './deliver/subscribers.ts'
import {
  createDatabase,
  engineTitles,
  readNumber,
  type BenchDatabase,
  type EngineName,
} from './harness/databases.ts'
import { adminKey, production, startPostern, webhookSecret, type Postern } from './harness/postern.ts'
import { startHelper, type Helper } from './harness/processes.ts'
import type { Expectation, Sunk } from './load/sink.ts'
import type { Bench, BenchContext, Scale } from './measure/bench.ts'
import { cpuOf, cpuOfFamily, postmasterOf } from './measure/cpu.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { createOrders, handler } from './process/orders.ts'
import type { Steady, SteadyResult } from './sizing/steady.ts'
import { storedIn, type Stored } from './sizing/stored.ts'

/** Events a second. */
const rates = [1, 100, 1000]
const bytes = 1024
/** Seconds: the first make Node compile what runs often, and do not count. */
const before = 6
const measured = 10
const limit = 60_000
const megabyte = 1024 * 1024
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** In a trial the last one, which leaves enough rows to divide by. */
const ratesOf = ({ size }: Scale): number[] => (size < 0.1 ? rates.slice(-1) : rates)

interface Rig {
  database: BenchDatabase
  postern: Postern
  sink: Helper<{ port: number }, Expectation, Sunk>
  generator: Helper<object, Steady, SteadyResult>
  /** Seconds of CPU until now, of Postern and of PostgreSQL. */
  cpu: () => { postern: number; postgres: number }
}

export const sizing: Bench = {
  name: 'sizing',
  about:
    'What one process needs at a constant rate of events, and the bytes that an event leaves in the database',
  plan(scale) {
    const steps = scale.engines.length * ratesOf(scale).length
    return { steps, seconds: steps * (4 + (before + measured) * Math.max(0.05, scale.size)) }
  },
  async run(context) {
    const figures: Figure[] = []
    for (const engine of context.scale.engines) figures.push(...(await measure(engine, context)))
    return { figures, ratios: [], notes: notes() } satisfies Outcome
  },
}

const notes = (): string[] => [
  `"1 event/s" is one webhook a second through a handler that writes one row, and one emitted event a second to one subscriber, of ${bytes} bytes each, for ${measured} s after ${before} s of the same. CPU as the kernel counts it, of all threads of Postern and of all processes of PostgreSQL. One run for each rate.`,
  'Bytes are those of the tables with their indexes after the load, divided by the rows. The row of the handler is not in them. PostgreSQL: with the room of old versions of rows, which later rows use after a vacuum.',
]

async function measure(engine: EngineName, context: BenchContext): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const rate of ratesOf(context.scale)) {
    context.step(`${engineTitles[engine]}: ${rate} a second`)
    figures.push(...(await measureRate(engine, rate, context)))
  }
  return figures
}

async function measureRate(
  engine: EngineName,
  rate: number,
  { scale, postgresServer }: BenchContext,
): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack()
  const rig = await setUp(stack, engine, postgresServer)
  const title = `${engineTitles[engine]}: ${rate} event${rate === 1 ? '' : 's'}/s`
  await load(rig, 'before', rate, Math.max(0.5, before * scale.size))
  const seconds = Math.max(0.5, measured * scale.size)
  const cpu = rig.cpu()
  const { sent, memory, sessions } = await load(rig, 'measured', rate, seconds)
  const after = rig.cpu()
  // Of the time that the events stand for: on a busy machine they take longer to send.
  const share = (part: 'postern' | 'postgres'): number => (100 * rate * (after[part] - cpu[part])) / sent
  const figures = [
    figure(`${title}: CPU of Postern`, '% of a core', [share('postern')]),
    figure(`${title}: resident memory at most`, 'MB', [memory / megabyte]),
  ]
  if (engine === 'postgres') {
    figures.push(figure(`${title}: CPU of PostgreSQL`, '% of a core', [share('postgres')]))
    figures.push(figure(`${title}: connections at most`, 'sessions', [sessions]))
  }
  if (rate === rates.at(-1)) figures.push(...(await bytesOfRows(rig.database)))
  return figures
}

async function setUp(
  stack: AsyncDisposableStack,
  engine: EngineName,
  postgresServer: string | undefined,
): Promise<Rig> {
  const sink = stack.use(await startHelper<{ port: number }, Expectation, Sunk>('load/sink.ts'))
  const generator: Rig['generator'] = stack.use(await startHelper('sizing/steady.ts'))
  const database = await createDatabase(engine, postgresServer)
  await createOrders(database)
  const env = { ...production, ...handler, DATABASE_URL: database.url }
  const postern = stack.use(await startPostern({ folder: database.folder, env }))
  await subscribe(postern.port, `http://127.0.0.1:${sink.ready.port}`, ['/subscriber'], secret)
  const postmaster = engine === 'postgres' ? await postmasterOf(postgresServer!) : undefined
  const cpu = (): { postern: number; postgres: number } => ({
    postern: cpuOf(postern.pid),
    postgres: postmaster === undefined ? 0 : cpuOfFamily(postmaster),
  })
  return { database, postern, sink, generator, cpu }
}

/** Sends for some seconds and waits until all is done; tells the most memory and sessions seen meanwhile. */
async function load(
  { database, postern, sink, generator }: Rig,
  prefix: string,
  rate: number,
  seconds: number,
): Promise<{ sent: number; memory: number; sessions: number }> {
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
    const sent = await generator.ask({
      port: postern.port,
      seconds,
      webhooks: rate,
      emits: rate,
      prefix,
      bytes,
      secret: webhookSecret,
      apiKey: adminKey,
    })
    const { distinct } = await sink.ask({ distinct: sent.emits, limit })
    if (distinct !== sent.emits) throw new Error(`${distinct} deliveries came instead of ${sent.emits}`)
    await waitUntilHandled(database)
    return { sent: sent.webhooks, memory: Math.max(memory, postern.memory() ?? 0), sessions }
  } finally {
    done = true
    await looking
  }
}

/** The sessions of Postern: this one, which counts them, is left out. */
const sessionsSql = `select count(*) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`

async function bytesOfRows(database: BenchDatabase): Promise<Figure[]> {
  const rowsOf = (table: Stored): Promise<number> => readNumber(database, `select count(*) from ${table}`)
  const each = async (table: Stored): Promise<number> =>
    (await storedIn(database, [table])) / (await rowsOf(table))
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
