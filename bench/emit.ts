import { setStatus, subscribe } from './deliver/subscribers.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { cpuOfService } from './harness/cpu.ts'
import { adminKey, production, startPostern } from './harness/postern.ts'
import { generate, startGenerator } from './load/generate.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const connections = 64
const count = 8_000
const bytes = 1024
const owner = 'bench-customer'
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export const emit: Bench = {
  name: 'emit',
  about: "Events through Svix's API, against POST /events",
  plan(scale) {
    const steps = countSteps(2, scale) * scale.engines.length
    return { steps, seconds: steps * Math.max(0.3, 4 * scale.size) }
  },
  async run(context) {
    const outcome: Outcome = {
      figures: [],
      ratios: [],
      notes: [
        `Events of ${bytes} bytes of one customer over ${connections} connections, each with an id or key of its own, to a paused endpoint. Every accepted event was found in the database with its delivery.`,
      ],
    }
    for (const engine of context.scale.engines) {
      const { figures, ratios } = await measure(engine, context)
      outcome.figures.push(...figures)
      outcome.ratios.push(...ratios)
    }
    return outcome
  },
}

/** @property cpu microseconds of CPU time that the service used per event */
interface Emitted {
  perSecond: number
  cpu: number
}

/** One service gets both kinds of requests in turn. */
async function measure(
  engine: EngineName,
  context: BenchContext,
): Promise<Pick<Outcome, 'figures' | 'ratios'>> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const database = await createDatabase(engine, context.postgresServer)
  const postern = stack.use(
    await startPostern({
      folder: database.folder,
      env: { ...production, DATABASE_URL: database.url },
      profile: context.profile(`emit ${engine}`),
    }),
  )
  const { port } = postern
  const ids = await subscribe(port, 'http://127.0.0.1:9', ['/'], secret, undefined, { owner })
  await setStatus(port, ids, 'paused')
  const some = scaled(count, context.scale)
  const side = (name: string, throughSvix: boolean): Side<Emitted> => ({
    name: `${engineTitles[engine]}: ${name}`,
    async run(prefix) {
      const requests = {
        kind: 'emits',
        count: some,
        prefix,
        bytes,
        apiKey: adminKey,
        owner,
        throughSvix,
      } as const
      const origin = `http://127.0.0.1:${port}`
      const first = await cpuOfService(origin)
      const { perSecond } = await generate(generator, { port, connections, requests }, 202)
      const last = await cpuOfService(origin)
      return { perSecond, cpu: (last.user + last.system - first.user - first.system) / some }
    },
  })
  const sides = [side('POST /events', false), side('POST /api/v1/app/{id}/msg', true)]
  const [own = [], svix = []] = await interleave(sides, context.scale, context.step)
  const rounds = context.scale.rounds + context.scale.warmUp
  const stored = await readNumber(
    database,
    `select count(*) from deliveries join events on events.id = deliveries.event where deliveries.owner = '${owner}'`,
  )
  if (stored !== 2 * rounds * some)
    throw new Error(`${2 * rounds * some} events were accepted, ${stored} have a delivery`)
  const title = `${engineTitles[engine]}: POST /api/v1/app/{id}/msg / POST /events`
  const figures = [own, svix].flatMap((results, index) => [
    figure(
      sides[index]!.name,
      'events/s',
      results.map(({ perSecond }) => perSecond),
    ),
    figure(
      `${sides[index]!.name}, processor`,
      'µs an event',
      results.map(({ cpu }) => cpu),
    ),
  ])
  const [ofEvents, cpuOfEvents, ofMessages, cpuOfMessages] = figures
  return {
    figures,
    ratios: [
      ratio(title, ofMessages!, ofEvents!, { bound: 0.9 }),
      // Events divided by messages, so a higher ratio means less work for messages. The rate also depends on the disk, which varies more.
      ratio(`${title}, processor's time`, cpuOfEvents!, cpuOfMessages!),
    ],
  }
}
