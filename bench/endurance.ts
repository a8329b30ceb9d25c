import { setTimeout as wait } from 'node:timers/promises'
import { createDatabase, engineTitles, readNumber, readRow, type EngineName } from './harness/databases.ts'
import { production, startPostern, webhookSecret } from './harness/postern.ts'
import { generate, startGenerator } from './load/generate.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'
import { createOrders, handler } from './process/orders.ts'

const events = 1_000_000
const bytes = 1024
/** Figures: the most of each tenth of the events. */
const tenths = 10
/** Events that are sent at a time: the generator makes them before. */
const sent = 10_000
const megabyte = 1024 * 1024
/** Milliseconds. */
const lookEvery = 250
/** What the last tenth may need of the most that the third one needed. */
const flat = 1.1

export const endurance: Bench = {
  name: 'endurance',
  about: 'Resident memory of the service while it receives and processes a million events over HTTP',
  plan({ engines, size }) {
    return { steps: tenths * engines.length, seconds: engines.length * Math.max(4, 300 * size) }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) outcome.figures.push(...(await measure(engine, context)))
    outcome.notes.push(
      `${scaled(events, context.scale)} signed events of ${bytes} bytes over 64 connections, through a handler that writes one row; at most ${sent} wait at a time. Looked at every ${lookEvery} ms. Each had exactly one effect.`,
    )
    return outcome
  },
}

async function measure(engine: EngineName, { scale, postgresServer, step }: BenchContext): Promise<Figure[]> {
  const title = engineTitles[engine]
  const tenth = scaled(events / tenths, scale)
  const database = await createDatabase(engine, postgresServer)
  await createOrders(database)
  await using postern = await startPostern({
    folder: database.folder,
    // A line for each request would fill the disk.
    env: { ...production, ...handler, DATABASE_URL: database.url, LOG_LEVEL: 'warn' },
  })
  await using generator = await startGenerator()
  const memory = (): number => (postern.memory() ?? Number.NaN) / megabyte
  const waiting = (): Promise<number> =>
    readNumber(database, `select count(*) from event_queue where status = 'pending'`)

  const atStart = memory()
  const most: number[] = []
  let highest = 0
  const watch = setInterval(() => (highest = Math.max(highest, memory())), lookEvery)
  const began = performance.now()
  try {
    for (let round = 0; round < tenths; round += 1) {
      step(`${title}: events ${round * tenth} to ${(round + 1) * tenth}`)
      for (let count = 0; count < tenth;) {
        const size = Math.min(sent, tenth - count)
        const prefix = `e${round}-${count}`
        const requests = { kind: 'webhooks', count: size, prefix, secret: webhookSecret, bytes } as const
        await generate(generator, { port: postern.port, connections: 64, requests }, 200)
        count += size
        const last = round === tenths - 1 && count === tenth
        while ((await waiting()) > (last ? 0 : sent)) await wait(lookEvery)
      }
      most.push(Math.max(highest, memory()))
      highest = 0
    }
  } finally {
    clearInterval(watch)
  }
  const seconds = (performance.now() - began) / 1000
  const { orders, distinct } = await readRow(
    database,
    'select count(*) as orders, count(distinct event_id) as "distinct" from orders',
  )
  const all = tenth * tenths
  if (Number(orders) !== all || Number(distinct) !== all)
    throw new Error(`${String(orders)} effects of ${String(distinct)} events, of ${all}`)
  // Only Linux tells.
  if (!Number.isFinite(atStart)) return []
  return [
    figure(`${title}: ready, before the first event`, 'MB', [atStart]),
    figure(`${title}: most in each tenth`, 'MB', most),
    figure(`${title}: the last tenth of the third`, 'times', [most.at(-1)! / most[2]!], flat),
    figure(`${title}: rate meanwhile`, 'events/s', [all / seconds]),
  ]
}
