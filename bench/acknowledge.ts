import { bareName, report, socketsName, type Measured } from './acknowledge/report.ts'
import { countKept, waitUntilHandled } from './acknowledge/stored.ts'
import { bareRequests, few, variantsOn, type Variant } from './acknowledge/variants.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { bodyBytes } from './load/sample.ts'
import { startHelper } from './harness/processes.ts'
import { generate, startGenerator, type LoadResult } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import type { Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

export const acknowledge: Bench = {
  name: 'acknowledge',
  about:
    'POST /webhooks/provider, durable, against a bare node:http server that verifies, parses and answers',
  plan(scale) {
    const sides = scale.engines.reduce((sum, engine) => sum + 2 * variantsOn(engine).length + 1, 0)
    const steps = countSteps(sides, scale)
    return { steps, seconds: steps * Math.max(0.3, 4.5 * scale.size) }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `Webhooks of ${bodyBytes} bytes over ${few} connections where no other number is named. After the last round all that were acknowledged in any of them were found in the database.`,
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Outcome> {
  const measured: Measured[] = []
  // One after the other: a service that has nothing to do still looks for work, and cleans up behind its last round.
  for (const variant of variantsOn(engine)) measured.push(await measureVariant(engine, variant, context))
  return report(engine, measured)
}

/** Nothing but the bare server, what the generator reaches, and one service run in turn. */
async function measureVariant(
  engine: EngineName,
  variant: Variant,
  context: BenchContext,
): Promise<Measured> {
  await using stack = new AsyncDisposableStack()
  const generator = stack.use(await startGenerator())
  const load = (port: number, prefix: string, requests: number): Promise<LoadResult> => {
    const count = scaled(requests, context.scale)
    const webhooks = { kind: 'webhooks', count, prefix } as const
    return generate(generator, { port, connections: variant.connections, requests: webhooks }, 200)
  }

  const bare = stack.use(await startHelper<{ port: number }>('bare/webhook-server.ts'))
  const database = await createDatabase(engine, context.postgresServer)
  const postern = stack.use(
    await startOn(database, {
      env: variant.env ?? {},
      args: variant.args ?? [],
      profile: context.profile(`${engine}, ${variant.title}`),
    }),
  )
  const prefixes: string[] = []
  const sides: Side<LoadResult>[] = [
    { name: bareName, run: (round) => load(bare.ready.port, round, bareRequests) },
    {
      name: variant.title,
      async run(round) {
        const result = await load(postern.port, round, variant.requests)
        prefixes.push(round)
        // What is still to be handled would take the machine from the next side.
        if (variant.handles) await waitUntilHandled(database)
        return result
      },
    },
  ]
  if (variant.sockets) {
    const sink = stack.use(await startHelper<{ port: number }>('load/sink.ts'))
    sides.push({ name: socketsName, run: (round) => load(sink.ready.port, round, bareRequests) })
  }
  const [bareRounds, ours, sockets] = await interleave(sides, context, engineTitles[engine])
  // Not between the rounds: who first reads a row of PostgreSQL writes into its page that it is committed, and the next round
  // would have to write those pages back.
  for (const prefix of prefixes) await countKept(database, prefix, scaled(variant.requests, context.scale))
  return {
    title: variant.title,
    bounded: variant.bounded ?? false,
    bare: bareRounds!.rounds,
    rounds: ours!.rounds,
    sockets: sockets?.rounds ?? [],
  }
}
