import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fillTables } from './depth/tables.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { adminKey, production, startPostern } from './harness/postern.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Figure, type Outcome } from './measure/outcome.ts'

const rows = 1_000_000
const fewestRows = 20_000
const slowReaders = 32
const leavers = 300
/** How long the slow ones read, and how often each takes what has come, in milliseconds. */
const [slowly, pause] = [12_000, 250]
const every = 50
const megabyte = 1024 * 1024
/** What the second half of a time may need of the first one's most. */
const flat = 1.1

export const exportBench: Bench = {
  name: 'export',
  about:
    'Resident memory of the service while a long list is exported: whole, to slow readers, and to readers that leave',
  plan({ engines, size }) {
    return { steps: 4 * engines.length, seconds: engines.length * Math.max(12, 45 * size) }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) outcome.figures.push(...(await measure(engine, context)))
    outcome.notes.push(
      `NDJSON of ${Math.max(fewestRows, scaled(rows, context.scale))} posts. ${slowReaders} readers that take what has come every ${pause} ms, for ${slowly / 1000} s; then ${leavers} that leave after their first bytes. Memory is looked at every ${every} ms; the highest of each half counts.`,
    )
    return outcome
  },
}

async function measure(engine: EngineName, { scale, postgresServer, step }: BenchContext): Promise<Figure[]> {
  const title = engineTitles[engine]
  const count = Math.max(fewestRows, scaled(rows, scale))
  step(`${title}: filling the tables`)
  const database = await createDatabase(engine, postgresServer)
  await fillTables(database.url, count)
  await using postern = await startPostern({
    folder: database.folder,
    env: {
      ...production,
      DATABASE_URL: database.url,
      POSTERN_CONFIG: join(import.meta.dirname, 'depth', 'lists.config.ts'),
    },
  })
  // Only Linux tells.
  if (postern.memory() === undefined) return []
  const begin = async (): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const request = get({ port: postern.port, path: '/entries.ndjson', headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    if (response.statusCode !== 200) throw new Error(`an export was answered ${response.statusCode}`)
    return response
  }
  /** The highest of each half, in MB; `work` says when the second begins. */
  const most = async (work: (half: () => void) => Promise<void>): Promise<[number, number]> => {
    const highest: [number, number] = [0, 0]
    let now: 0 | 1 = 0
    const look = (): void => void (highest[now] = Math.max(highest[now], postern.memory()! / megabyte))
    const watch = setInterval(look, every)
    try {
      await work(() => (now = 1))
    } finally {
      clearInterval(watch)
    }
    look()
    return highest
  }
  const idle = postern.memory()! / megabyte
  let perSecond = 0
  step(`${title}: exporting all of it`)
  const whole = await most(async (half) => {
    const started = performance.now()
    let lines = 0
    for await (const piece of await begin()) {
      lines += linesIn(piece as Buffer)
      if (lines >= count / 2) half()
    }
    perSecond = (lines * 1_000) / (performance.now() - started)
    if (lines !== count) throw new Error(`an export had ${lines} of ${count} rows`)
  })
  step(`${title}: slow readers`)
  const slow = await most(async (half) => {
    const readers = await Promise.all(Array.from({ length: slowReaders }, begin))
    for (let spent = 0; spent < slowly; spent += pause) {
      await wait(pause)
      if (spent >= slowly / 2) half()
      for (const reader of readers) reader.read()
    }
    for (const reader of readers) reader.destroy()
  })
  step(`${title}: readers that leave`)
  const left = await most(async (half) => {
    for (let reader = 0; reader < leavers; reader += 1) {
      const response = await begin()
      await once(response, 'readable')
      response.destroy()
      if (reader === leavers / 2) half()
    }
  })
  const halves = (name: string, [first, second]: [number, number]): Figure[] => [
    figure(`${title}: ${name}, first half`, 'MB', [first]),
    figure(`${title}: ${name}, second half`, 'MB', [second]),
    figure(`${title}: ${name}, the second of the first`, 'times', [second / first], flat),
  ]
  return [
    figure(`${title}: ready, before the first export`, 'MB', [idle]),
    ...halves('one reader of all', whole),
    ...halves(`${slowReaders} slow readers`, slow),
    ...halves(`${leavers} readers that leave`, left),
    figure(`${title}: one reader`, 'rows/s', [perSecond]),
  ]
}

function linesIn(piece: Buffer): number {
  let lines = 0
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1
  return lines
}
