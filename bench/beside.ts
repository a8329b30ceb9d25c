import { startDirectus } from './beside/directus.ts'
import type { Product, Rival } from './beside/rival.ts'
import { startStrapi } from './beside/strapi.ts'
import { createDatabase, makeFolder } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { rowsAt, seed } from './lists/seed.ts'
import { generate, startGenerator } from './load/load.ts'
import { scaled, type Bench } from './measure/bench.ts'
import { figure, ratio } from './measure/outcome.ts'
import { countSteps, interleave } from './measure/rounds.ts'

const connections = 16
/** Of Postern and of each other: all take a few seconds. */
const requests = [8_000, 300] as const

/** Who has one of them installed says where: nothing here installs it. */
const known = [
  { name: 'Directus', installed: process.env['DIRECTUS'], start: startDirectus },
  { name: 'Strapi', installed: process.env['STRAPI'], start: startStrapi },
]
const there = known.filter(({ installed }) => installed)
const missing = known
  .filter(({ installed }) => !installed)
  .map(({ name }) => `${name} was not measured: ${name.toUpperCase()} says in which folder it is installed.`)

export const beside: Bench = {
  name: 'beside',
  about: 'A page of products, filtered and sorted, beside Directus and Strapi on the same rows (SQLite)',
  plan: (scale) => ({
    steps: there.length > 0 ? countSteps(1 + there.length, scale) : 0,
    seconds: there.length * 60,
  }),
  async run(context) {
    const { scale } = context
    if (there.length === 0) return { figures: [], ratios: [], notes: missing }
    await using stack = new AsyncDisposableStack()
    const database = await createDatabase('sqlite', undefined)
    await seed(database.url, rowsAt(scale))
    const rivals: Rival[] = []
    for (const { installed, start } of there)
      rivals.push(stack.use(await start(installed!, makeFolder(), database.url.slice('sqlite:'.length))))
    const postern = stack.use(await startOn(database, { profile: context.profile('beside') }))
    const generator = stack.use(await startGenerator())
    const load = async ({ port, path, headers }: Side, count: number): Promise<number> => {
      const gets = { kind: 'gets', count: scaled(count, scale), paths: [path], headers } as const
      return (await generate(generator, { port, connections, requests: gets }, 200)).perSecond
    }
    const ours: Side = {
      port: postern.port,
      path: '/products?category=books&minPrice=100&inStock=true&sort=-price,name&limit=20',
      headers: {},
    }
    const rows = await rowsOf(ours)
    if (rows === '[]') throw new Error('there is nothing to compare')
    for (const rival of rivals)
      if ((await rowsOf(rival)) !== rows) throw new Error(`the answers of ${rival.name} differ`)
    const sides = [
      { name: 'GET /products, Postern', run: () => load(ours, requests[0]) },
      ...rivals.map((rival) => ({ name: rival.name, run: () => load(rival, requests[1]) })),
    ]
    const results = await interleave(sides, context)
    const [own, ...others] = results.map(({ name, rounds }) => figure(name, 'requests/s', rounds))
    return {
      figures: [own!, ...others],
      ratios: others.map((other, index) =>
        ratio(`GET /products, Postern / ${there[index]!.name}`, own!, other, { bound: 20 }),
      ),
      notes: [
        `${rowsAt(scale)} rows, pages of 20, ${connections} connections. All answered with the same rows in the same order; Postern's page has its cursor.`,
        ...rivals.map(({ settings }) => settings),
        ...missing,
      ],
    }
  },
}

type Side = Pick<Rival, 'port' | 'path' | 'headers'>

/** What a side answers, as far as all show it. */
async function rowsOf({ port, path, headers }: Side): Promise<string> {
  const url = `http://127.0.0.1:${port}${path}`
  const response = await fetch(url, { headers })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  const { data } = (await response.json()) as { data: Product[] }
  return JSON.stringify(data.map(({ category, price, stock, name }) => [category, price, stock, name]))
}
