import { request, type ClientRequest } from 'node:http'
import { ApiKeys } from '../src/accounts/tokens/api-keys.ts'
import { createRecordAudit } from '../src/accounts/audit/audit.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openDatabase } from '../src/storage/open.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { production, startPostern, webhookSecret } from './harness/postern.ts'
import { generate, startGenerator } from './load/generate.ts'
import type { LoadResult } from './load/load.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const requests = 40_000
const connections = 64
const viewers = 100
/** Connections of one key; the service limits them. */
const perKey = 20
const bound = 0.95

export const live: Bench = {
  name: 'live',
  about: `POST /webhooks/provider while ${viewers} pages follow GET /live, against the same without them`,
  plan(scale) {
    const steps = scale.engines.length * countSteps(2, scale)
    return { steps, seconds: steps * 4 * Math.max(0.1, scale.size) + 8 }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) {
      const { figures, ratios } = await measure(engine, context)
      outcome.figures.push(...figures)
      outcome.ratios.push(...ratios)
    }
    outcome.notes.push('The viewers read in the process of the bench, on the same machine.')
    return outcome
  },
}

async function measure(engine: EngineName, context: BenchContext): Promise<Omit<Outcome, 'notes'>> {
  await using stack = new AsyncDisposableStack()
  const database = await createDatabase(engine, context.postgresServer)
  const keys = await createKeys(database.url)
  const postern = stack.use(
    await startPostern({
      folder: database.folder,
      env: { ...production, DATABASE_URL: database.url },
      profile: context.profile(`live ${engine}`),
    }),
  )
  const generator = stack.use(await startGenerator())
  const load = (prefix: string): Promise<LoadResult> => {
    const count = scaled(requests, context.scale)
    const webhooks = { kind: 'webhooks', count, prefix, secret: webhookSecret, bytes: 1024 } as const
    return generate(generator, { port: postern.port, connections, requests: webhooks }, 200)
  }
  const sides: Side<LoadResult>[] = [
    { name: 'no viewers', run: load },
    {
      name: `${viewers} viewers`,
      async run(round) {
        const open = await Promise.all(
          Array.from({ length: viewers }, (_, at) =>
            openViewer(postern.port, keys[Math.floor(at / perKey)]!),
          ),
        )
        try {
          return await load(round)
        } finally {
          for (const viewer of open) viewer.destroy()
        }
      },
    },
  ]
  const title = engineTitles[engine]
  const results = await interleave(sides, context.scale, (what) => context.step(`${title}: ${what}`))
  const [without, watched] = sides.map(({ name }, index) =>
    figure(
      `${title}: ${name}`,
      'webhooks/s',
      results[index]!.map(({ perSecond }) => perSecond),
    ),
  )
  return {
    figures: [without!, watched!],
    ratios: [ratio(`${title}: with ${viewers} viewers`, watched!, without!, { bound })],
  }
}

async function createKeys(url: string): Promise<string[]> {
  const database = await openDatabase(url)
  try {
    await migrate(database)
    const keys = new ApiKeys(database, systemClock, createRecordAudit(systemClock))
    const names = Array.from({ length: viewers / perKey }, (_, at) => `viewers ${at}`)
    const made: string[] = []
    for (const name of names) made.push((await keys.create({ name, scopes: ['events:read'] }, {})).key)
    return made
  } finally {
    await database.close()
  }
}

/** Resolves when the first bytes have come. */
function openViewer(port: number, key: string): Promise<ClientRequest> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${key}` }
    const call = request({ port, host: '127.0.0.1', path: '/live', headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`GET /live answered ${String(response.statusCode)}`))
      response.on('error', () => undefined)
      response.once('data', () => resolve(call)).resume()
    })
    call.on('error', reject)
    call.end()
  })
}
