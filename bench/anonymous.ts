import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Pool } from 'undici'
import {
  exposed,
  send,
  worstRequests,
  type RouteTable,
  type WorstRequest,
} from '../test/attacks/worst-requests.ts'
import type { ProbeData } from './anonymous/probe.ts'
import { createDatabase } from './harness/databases.ts'
import { adminKey, production, startPostern, type Postern } from './harness/postern.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { median } from './measure/statistics.ts'

const boundMs = 50
/** What the Kubernetes file gives a process, and the heap that Node.js chooses in such a container. */
const [boundMb, heapMb] = [512, 256]
/** Of each kind of request, those that are repeated: the slowest of one pass over all. */
const repeated = 12
const parallel = 60
const kinds = ['query', 'header', 'form', 'JSON', 'webhook'] as const
const megabyte = 1024 * 1024

export const anonymous: Bench = {
  name: 'anonymous',
  about:
    'How long the worst requests without a credential hold the event loop, at every public route and every source',
  plan({ size, rounds }) {
    return { steps: 3, seconds: 100 * size + 3 * rounds + 10 }
  },
  async run(context) {
    await using stack = new AsyncDisposableStack()
    const [engine = 'sqlite'] = context.scale.engines
    const database = await createDatabase(engine, context.postgresServer)
    const postern = stack.use(
      await startPostern({
        folder: database.folder,
        env: {
          ...production,
          ...exposed.env,
          NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
          DATABASE_URL: database.url,
          POSTERN_CONFIG: join(import.meta.dirname, 'anonymous', 'exposed.config.ts'),
        },
        profile: context.profile('anonymous'),
      }),
    )
    const pool = new Pool(`http://127.0.0.1:${postern.port}`, { maxHeaderSize: megabyte })
    stack.defer(() => pool.destroy())
    const figures = [
      ...(await measureHolds(postern, pool, context)),
      ...(await measureMemory(postern, pool, context)),
    ]
    return { figures, ratios: [], notes } satisfies Outcome
  },
}

const notes = [
  `While a request is sent and answered, another connection calls GET /healthz without a pause; its longest answer counts, which includes what the machine is busy with otherwise. Of each kind, the ${repeated} slowest of one pass are repeated; the figure is that of the request with the highest median.`,
  `The memory is the highest (VmHWM) after ${parallel} bodies of 1 MiB at once at each of six addresses, three times, in a process with the heap that Node.js chooses in a container of ${boundMb} MB (${heapMb} MB).`,
]

async function measureHolds(postern: Postern, pool: Pool, { scale, step }: BenchContext): Promise<Figure[]> {
  const all = worstRequests(await tableOf(postern.port))
  const every = Math.max(1, Math.round(all.length / scaled(all.length, scale)))
  await using probe = startProbe(postern.port)
  const hold = async (worst: WorstRequest): Promise<number> => {
    const sent = worst.of(worst.most)
    await probe.begin()
    await send(pool, sent)
    return probe.end()
  }
  step(`one pass over ${Math.ceil(all.length / every)} requests`)
  const seen: { worst: WorstRequest; ms: number }[] = []
  for (let at = 0; at < all.length; at += every) seen.push({ worst: all[at]!, ms: await hold(all[at]!) })
  step('the slowest again')
  const figures: Figure[] = []
  for (const kind of kinds) {
    const slowest = seen
      .filter(({ worst }) => worst.kind === kind)
      .toSorted((one, other) => other.ms - one.ms)
      .slice(0, repeated)
    let highest: { name: string; rounds: number[] } | undefined
    for (const { worst } of slowest) {
      const rounds: number[] = []
      for (let round = 0; round < scale.rounds; round += 1) rounds.push(await hold(worst))
      if (!highest || median(rounds) > median(highest.rounds)) highest = { name: worst.name, rounds }
    }
    if (highest) figures.push(figure(`${kind}: ${highest.name}`, 'ms', highest.rounds, boundMs))
  }
  return figures
}

interface Probe extends AsyncDisposable {
  begin(): Promise<void>
  /** Milliseconds of the longest answer since `begin`. */
  end(): Promise<number>
}

function startProbe(port: number): Probe {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const workerData: ProbeData = { port, shared }
  const worker = new Worker(new URL('./anonymous/probe.ts', import.meta.url), { workerData })
  const next = async (): Promise<void> => {
    const ended = Atomics.load(shared, 0)
    await Atomics.waitAsync(shared, 0, ended).value
  }
  return {
    async begin() {
      await next()
      Atomics.store(shared, 1, 0)
    },
    // The probe that was in flight when the answer came, and the one that began behind it.
    async end() {
      await next()
      await next()
      return Atomics.load(shared, 1) / 1_000
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate()
    },
  }
}

async function tableOf(port: number): Promise<RouteTable> {
  const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  const { paths } = (await answer.json()) as Pick<RouteTable, 'paths'>
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  )
  return { paths, routes }
}

async function measureMemory(postern: Postern, pool: Pool, { scale, step }: BenchContext): Promise<Figure[]> {
  step(`${parallel} bodies of 1 MiB at once`)
  const objects = Buffer.from(`[${'{"a":1},'.repeat(megabyte / 8 - 16)}1]`)
  const headers = { 'content-type': 'application/json', 'x-signature': '0'.repeat(64) }
  const paths = [
    '/oauth2/introspect',
    '/oauth2/token',
    '/portal/session',
    '/webhooks/provider',
    '/webhooks/mailgun',
    '/webhooks/microsoft-graph',
  ]
  for (const path of paths)
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        Array.from({ length: scaled(parallel, scale) }, () =>
          send(pool, { method: 'POST', path, headers, body: objects }),
        ),
      )
  const highest = highestMemory(postern.pid)
  return highest === undefined ? [] : [figure('most resident memory', 'MB', [highest / megabyte], boundMb)]
}

/** Bytes; only Linux tells. */
function highestMemory(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
