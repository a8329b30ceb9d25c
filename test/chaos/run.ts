// `npm run chaos`: makes faults of databases, of the paths to them and of processes, under load.
//   npm run chaos -- --seed 7 --faults 20 --minutes 60 --only silence,failover
//   npm run chaos -- --project DIR     the service of another checkout
//   npm run chaos -- --binaries /usr/lib/postgresql/15/bin     another PostgreSQL than the package's
//   npm run chaos -- --topology patroni     servers that Patroni leads, behind HAProxy; pgbouncer: one behind PgBouncer
//   npm run chaos -- --logs DIR     the logs of the processes are kept there
//   npm run chaos -- --json FILE       what was done and found, as JSON
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readOptions } from '../harness/script-options.ts'
import { campaign } from './campaign.ts'
import { faultsOf } from './check.ts'
import { isTopology, type World } from './world.ts'

const { values } = readOptions(import.meta.filename, {
  options: {
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: '500' },
    minutes: { type: 'string', default: '60' },
    only: { type: 'string' },
    processes: { type: 'string', default: '2' },
    rate: { type: 'string', default: '60' },
    project: { type: 'string', default: join(import.meta.dirname, '..', '..') },
    binaries: { type: 'string' },
    topology: { type: 'string', default: 'pair' },
    'faults-of-world': { type: 'string', default: '12' },
    json: { type: 'string' },
    logs: { type: 'string' },
  },
})
const number = (name: 'seed' | 'faults' | 'minutes' | 'processes' | 'rate' | 'faults-of-world'): number => {
  const value = Number(values[name])
  if (!(value > 0)) throw new Error(`--${name} is a number above 0`)
  return value
}

if (!isTopology(values.topology)) throw new Error('--topology is pair, patroni or pgbouncer')

let current: World | undefined
const interrupt = new AbortController()
process.on('exit', () => current?.endNow())
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second one does not wait for anything.
    if (interrupt.signal.aborted) process.exit(130)
    interrupt.abort()
    console.log('ending: again for at once')
    process.exitCode = 130
    void current?.[Symbol.asyncDispose]().finally(() => process.exit(130))
  })
}

if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true })
const began = performance.now()
const result = await campaign(
  {
    seed: number('seed'),
    faults: number('faults'),
    time: number('minutes') * 60_000,
    only: values.only?.split(',') ?? [],
    processes: number('processes'),
    rate: number('rate'),
    project: resolve(values.project),
    binaries: values.binaries,
    topology: values.topology,
    logs: values.logs,
    faultsOfWorld: number('faults-of-world'),
    signal: interrupt.signal,
    say: (line) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`),
  },
  (world) => (current = world),
)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, undefined, 2)}\n`)
const seconds = Math.round((performance.now() - began) / 1000)
const wrong = result.verdicts.flatMap(faultsOf)
console.log(
  `${result.faults.length} faults in ${seconds} s, longest delay ${(result.longestMs / 1000).toFixed(1)} s`,
)
for (const what of wrong) console.log(what)
const outcomes = [
  ...result.faults.map(({ passed }) => passed),
  ...result.verdicts.map((verdict) => faultsOf(verdict).length === 0),
]
const failed = outcomes.filter((passed) => !passed).length
console.log(`${outcomes.length - failed} passed, ${failed} failed`)
if (failed > 0) process.exitCode = 1
