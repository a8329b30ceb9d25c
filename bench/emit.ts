import { setStatus, subscribe } from './deliver/subscribers.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { generate, startGenerator } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf } from './measure/cpu.ts'
import { figureOf, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const connections = 64
const count = 8_000
const owner = 'bench-customer'

export const emit: Bench = {
  name: 'emit',
  about: "Events through Svix's API, against POST /events",
  plan(scale) {
    const steps = countSteps(2, scale) * scale.engines.length
    return { steps, seconds: steps * Math.max(0.3, 4 * scale.size) }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `Events of ${bodyBytes} bytes of one customer over ${connections} connections, each with an id or key of its own, to a paused endpoint. Every accepted event was found in the database with its delivery.`,
    ]),
}

/** @property cpu microseconds of CPU time that the service used per event */
interface Emitted {
  perSecond: number
  cpu: number
}

/** One service gets both kinds of requests in turn. */
async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const database = await createDatabase(engine, context.postgresServer)
  const profile = context.profile(`emit ${engine}`)
  const { port, origin } = stack.use(await startOn(database, { profile }))
  const ids = await subscribe(port, 'http://127.0.0.1:9', ['/'], { owner })
  await setStatus(port, ids, 'paused')
  const some = scaled(count, context.scale)
  const side = (name: string, throughSvix: boolean): Side<Emitted> => ({
    name,
    async run(prefix) {
      const events = { kind: 'emits', count: some, prefix } as const
      const requests = { ...events, owner, throughSvix }
      const { result, cpu } = await cpuDuring(
        () => cpuOfService(origin),
        () => generate(generator, { port, connections, requests }, 202),
      )
      return { perSecond: result.perSecond, cpu: totalOf(cpu) / some }
    },
  })
  const sides = [side('POST /events', false), side('POST /api/v1/app/{id}/msg', true)]
  const results = await interleave(sides, context, engineTitles[engine])
  const accepted = sides.length * (context.scale.rounds + context.scale.warmUp) * some
  const stored = await readNumber(
    database,
    `select count(*) from deliveries join events on events.id = deliveries.event where deliveries.owner = '${owner}'`,
  )
  if (stored !== accepted) throw new Error(`${accepted} events were accepted, ${stored} have a delivery`)
  const title = `${engineTitles[engine]}: POST /api/v1/app/{id}/msg / POST /events`
  const figures = results.flatMap((side) => [
    figureOf(side, 'events/s', ({ perSecond }) => perSecond),
    figureOf(side, 'µs an event', ({ cpu }) => cpu, ', processor'),
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
