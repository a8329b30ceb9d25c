import { execFileSync } from 'node:child_process'
import { countKept } from './acknowledge/stored.ts'
import { bareRequests, few, many } from './acknowledge/variants.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { cpuOfService } from './harness/cpu.ts'
import { checkoutBefore, production, startPostern, webhookSecret } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator } from './load/generate.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const bytes = 1024

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
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    if (!checkoutBefore) {
      outcome.notes.push('Nothing was measured: BEFORE says in which folder the other state of Postern is.')
      return outcome
    }
    const commit = execFileSync('git', ['-C', checkoutBefore, 'rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
    }).trim()
    outcome.notes.push(
      `Webhooks of ${bytes} bytes. The state before is ${commit}. All that this state acknowledged were found in its database.`,
    )
    for (const engine of context.scale.engines)
      for (const connections of [few, many]) {
        const { figures, ratios } = await measure(engine, connections, context)
        outcome.figures.push(...figures)
        outcome.ratios.push(...ratios)
      }
    return outcome
  },
}

/** @property cpu microseconds that the service took for one webhook */
interface Acknowledged {
  perSecond: number
  cpu: number
}

/** Both states and the bare server, each with all connections, in turn. */
async function measure(
  engine: EngineName,
  connections: number,
  context: BenchContext,
): Promise<Pick<Outcome, 'figures' | 'ratios'>> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const count = scaled(bareRequests, context.scale)
  const load = async (port: number, prefix: string): Promise<number> => {
    const webhooks = { kind: 'webhooks', count, prefix, secret: webhookSecret, bytes } as const
    return (await generate(generator, { port, connections, requests: webhooks }, 200)).perSecond
  }
  const loadPostern = async (port: number, prefix: string): Promise<Acknowledged> => {
    const origin = `http://127.0.0.1:${port}`
    const first = await cpuOfService(origin)
    const perSecond = await load(port, prefix)
    const last = await cpuOfService(origin)
    return { perSecond, cpu: (last.user + last.system - first.user - first.system) / count }
  }
  const checks: (() => Promise<void>)[] = []
  const start = async (name: string, checkout?: string): Promise<Side<Acknowledged>> => {
    const database = await createDatabase(engine, context.postgresServer)
    const env = { ...production, DATABASE_URL: database.url }
    const postern = stack.use(await startPostern({ folder: database.folder, env, checkout }))
    return {
      name,
      run(round) {
        // The other state may have other tables.
        if (checkout === undefined) checks.push(() => countKept(database, round, count))
        return loadPostern(postern.port, round)
      },
    }
  }
  const bare = stack.use(
    await startHelper<{ port: number }>('bare/webhook-server.ts', { secret: webhookSecret }),
  )
  const title = `${engineTitles[engine]}, ${connections} connections`
  // The two states at both ends, so each follows the bare server and itself equally often (see `interleave`): a state that always
  // followed the other one would wait for its pages to be written.
  const sides = [
    await start(`${title}: Postern`),
    {
      name: `${title}: bare server`,
      run: async (round: string): Promise<Acknowledged> => ({
        perSecond: await load(bare.ready.port, round),
        cpu: Number.NaN,
      }),
    },
    await start(`${title}: Postern before`, checkoutBefore),
  ]
  const results = await interleave(sides, context.scale, context.step)
  // Not between the rounds, as in acknowledge.
  for (const check of checks) await check()
  const perSecond = sides.map(({ name }, index) =>
    figure(
      name,
      'acknowledgements/s',
      results[index]!.map((each) => each.perSecond),
    ),
  )
  const [now, server, then] = perSecond
  const [cpu, , cpuBefore] = sides.map(({ name }, index) =>
    figure(
      `${name}, processor`,
      'µs a webhook',
      results[index]!.map((each) => each.cpu),
    ),
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
