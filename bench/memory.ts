import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { production, startPostern } from './harness/postern.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { storeBacklog, waitUntilProcessed } from './process/backlog.ts'
import { createOrders, handler } from './process/orders.ts'
import { rateOf } from './process/rate.ts'

const events = 200_000
const bytes = 1024
const prefix = 'memory'
const limit = 600_000
const every = 100
const megabyte = 1024 * 1024
/** What the last third of the run may need of the first third's most. */
const flat = 1.1

export const memory: Bench = {
  name: 'memory',
  about: 'Resident memory of the service while it processes a long backlog',
  plan({ engines, size }) {
    return { steps: 2 * engines.length, seconds: engines.length * Math.max(4, 120 * size) }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) outcome.figures.push(...(await measure(engine, context)))
    outcome.notes.push(
      `One run over ${scaled(events, context.scale)} events of ${bytes} bytes through a handler that writes one row, from the start of the process on; looked at every ${every} ms, so that a third has hundreds of values, of which the highest counts.`,
    )
    return outcome
  },
}

async function measure(engine: EngineName, { scale, postgresServer, step }: BenchContext): Promise<Figure[]> {
  const count = scaled(events, scale)
  const title = engineTitles[engine]
  const database = await createDatabase(engine, postgresServer)
  await createOrders(database)
  step(`${title}: storing ${count} events`)
  await storeBacklog(database, { prefix, count, bytes, before: true })
  step(`${title}: processing ${count} events`)
  await using postern = await startPostern({
    folder: database.folder,
    env: { ...production, ...handler, DATABASE_URL: database.url },
  })
  const atStart = postern.memory()
  // Only Linux tells.
  if (atStart === undefined) return []
  const seen: number[] = []
  const look = (): void => void seen.push((postern.memory() ?? Number.NaN) / megabyte)
  await waitUntilProcessed(database, limit, { every, look })
  const rate = await rateOf(database, 'event_queue', prefix, count)
  const most = (third: number): number =>
    Math.max(...seen.slice(Math.floor((seen.length * third) / 3), Math.ceil((seen.length * (third + 1)) / 3)))
  return [
    figure(`${title}: ready, before the first event`, 'MB', [atStart / megabyte]),
    figure(`${title}: most in the first third`, 'MB', [most(0)]),
    figure(`${title}: most in the middle third`, 'MB', [most(1)]),
    figure(`${title}: most in the last third`, 'MB', [most(2)]),
    figure(`${title}: the last third of the first`, 'times', [most(2) / most(0)], flat),
    figure(`${title}: rate meanwhile`, 'events/s', [rate]),
  ]
}
