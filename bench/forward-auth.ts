import { join } from 'node:path'
import { migrate } from '../src/storage/migrate.ts'
import { openDatabase } from '../src/storage/open.ts'
import { createDatabase, engineTitles, type BenchDatabase, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { signedIn, tokenAt } from './harness/signed-in.ts'
import { generate, startGenerator, type LoadResult } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf, type Cpu } from './measure/cpu.ts'
import { figure, figureOf, ratio, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const requests = 30_000
const people = 5_000
const connections = 32
const bound = 0.7
const boundMs = 5
interface Measured extends LoadResult {
  /** Microseconds of all threads of the server for a request. */
  cpu: number
}

const hosts = { plain: 'app.example.com', token: 'token.example.com' }

export const forwardAuth: Bench = {
  name: 'forward-auth',
  about: 'GET /auth/forward as proxies ask it, against a handler on bare Fastify that answers 204',
  plan(scale) {
    const steps = scale.engines.length * countSteps(3, scale)
    return { steps, seconds: steps * 4 * Math.max(0.1, scale.size) + 8 }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `${scaled(requests, context.scale)} requests a round over ${connections} connections, each as the one before it ends, by ${scaled(people, context.scale)} people in turn with a session and a cookie of the host. The answers have the headers of the person.`,
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  await using stack = new AsyncDisposableStack()
  const database = await createDatabase(engine, context.postgresServer)
  const tokens = await seed(database, scaled(people, context.scale))
  const postern = stack.use(
    await startOn(database, {
      env: {
        RATE_LIMIT: 'on',
        TRUSTED_PROXIES: '127.0.0.1',
        POSTERN_CONFIG: join(import.meta.dirname, 'forward-auth', 'hosts.config.ts'),
      },
      profile: context.profile(`forward-auth ${engine}`),
    }),
  )
  const bare = stack.use(await startHelper<{ port: number }, object, Cpu>('bare/empty-server.ts'))
  const generator = stack.use(await startGenerator())
  const count = scaled(requests, context.scale)
  const load = (port: number, host: string): Promise<LoadResult> => {
    const cookies = tokens.map((token) => `theme=dark; postern_host=${tokenAt(host, token)}`)
    const headers = {
      accept: 'image/avif,image/webp,*/*',
      'sec-fetch-dest': 'image',
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': host,
      'x-forwarded-method': 'GET',
      'x-forwarded-proto': 'http',
      'x-forwarded-uri': '/assets/picture.avif?v=3',
    }
    const gets = { kind: 'gets' as const, count, paths: ['/auth/forward'], headers, cookies }
    return generate(generator, { port, connections, requests: gets }, 204)
  }
  const measured = async (read: () => Promise<Cpu>, port: number, host: string): Promise<Measured> => {
    const { result, cpu } = await cpuDuring(read, () => load(port, host))
    return { ...result, cpu: totalOf(cpu) / count }
  }
  const ofPostern = () => cpuOfService(postern.origin)
  const title = engineTitles[engine]
  const sides: Side<Measured>[] = [
    { name: 'bare Fastify', run: () => measured(() => bare.ask({}), bare.ready.port, hosts.plain) },
    { name: 'Postern', run: () => measured(ofPostern, postern.port, hosts.plain) },
    { name: 'Postern, with a signed token', run: () => measured(ofPostern, postern.port, hosts.token) },
  ]
  const results = await interleave(sides, context, title)
  const rates = results.map((side) => figureOf(side, 'requests/s', ({ perSecond }) => perSecond))
  const slowest = results.map((side, index) => ({
    ...figureOf(side, 'ms', ({ p99 }) => p99, ', 99th percentile'),
    atMost: index === 0 ? undefined : boundMs,
  }))
  const cpu = results.map((side) => figureOf(side, 'µs', (each) => each.cpu, ', CPU of a request'))
  const busy = results[0]!.rounds.map(({ generatorCpu }) => generatorCpu)
  const generators = figure(`${title}: share of a core of the generator`, '', busy)
  return {
    figures: [...rates, ...slowest, ...cpu, generators],
    ratios: [
      ratio(`${title}: Postern / bare Fastify`, rates[1]!, rates[0]!, { bound }),
      ratio(`${title}: Postern with a signed token / bare Fastify`, rates[2]!, rates[0]!),
      ratio(`${title}: requests for the same CPU, Postern / bare Fastify`, perCpu(cpu[1]!), perCpu(cpu[0]!)),
    ],
  }
}

/** Requests in a second of CPU, which other programs on the machine change less than the rate. */
function perCpu(cpu: Figure): Figure {
  return figureOf(cpu, 'requests/s', (microseconds) => 1e6 / microseconds)
}

/** Signs people in at all hosts. */
async function seed({ url }: BenchDatabase, count: number): Promise<string[]> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    return await signedIn(database, count, Object.values(hosts))
  } finally {
    await database.close()
  }
}
