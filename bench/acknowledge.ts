import { bareName, report, socketsName } from './acknowledge/report.ts'
import { countKept, waitUntilHandled } from './acknowledge/stored.ts'
import { bareRequests, variantsOn, type Variant } from './acknowledge/variants.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { production, startPostern, webhookSecret } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator } from './load/generate.ts'
import type { LoadResult } from './load/load.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import type { Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const connections = 64
const bytes = 1024

export const acknowledge: Bench = {
  name: 'acknowledge',
  about:
    'POST /webhooks/provider, durable, against a bare node:http server that verifies, parses and answers',
  plan(scale) {
    const sides = scale.engines.reduce((sum, engine) => sum + variantsOn(engine).length + 2, 0)
    const steps = countSteps(sides, scale)
    return { steps, seconds: steps * Math.max(0.3, 4.5 * scale.size) }
  },
  async run(context) {
    const outcome: Outcome = {
      figures: [],
      ratios: [],
      notes: [
        `Webhooks of ${bytes} bytes over ${connections} connections. After every round all that were acknowledged were found in the database.`,
      ],
    }
    for (const engine of context.scale.engines) {
      const { figures, ratios, notes } = report(engine, await measure(engine, context))
      outcome.figures.push(...figures)
      outcome.ratios.push(...ratios)
      outcome.notes.push(...notes)
    }
    return outcome
  },
}

async function measure(engine: EngineName, context: BenchContext): Promise<Map<string, LoadResult[]>> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const load = (port: number, prefix: string, requests: number): Promise<LoadResult> => {
    const count = scaled(requests, context.scale)
    const webhooks = { kind: 'webhooks', count, prefix, secret: webhookSecret, bytes } as const
    return generate(generator, { port, connections, requests: webhooks }, 200)
  }

  const secret = { secret: webhookSecret }
  const bare = stack.use(await startHelper<{ port: number }>('bare/webhook-server.ts', secret))
  const sink = stack.use(await startHelper<{ port: number }>('load/sink.ts'))
  const sides: Side<LoadResult>[] = [
    { name: bareName, run: (round) => load(bare.ready.port, round, bareRequests) },
    { name: socketsName, run: (round) => load(sink.ready.port, round, bareRequests) },
  ]
  for (const variant of variantsOn(engine)) {
    sides.push({ name: variant.title, run: await startVariant(variant) })
  }
  const results = await interleave(sides, context.scale, (what) =>
    context.step(`${engineTitles[engine]}: ${what}`),
  )
  return new Map(sides.map(({ name }, index) => [name, results[index]!]))

  async function startVariant(variant: Variant): Promise<Side<LoadResult>['run']> {
    const database = await createDatabase(engine, context.postgresServer)
    const postern = stack.use(
      await startPostern({
        folder: database.folder,
        env: { ...production, ...variant.env, DATABASE_URL: database.url },
        args: variant.args ?? [],
        profile: context.profile(`${engine}, ${variant.title}`),
      }),
    )
    return async (round) => {
      const result = await load(postern.port, round, variant.requests)
      await countKept(database, round, scaled(variant.requests, context.scale))
      // What is still to be handled would take the machine from the next side.
      if (variant.handles) await waitUntilHandled(database)
      return result
    }
  }
}
