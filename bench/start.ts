import { setTimeout as wait } from 'node:timers/promises'
import { makeFolder, subfolder } from './harness/databases.ts'
import { startPostern, type Postern } from './harness/postern.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

/** Demo mode, as `npm start` runs it when nothing is configured: SQLite, the demo's provider, its sample rows. */
const demo = {}
const idleSeconds = 10
const megabyte = 1024 * 1024
const bounds = { startMs: 1_000, memoryMb: 150 }

export const start: Bench = {
  name: 'start',
  about:
    'From the start of the process to the first 200 of /readyz, in demo mode on SQLite, and memory when idle',
  plan(scale) {
    const steps = countSteps(3, scale) + 1
    return { steps, seconds: steps + idleSeconds * scale.size }
  },
  async run(context) {
    const used = makeFolder()
    const sides: Side<number>[] = [
      { name: 'first start, which creates the database', run: async () => timeOf(makeFolder(), demo) },
      { name: 'later start', run: async () => timeOf(used, demo) },
      {
        name: 'first start ever, with no compiled code kept either',
        run: async (round) =>
          timeOf(makeFolder(), { ...demo, NODE_COMPILE_CACHE: subfolder(used, `cache-${round}`) }),
      },
    ]
    await timeOf(used, demo)
    const results = await interleave(sides, context)
    const limits = [bounds.startMs, bounds.startMs, undefined]
    const figures = results.map(({ name, rounds }, index) => figure(name, 'ms', rounds, limits[index]))
    const memory = await measureMemory(context)
    if (memory.length > 0)
      figures.push(figure(`resident memory after ${idleSeconds} s idle`, 'MB', memory, bounds.memoryMb))
    const notes = [
      'The process is `node scripts/run.mjs serve` with all packages installed; the time that npm itself takes is not in it.',
    ]
    return { figures, ratios: [], notes } satisfies Outcome
  },
}

async function timeOf(folder: string, env: Record<string, string>): Promise<number> {
  await using postern = await startPostern({ folder, env })
  return postern.startMs
}

/** Of a few processes that idle side by side. Only Linux tells. */
async function measureMemory({ scale, step }: BenchContext): Promise<number[]> {
  const count = scaled(3, scale)
  step(`${count} services idle for ${idleSeconds} s`)
  await using stack = new AsyncDisposableStack()
  const services: Postern[] = []
  for (let index = 0; index < count; index += 1) {
    services.push(stack.use(await startPostern({ folder: makeFolder(), env: demo })))
  }
  await wait(idleSeconds * 1000 * scale.size)
  return services
    .map((service) => service.memory() ?? Number.NaN)
    .filter(Number.isFinite)
    .map((bytes) => bytes / megabyte)
}
