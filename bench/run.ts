// `npm run bench`: what Postern's work costs, as ratios to bare programs that do the least that could be done.
//   npm run bench                      all benches
//   npm run bench -- acknowledge lists      some of them
//   npm run bench -- --rounds 9 --engine sqlite acknowledge
//   npm run bench -- --rounds 1 --warm-up 0 --alone process    quickly, and without the other products
//   npm run bench -- --only 'owner|^users' pages    only the calls with such names
//   npm run bench -- --trial           a few requests each, to see that everything runs; no result is kept
//   npm run bench -- --profile acknowledge    and tells which functions of the service took the time; no result is kept
import { startPostgres, type PostgresServer } from '../test/harness/postgres.ts'
import { readOptions } from '../test/harness/script-options.ts'
import { acknowledge } from './acknowledge.ts'
import { authorize } from './authorize.ts'
import { before } from './before.ts'
import { beside } from './beside.ts'
import { deliver } from './deliver.ts'
import { diskFolder, makeFolder, removeFolders, settle, type EngineName } from './harness/databases.ts'
import { checkoutBefore, type Profile } from './harness/postern.ts'
import { killAll } from './harness/processes.ts'
import { depth } from './depth.ts'
import { emit } from './emit.ts'
import { forwardAuth } from './forward-auth.ts'
import { lists } from './lists.ts'
import { login } from './login.ts'
import type { Bench, Scale } from './measure/bench.ts'
import { asText } from './report/format.ts'
import { describeMachine, type Machine } from './report/machine.ts'
import { describeProfiles } from './report/profile.ts'
import { showProgress } from './report/progress.ts'
import { writeResult } from './report/results.ts'
import { pages } from './pages.ts'
import { processing } from './process.ts'
import { sizing } from './sizing.ts'
import { start } from './start.ts'

const benches: readonly Bench[] = [
  acknowledge,
  authorize,
  before,
  beside,
  deliver,
  depth,
  emit,
  forwardAuth,
  lists,
  login,
  pages,
  processing,
  sizing,
  start,
]
const engines: readonly EngineName[] = ['sqlite', 'postgres']
const names = benches.map(({ name }) => name)

const { values, positionals } = readOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '8' },
    'warm-up': { type: 'string', default: '2' },
    alone: { type: 'boolean', default: false },
    engine: { type: 'string' },
    trial: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
})

function readScale(): Scale {
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a number from 1 on')
  if (checkoutBefore && rounds % 2 === 1 && !values.trial)
    throw new Error(
      'with BEFORE, --rounds takes an even number: with an odd one, one state follows itself more often',
    )
  const warmUp = Number(values['warm-up'])
  if (!Number.isInteger(warmUp) || warmUp < 0) throw new Error('--warm-up takes a number from 0 on')
  const rivals = !values.alone
  const chosen = engines.filter((engine) => values.engine === undefined || values.engine === engine)
  if (chosen.length === 0) throw new Error(`--engine takes ${engines.join(' or ')}`)
  const { only } = values
  const parts = { engines: chosen, rivals, ...(only !== undefined && { only }) }
  return values.trial ? { rounds: 1, warmUp: 0, size: 0.01, ...parts } : { rounds, warmUp, size: 1, ...parts }
}

function readChoice(): Bench[] {
  const unknown = positionals.filter((name) => !names.includes(name))
  if (unknown.length > 0)
    throw new Error(`there is no bench ${unknown.join(', ')}; there are ${names.join(', ')}`)
  return benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
}

async function runBench(
  bench: Bench,
  scale: Scale,
  machine: Machine,
  postgresServer: string | undefined,
): Promise<void> {
  const progress = showProgress(bench.name, bench.plan(scale))
  const folder = values.profile ? makeFolder() : undefined
  const profile = (name: string): Profile | undefined => (folder === undefined ? undefined : { folder, name })
  const began = performance.now()
  const outcome = await bench
    .run({ scale, postgresServer, profile, step: progress.step })
    .finally(() => progress.end())
  const seconds = (performance.now() - began) / 1000
  console.log(`\n${bench.name}: ${bench.about}\n\n${asText(outcome)}\n`)
  if (folder !== undefined) console.log(describeProfiles(folder))
  if (values.trial || values.profile) return
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ')
  writeResult(
    {
      bench: bench.name,
      about: bench.about,
      at: new Date().toISOString(),
      seconds,
      command,
      scale,
      machine,
      ...outcome,
    },
    names,
  )
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    removeFolders()
    // PostgreSQL's own handler, where one runs, ends this process once the server is down.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  })
}

try {
  const scale = readScale()
  const chosen = readChoice()
  const seconds = chosen.reduce((sum, bench) => sum + bench.plan(scale).seconds, 0)
  console.error(
    `${chosen.map(({ name }) => name).join(', ')}: about ${Math.ceil(seconds / 60)} min. Ctrl-C ends it.`,
  )
  let postgres: PostgresServer | undefined
  try {
    if (scale.engines.includes('postgres')) {
      postgres = await startPostgres({ durable: true, folder: diskFolder() })
      // A server that was given is its owner's to prepare.
      if (!values.trial && !process.env['TEST_DATABASE_URL']) await settle(postgres.url)
    }
    const machine = await describeMachine(postgres?.url)
    for (const bench of chosen) await runBench(bench, scale, machine, postgres?.url)
  } finally {
    await postgres?.stop()
  }
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
}
