import { execFileSync } from 'node:child_process'
import { countKept } from './acknowledge/stored.ts'
import { bareRequests, few, many } from './acknowledge/variants.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { checkoutBefore, startOn } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf } from './measure/cpu.ts'
import { figureOf, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

/** What a change may cost: the least ratio to the state before. */
const bound = 0.9

export const before: Bench = {
  name: 'before',
  about: 'POST /webhooks/provider, durable, against another state of Postern',
  plan(scale) {
    const steps = checkoutBefore ? countSteps(3, scale) * scale.engines.length * 2 : 0
    return { steps, seconds: steps * Math.max(0.3, 4.5 * scale.size) }
  },
  async run(context) {
    if (!checkoutBefore) {
      const why = 'Nothing was measured: BEFORE says in which folder the other state of Postern is.'
      return { figures: [], ratios: [], notes: [why] }
    }
    const commit = execFileSync('git', ['-C', checkoutBefore, 'rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
    }).trim()
    return onEachEngine(context, measure, [
      `Webhooks of ${bodyBytes} bytes. The state before is ${commit}. All that this state acknowledged were found in its database.`,
    ])
  },
}

/** @property cpu microseconds that the service took for one webhook */
interface Acknowledged {
  perSecond: number
  cpu: number
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  const all = [await measureOver(few, engine, context), await measureOver(many, engine, context)]
  return {
    figures: all.flatMap(({ figures }) => figures),
    ratios: all.flatMap(({ ratios }) => ratios),
  }
}

/** Both states and the bare server, each with all connections, in turn. */
async function measureOver(
  connections: number,
  engine: EngineName,
  context: BenchContext,
): Promise<Omit<Outcome, 'notes'>> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const count = scaled(bareRequests, context.scale)
  const load = async (port: number, prefix: string): Promise<number> => {
    const webhooks = { kind: 'webhooks', count, prefix } as const
    return (await generate(generator, { port, connections, requests: webhooks }, 200)).perSecond
  }
  const checks: (() => Promise<void>)[] = []
  const start = async (name: string, checkout?: string): Promise<Side<Acknowledged>> => {
    const database = await createDatabase(engine, context.postgresServer)
    const { port, origin } = stack.use(await startOn(database, { checkout }))
    return {
      name,
      async run(round) {
        // The other state may have other tables.
        if (checkout === undefined) checks.push(() => countKept(database, round, count))
        const { result, cpu } = await cpuDuring(
          () => cpuOfService(origin),
          () => load(port, round),
        )
        return { perSecond: result, cpu: totalOf(cpu) / count }
      },
    }
  }
  const bare = stack.use(await startHelper<{ port: number }>('bare/webhook-server.ts'))
  const title = `${engineTitles[engine]}, ${connections} connections`
  // The two states at both ends, so each follows the bare server and itself equally often (see `interleave`): a state that always
  // followed the other one would wait for its pages to be written.
  const sides: Side<Acknowledged>[] = [
    await start('Postern'),
    {
      name: 'bare server',
      run: async (round) => ({ perSecond: await load(bare.ready.port, round), cpu: Number.NaN }),
    },
    await start('Postern before', checkoutBefore),
  ]
  const results = await interleave(sides, context, title)
  // Not between the rounds, as in acknowledge.
  for (const check of checks) await check()
  const [now, server, then] = results.map((side) =>
    figureOf(side, 'acknowledgements/s', ({ perSecond }) => perSecond),
  )
  const [cpu, , cpuBefore] = results.map((side) =>
    figureOf(side, 'µs a webhook', (each) => each.cpu, ', processor'),
  )
  return {
    figures: [now!, server!, then!, cpu!, cpuBefore!],
    ratios: [
      ratio(`${title}: Postern / Postern before`, now!, then!, { bound }),
      // Before by now, so that less work is more. The speed depends on the disk as well, which varies more.
      ratio(`${title}: processor's time, before / now`, cpuBefore!, cpu!, { bound }),
      ratio(`${title}: Postern / bare server`, now!, server!),
      ratio(`${title}: Postern before / bare server`, then!, server!),
    ],
  }
}
