import { directusToken, startDirectus } from './beside/directus.ts'
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
    const directus = stack.use(await startDirectus(installed, makeFolder(), url.slice('sqlite:'.length)))
    const postern = stack.use(
      await startPostern({
        folder,
        env: { ...production, DATABASE_URL: url },
        profile: profile('beside'),
      }),
    )
    const generator = stack.use(await startGenerator())
    const load = async (port: number, path: string, count: number): Promise<number> => {
      const headers = { authorization: `Bearer ${directusToken}` }
      const gets = { kind: 'gets', count: scaled(count, scale), paths: [path], headers } as const
      return (await generate(generator, { port, connections, requests: gets }, 200)).perSecond
    }
    const ours = '/products?category=books&minPrice=100&inStock=true&sort=-price,name&limit=20'
    const theirs =
      '/items/products?filter[category][_eq]=books&filter[price][_gte]=100&filter[stock][_gt]=0&sort=-price,name,id&limit=20'
    await compare(`http://127.0.0.1:${postern.port}${ours}`, `http://127.0.0.1:${directus.port}${theirs}`)
    const sides = [
      { name: 'GET /products, Postern', run: () => load(postern.port, ours, requests[0]) },
      { name: 'GET /items/products, Directus', run: () => load(directus.port, theirs, requests[1]) },
    ]
    const results = await interleave(sides, scale, step)
    const [own, other] = sides.map(({ name }, index) => figure(name, 'requests/s', results[index]!))
    return {
      figures: [own!, other!],
      ratios: [ratio('GET /products, Postern / Directus', own!, other!, { bound: 20 })],
      notes: [
        `20,000 rows, pages of 20, ${connections} connections. Directus has no cursor and was asked for no total; Postern's page has its cursor. Directus ran on ${process.env['DIRECTUS_NODE'] ?? 'the same Node.js'}.`,
      ],
    }
  },
}

interface Products {
  data: { category: string; price: number }[]
}

/** Throws unless both answer with the same prices in the same order. */
async function compare(ours: string, theirs: string): Promise<void> {
  const [a, b] = await Promise.all(
    [ours, theirs].map(async (url) => {
      const response = await fetch(url, { headers: { authorization: `Bearer ${directusToken}` } })
      if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
      return JSON.stringify(((await response.json()) as Products).data.map(({ price }) => price))
    }),
  )
  if (a !== b) throw new Error('the answers differ')
}
