// `npm run endurance`: receives and processes events without end in sight, and tells the service's resident memory for
// each 100,000 of them.
//   npm run endurance -- --events 1000000 --engine sqlite
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/harness/postgres.ts'
import { createDatabase, diskFolder, engineTitles, readNumber, readRow } from './harness/databases.ts'
import { production, startPostern, webhookSecret } from './harness/postern.ts'
import { generate, startGenerator } from './load/generate.ts'
import { createOrders, handler } from './process/orders.ts'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    engine: { type: 'string', default: 'sqlite' },
  },
})
const { engine } = values
if (engine !== 'sqlite' && engine !== 'postgres') throw new Error('--engine is sqlite or postgres')

/** Events between two figures. */
const reported = 100_000
/** Events that are sent at a time: the generator makes them before. */
const sent = 10_000
const megabyte = 1024 * 1024
/** Milliseconds. */
const lookEvery = 250
/** What the last 100,000 may need of the most that the third needed. */
const flat = 1.1

const events = Number(values.events)
if (!Number.isInteger(events / reported) || events < reported)
  throw new Error(`--events is a multiple of ${reported}`)

const server =
  engine === 'postgres' ? await startPostgres({ durable: true, folder: diskFolder() }) : undefined
try {
  const database = await createDatabase(engine, server?.url)
  await createOrders(database)
  await using postern = await startPostern({
    folder: database.folder,
    // A line for each request would fill the disk.
    env: { ...production, ...handler, DATABASE_URL: database.url, LOG_LEVEL: 'warn' },
  })
  await using generator = await startGenerator()
  const memory = (): number => (postern.memory() ?? Number.NaN) / megabyte
  const waiting = (): Promise<number> =>
    readNumber(database, `select count(*) from inbox where status = 'pending'`)

  console.log(`${engineTitles[engine]}: ${memory().toFixed(0)} MB before the first event`)
  const most: number[] = []
  let highest = 0
  const watch = setInterval(() => (highest = Math.max(highest, memory())), lookEvery)
  const began = performance.now()
  for (let count = 0; count < events;) {
    const requests = {
      kind: 'webhooks',
      count: sent,
      prefix: `e${count}`,
      secret: webhookSecret,
      bytes: 1024,
    } as const
    await generate(generator, { port: postern.port, connections: 64, requests }, 200)
    count += sent
    while ((await waiting()) > (count < events ? sent : 0)) await wait(lookEvery)
    if (count % reported > 0) continue
    most.push(highest)
    const seconds = Math.round((performance.now() - began) / 1000)
    console.log(
      `${count} events after ${seconds} s: at most ${highest.toFixed(0)} MB, now ${memory().toFixed(0)} MB`,
    )
    highest = 0
  }
  clearInterval(watch)
  const { orders, distinct } = await readRow(
    database,
    'select count(*) as orders, count(distinct event_id) as "distinct" from orders',
  )
  console.log(`${String(orders)} effects of ${String(distinct)} events`)
  const grown = most.at(-1)! / most[Math.min(2, most.length - 1)]!
  console.log(`the last ${reported} needed ${grown.toFixed(2)} times what the third needed`)
  if (grown > flat || Number(orders) !== events || Number(distinct) !== events) process.exitCode = 1
} finally {
  await server?.stop()
}
