// `npm run simulate`: the worker over a simulated database, or the dispatcher over a simulated queue, in any number of runs
// that a seed decides each.
//   npm run simulate -- --seeds 10000 --from 1
//   npm run simulate -- --of deliveries   the dispatcher
//   npm run simulate -- --only 4711       one run again, with all that happens in it
import { readOptions } from '../harness/script-options.ts'
import { simulateDeliveries } from './emitting/simulation.ts'
import { simulate as simulateHandlers } from './receiving/simulation.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    of: { type: 'string', default: 'handlers' },
  },
})
const number = (name: 'seeds' | 'from' | 'only'): number => {
  const value = Number(values[name])
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} is a whole number`)
  return value
}

const subjects = {
  handlers: { simulate: simulateHandlers, counted: ['events', 'failed', 'kills', 'steps'] },
  deliveries: { simulate: simulateDeliveries, counted: ['deliveries', 'calls', 'dead', 'kills', 'steps'] },
} as const
if (values.of !== 'handlers' && values.of !== 'deliveries') throw new Error('--of is handlers or deliveries')
const { simulate, counted } = subjects[values.of]
const again = values.of === 'handlers' ? '' : `--of ${values.of} `

if (values.only !== undefined) {
  const run = await simulate(number('only'), (line) => console.log(line))
  console.log(JSON.stringify(run))
  process.exitCode = run.failure === undefined ? 0 : 1
} else {
  const [from, seeds] = [number('from'), number('seeds')]
  const total: Record<string, number> = { seeds: 0 }
  const failures: string[] = []
  const started = performance.now()
  for (let seed = from; seed < from + seeds; seed += 1) {
    const run = await simulate(seed)
    total['seeds']! += 1
    for (const [what, count] of Object.entries(run))
      if ((counted as readonly string[]).includes(what)) total[what] = (total[what] ?? 0) + Number(count)
    if (run.failure !== undefined) {
      failures.push(`${seed}`)
      console.log(`seed ${seed} (${run.engine}, ${run.weather}): ${run.failure}`)
    }
    if (total['seeds']! % 1_000 === 0) console.log(`${total['seeds']} seeds, ${failures.length} failures`)
  }
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(JSON.stringify({ ...total, seconds, failures: failures.length }))
  if (failures.length > 0)
    console.log(`once more, with a trace: npm run simulate -- ${again}--only ${failures[0]}`)
  process.exitCode = failures.length === 0 ? 0 : 1
}
