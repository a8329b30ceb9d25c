import { startDirectus } from './beside/directus.ts'
import type { Product, Rival } from './beside/rival.ts'
import { createDatabase, makeFolder } from './harness/databases.ts'
import { production, startPostern } from './harness/postern.ts'
import { seed } from './lists/seed.ts'
import { generate, startGenerator } from './load/generate.ts'
import { scaled, type Bench } from './measure/bench.ts'
import { figure, ratio } from './measure/outcome.ts'
import { countSteps, interleave } from './measure/rounds.ts'

const connections = 16
/** Of Postern and of Directus: both take a few seconds. */
const requests = [8_000, 300] as const

/** Who has Directus installed says where: nothing here installs it. */
const installed = process.env['DIRECTUS']

export const beside: Bench = {
  name: 'beside',
  about: 'A page of products, filtered and sorted, beside Directus on the same rows (SQLite)',
  plan: (scale) => ({ steps: installed ? countSteps(2, scale) : 0, seconds: installed ? 60 : 0 }),
  async run({ scale, step, profile }) {
    if (!installed)
      return {
        figures: [],
        ratios: [],
        notes: ['Directus was not measured: DIRECTUS says in which folder `npm install directus` was run.'],
      }
    await using stack = new AsyncDisposableStack()
    const { url, folder } = await createDatabase('sqlite', undefined)
    await seed(url)
    const directus: Rival = stack.use(
      await startDirectus(installed, makeFolder(), url.slice('sqlite:'.length)),
    )
    const postern = stack.use(
      await startPostern({
        folder,
        env: { ...production, DATABASE_URL: url },
        profile: profile('beside'),
      }),
    )
    const generator = stack.use(await startGenerator())
    const load = async (port: number, side: Side, count: number): Promise<number> => {
      const { path, headers } = side
      const gets = { kind: 'gets', count: scaled(count, scale), paths: [path], headers } as const
      return (await generate(generator, { port, connections, requests: gets }, 200)).perSecond
    }
    const { headers } = directus
    const ours = '/products?category=books&minPrice=100&inStock=true&sort=-price,name&limit=20'
    await compare(
      `http://127.0.0.1:${postern.port}${ours}`,
      `http://127.0.0.1:${directus.port}${directus.path}`,
      headers,
    )
    const sides = [
      {
        name: 'GET /products, Postern',
        run: () => load(postern.port, { path: ours, headers }, requests[0]),
      },
      { name: directus.name, run: () => load(directus.port, directus, requests[1]) },
    ]
    const results = await interleave(sides, scale, step)
    const [own, other] = sides.map(({ name }, index) => figure(name, 'requests/s', results[index]!))
    return {
      figures: [own!, other!],
      ratios: [ratio('GET /products, Postern / Directus', own!, other!, { bound: 20 })],
      notes: [
        `20,000 rows, pages of 20, ${connections} connections. Both answered with the same rows in the same order; Postern's page has its cursor.`,
        directus.settings,
      ],
    }
  },
}

type Side = Pick<Rival, 'path' | 'headers'>

/** Throws unless both answer with the same rows in the same order. */
async function compare(ours: string, theirs: string, headers: Record<string, string>): Promise<void> {
  const [a, b] = await Promise.all(
    [ours, theirs].map(async (url) => {
      const response = await fetch(url, { headers })
      if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
      const { data } = (await response.json()) as { data: Product[] }
      return JSON.stringify(data.map(({ category, price, stock, name }) => [category, price, stock, name]))
    }),
  )
  if (a !== b) throw new Error('the answers differ')
  if (a === '[]') throw new Error('there is nothing to compare')
}
