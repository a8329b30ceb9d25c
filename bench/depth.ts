import { join } from 'node:path'
import { farEnd, fillTables, insertRates } from './depth/tables.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { adminKey } from './load/sample.ts'
import { generate, startGenerator } from './load/load.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave } from './measure/rounds.ts'

const rows = 1_000_000
const fewestRows = 2_500
const connections = 16
/** Of a round: many short rounds, since the machine is another one from second to second. */
const requests = 1_500
const sideCount = 8

export const depth: Bench = {
  name: 'depth',
  about:
    'Lists of a million rows: the far end, a high page number and a total against the first page without one',
  plan(scale) {
    const steps = scale.engines.length * (1 + countSteps(sideCount, scale))
    return {
      steps,
      seconds: scale.engines.length * 60 * Math.max(0.05, scale.size) + steps * Math.max(0.3, scale.size),
    }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `${Math.max(fewestRows, scaled(rows, context.scale))} users and posts, 20 rows a page, ${scaled(requests, context.scale)} requests a round over ${connections} connections. Inserts: one row per commit, from one client on SQLite and 16 on PostgreSQL, into users with and without its triggers.`,
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  const title = engineTitles[engine]
  const { scale } = context
  context.step(`${title}: filling the tables`)
  await using stack = new AsyncDisposableStack()
  const database = await createDatabase(engine, context.postgresServer)
  const count = Math.max(fewestRows, scaled(rows, scale))
  await fillTables(database.url, count)
  const postern = stack.use(
    await startOn(database, {
      env: { POSTERN_CONFIG: join(import.meta.dirname, 'depth', 'lists.config.ts') },
      profile: context.profile(`depth ${engine}`),
    }),
  )
  const generator = stack.use(await startGenerator())
  const read = (name: string, path: string) => ({
    name,
    run: async (): Promise<number> => {
      const gets = {
        kind: 'gets',
        count: scaled(requests, scale),
        paths: [path],
        headers: { authorization: `Bearer ${adminKey}` },
      } as const
      return (await generate(generator, { port: postern.port, connections, requests: gets }, 200)).perSecond
    },
  })
  const lastPage = Math.ceil(count / 20)
  const inserts = insertRates(
    (await createDatabase(engine, context.postgresServer)).url,
    scaled(2_000, scale),
  )
  const sides = [
    read('posts, first page', '/api/posts'),
    read('posts, far end by cursor', farEnd(count)),
    read('users, page 1', '/people?page=1'),
    read(`users, page ${lastPage}`, `/people?page=${lastPage}`),
    read('users, page 1 without a total', '/people?page=1&count=none'),
    read('GET /users?page=1', '/users?page=1'),
    { name: 'inserts, without triggers', run: () => inserts(false) },
    { name: 'inserts, with triggers', run: () => inserts(true) },
  ]
  const results = await interleave(sides, context, title)
  const figures = results.map(({ name, rounds }) =>
    figure(name, name.includes('inserts') ? 'rows/s' : 'requests/s', rounds),
  )
  const [first, far, page1, deep, bare, , without, kept] = figures
  const held = (name: string, of: typeof first, to: typeof first, times: number) =>
    ratio(`${title}: ${name}`, of!, to!, { bound: Math.round(1_000 / times) / 1_000 })
  return {
    figures,
    ratios: [
      held('far end by cursor / first page', far, first, 1.1),
      held(`page ${lastPage} / page 1`, deep, page1, engine === 'sqlite' ? 3 : 8),
      held('with total / without', page1, bare, 1.2),
      held('inserts with triggers / without', kept, without, engine === 'sqlite' ? 1.25 : 1.6),
    ],
  }
}
