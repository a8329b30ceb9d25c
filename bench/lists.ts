import { join } from 'node:path'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { adminKey } from './load/sample.ts'
import { startHelper } from './harness/processes.ts'
import { compareAnswers, makeListRequests } from './lists/requests.ts'
import { rowsAt, seed } from './lists/seed.ts'
import { generate, startGenerator } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave } from './measure/rounds.ts'

const connections = 32
const requests = 6_000
/** Of an operator, some of which take milliseconds. */
const operatorRequests = 1_500
const operatorsConfig = join(import.meta.dirname, 'lists', 'operators.config.ts')
const [listCount, operatorCount] = [4, 8]

export const lists: Bench = {
  name: 'lists',
  about:
    'Each list against handlers on bare Fastify and on bare node:http that run the same prepared statement on the same database',
  plan(scale) {
    const steps = scale.engines.length * (1 + countSteps(3 * listCount + 2 * operatorCount, scale))
    return {
      steps,
      seconds:
        scale.engines.length * 90 * Math.max(0.02, scale.size) + steps * Math.max(0.3, 1.2 * scale.size),
    }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `${scaled(requests, context.scale)} requests a round over ${connections} connections, ${rowsAt(context.scale)} rows in each table, pages of the default size; operators: ${scaled(operatorRequests, context.scale)} requests, a table of up to 100,000 rows, and the statement that somebody would write by hand for the same rows. Postern reads /users and /events with an API key, as in production; the bare handler asks nobody who they are.`,
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  const title = engineTitles[engine]
  context.step(`${title}: filling the tables`)
  await using stack = new AsyncDisposableStack()
  const database = await createDatabase(engine, context.postgresServer)
  await seed(database.url, rowsAt(context.scale))
  const { url } = database
  const postern = stack.use(
    await startOn(database, {
      env: { POSTERN_CONFIG: operatorsConfig },
      profile: context.profile(`lists ${engine}`),
    }),
  )
  const startBare = (on: string) => startHelper<{ port: number }>('bare/list-server.ts', { engine, url, on })
  const bare = stack.use(await startBare('node:http'))
  const fastify = stack.use(await startBare('fastify'))
  const generator = stack.use(await startGenerator())
  const headers = { authorization: `Bearer ${adminKey}` }
  const load = async (port: number, paths: readonly string[], count: number): Promise<number> => {
    const { perSecond } = await generate(
      generator,
      { port, connections, requests: { kind: 'gets', count, paths, headers } },
      200,
    )
    return perSecond
  }

  const figures: Outcome['figures'] = []
  const ratios: Outcome['ratios'] = []
  for (const list of await makeListRequests(postern.port)) {
    await compareAnswers(postern.port, bare.ready.port, list)
    await compareAnswers(postern.port, fastify.ready.port, list)
    const [of, bound] = list.isOperator ? [operatorRequests, 1 / 1.2] : [requests, list.bound]
    const count = scaled(of, context.scale)
    const sides = [
      { name: `GET ${list.path}, Postern`, run: () => load(postern.port, list.ours, count) },
      { name: `GET ${list.path}, bare Fastify`, run: () => load(fastify.ready.port, list.bare, count) },
      { name: `GET ${list.path}, bare node:http`, run: () => load(bare.ready.port, list.bare, count) },
    ].slice(0, list.isOperator ? 2 : 3)
    const results = await interleave(sides, context, title)
    const rates = results.map(({ name, rounds }) => figure(name, 'requests/s', rounds))
    const [ours, ...others] = rates
    figures.push(...rates)
    for (const [index, other] of others.entries()) {
      const name = `${title}: GET ${list.path}, Postern / ${index === 0 ? 'bare Fastify' : 'bare node:http'}`
      ratios.push(ratio(name, ours!, other, index === 0 && bound !== undefined ? { bound } : {}))
    }
  }
  return { figures, ratios }
}
