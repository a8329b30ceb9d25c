// `npm run crash`: kills processes of the service at random moments.
//   npm run crash -- --kills 300 --engine both --processes 2
//   npm run crash -- --of deliveries   while events are emitted and delivered, instead of received and processed
//   npm run crash -- --outages 50      stops PostgreSQL with -m immediate instead
import { engines } from '../harness/engines.ts'
import { startPostgres } from '../harness/postgres.ts'
import { readOptions } from '../harness/script-options.ts'
import { campaign } from './campaign.ts'
import { deliveryCampaign } from './deliveries.ts'
import { sufferOutages } from './outages.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    kills: { type: 'string', default: '100' },
    engine: { type: 'string', default: 'both' },
    processes: { type: 'string', default: '1' },
    outages: { type: 'string' },
    seed: { type: 'string', default: '1' },
    of: { type: 'string', default: 'handlers' },
  },
})
const number = (name: 'kills' | 'processes' | 'outages' | 'seed'): number => {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number`)
  return value
}
const chosen = engines.filter(({ name }) => values.engine === 'both' || values.engine === name)
if (chosen.length === 0) throw new Error('--engine is sqlite, postgres or both')
const seed = number('seed')
const campaigns = { handlers: campaign, deliveries: deliveryCampaign }
if (values.of !== 'handlers' && values.of !== 'deliveries') throw new Error('--of is handlers or deliveries')
const chosenCampaign = campaigns[values.of]

if (values.outages === undefined) await kill()
else await takeAway()

async function kill(): Promise<void> {
  const server = chosen.some(({ name }) => name === 'postgres') ? await startPostgres() : undefined
  if (server) process.env['TEST_DATABASE_URL'] = server.url
  try {
    for (const engine of chosen) {
      // An SQLite file is one process's.
      const processes = engine.name === 'sqlite' ? 1 : number('processes')
      const onKill = (kills: number): void => {
        if (kills % 50 === 0) console.log(`${engine.name}: ${kills} kills`)
      }
      await report({ engine: engine.name, processes }, () =>
        chosenCampaign(engine, { kills: number('kills'), processes, seed, onKill }),
      )
    }
  } finally {
    await server?.stop()
  }
}

function takeAway(): Promise<void> {
  return report({}, () =>
    sufferOutages(number('outages'), seed, (outages) => {
      if (outages % 10 === 0) console.log(`${outages} outages`)
    }),
  )
}

async function report(what: object, run: () => Promise<object>): Promise<void> {
  const began = performance.now()
  const result = await run()
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(JSON.stringify({ ...what, seed, ...result, seconds }))
}
