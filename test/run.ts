// `npm test`: the unit tests (beside the code of src and packages) in one process, then the black-box tests (test/**) in one each.
//   npm test -- login        only files whose path contains "login"
//   npm test -- --browser    the tests of the pages in a browser (test/browser/**) instead
//   npm test -- --package    the black-box tests against the published package, installed in an empty folder
//   npm test -- --slowest    prints at the end which files took most time
//   npm test -- --test-name-pattern=...    options of node --test are passed on
import { spawn, type ChildProcess } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildWeb } from '../scripts/web.mjs'
import { createTemplates } from './harness/engines.ts'
import { installPostern } from './harness/package.ts'
import { startPostgres } from './harness/postgres.ts'
import {
  describeFailures,
  describeSlowest,
  lastLines,
  readCurrentTest,
  readCpuTime,
  readFailures,
  type Failure,
  type ProcessTime,
} from './harness/results.ts'
import { readOptions } from './harness/script-options.ts'

/** Milliseconds. For a test that hangs, and for no other: a machine that shares its cores takes twenty times as long for a test. */
const TEST_TIMEOUT = 600_000
/** A process without any progress for longer than a test may last is stuck in a loop that no timer interrupts. */
const STUCK_AFTER = TEST_TIMEOUT + 30_000
/** All tests have ended and the process stays: a server, a pool or a timer was left open. */
const LEFT_OPEN_AFTER = 120_000
/** One more than the cores of a small machine: many tests wait, for time-outs and leases, and leave the processor to others. */
const CONCURRENCY = 3

/** Tests of the checkout's own modules, files and scripts: they say nothing about the package. */
const notOfPackage = [
  'bench',
  'browser',
  'chaos',
  'client',
  'crash',
  'deploy',
  'fuzz',
  'house',
  'simulation',
  'storage',
].map((folder) => `test/${folder}/**`)

interface Outcome {
  passed: number
  failed: number
  skipped: number
}

const root = join(import.meta.dirname, '..')
const { values, positionals: filters } = readOptions(import.meta.filename, {
  strict: false,
  allowPositionals: true,
  options: { browser: { type: 'boolean' }, package: { type: 'boolean' }, slowest: { type: 'boolean' } },
})
const nodeOptions = process.argv.slice(2).filter((arg) => arg.startsWith('--test-'))
const running = new Set<ChildProcess>()
const failures: Failure[] = []
const times: ProcessTime[] = []
let interrupted: NodeJS.Signals | undefined

function find(pattern: string, exclude: string[] = []): string[] {
  const files = globSync(pattern, { cwd: root, exclude })
  return files
    .filter((file) => filters.length === 0 || filters.some((part) => file.includes(part)))
    .toSorted()
}

/** Runs one process of tests; prints its output at once when it is alone, else when it has ended. */
async function runProcess(files: string[], tallyFile: string, alone: boolean): Promise<Outcome> {
  writeFileSync(tallyFile, '')
  const began = performance.now()
  const reporter = join(import.meta.dirname, 'harness', 'reporter.ts')
  const several = files.length > 1 ? ['--test', '--test-isolation=none'] : []
  const options = [
    ...(installed ? ['--import', join(import.meta.dirname, 'harness', 'use-package.ts')] : []),
    ...several,
    `--test-timeout=${TEST_TIMEOUT}`,
    `--test-reporter=${reporter}`,
    ...nodeOptions,
  ]
  const child = spawn(process.execPath, [...options, ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TEST_TALLY_FILE: tallyFile,
      ...(installed && { POSTERN_PACKAGE: installed.folder }),
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
    },
  })
  running.add(child)
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output.push(chunk)
      if (alone) process.stdout.write(chunk)
    })
  }

  let verdict = ''
  const watch = setInterval(() => {
    const idle = Date.now() - statSync(tallyFile).mtimeMs
    const { begun, ended } = tallyOf(tallyFile)
    const limit = begun > 0 && begun === ended ? LEFT_OPEN_AFTER : STUCK_AFTER
    if (idle < limit) return
    verdict = limit === STUCK_AFTER ? 'no progress' : 'all tests have ended, but something was left open'
    verdict = `killed after ${limit / 1000} s: ${verdict}`
    child.kill('SIGKILL')
  }, 1000)
  const code = await new Promise<number | NodeJS.Signals | null>((done) => {
    child.once('error', (error) => {
      verdict = error.message
      done(1)
    })
    child.once('close', (exitCode, signal) => done(exitCode ?? signal))
  })
  clearInterval(watch)
  running.delete(child)

  const { passed, skipped, begun, ended, ...tally } = tallyOf(tallyFile)
  let { failed } = tally
  if (code === 0 && passed + failed + skipped === 0 && nodeOptions.length === 0) verdict = 'no test ran'
  if (code !== 0 && failed === 0) verdict ||= `ended with ${code}`
  // A call of process.exit leaves the other tests out, and may even look like a success.
  if (begun > ended) verdict = `${verdict || `ended with ${code}`}, during "${readCurrentTest(tallyFile)}"`
  const wallSeconds = (performance.now() - began) / 1000
  if (!alone) {
    process.stdout.write(`\n${files.join(' ')} (${wallSeconds.toFixed(1)} s)\n`)
    for (const chunk of output) process.stdout.write(chunk)
  }
  failures.push(...readFailures(tallyFile))
  if (verdict) {
    failed++
    const file = files.length > 1 ? 'unit tests' : files.join()
    process.stdout.write(`✖ ${file}: ${verdict}\n`)
    failures.push({ file, name: verdict, error: lastLines(Buffer.concat(output).toString()) })
  }
  times.push({ files, wallSeconds, cpuSeconds: readCpuTime(tallyFile) })
  return { passed, failed, skipped }
}

function tallyOf(file: string): Outcome & { begun: number; ended: number } {
  const marks = readFileSync(file, 'utf8')
  const count = (mark: string) => marks.split(mark).length - 1
  const [begun, passed, failed, skipped] = [count('>'), count('p'), count('f'), count('s')]
  return { begun, passed, failed, skipped, ended: passed + failed + skipped + count('.') }
}

async function runAll(unit: string[], blackBox: string[]): Promise<Outcome> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0 }
  const add = (outcome: Outcome) => {
    for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += outcome[key]
  }
  const folder = mkdtempSync(join(tmpdir(), 'postern-tests-'))
  try {
    if (unit.length > 0) add(await runProcess(unit, join(folder, 'unit'), true))
    const queue = blackBox.map((file, index) => ({ file, tallyFile: join(folder, String(index)) }))
    const lane = async () => {
      for (let next = queue.shift(); next && !interrupted; next = queue.shift()) {
        add(await runProcess([next.file], next.tallyFile, false))
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return total
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // PostgreSQL's own handler ends this process by the same signal, once the server is down.
  process.once(signal, () => {
    interrupted = signal
    for (const child of running) child.kill(signal)
  })
}

const started = performance.now()
const browser = values['browser'] === true
if (!(await buildWeb('dashboard'))) throw new Error('the dashboard could not be built')
if (browser && !(await buildWeb('site'))) throw new Error('the site could not be built')
const installed = values['package'] === true ? installPostern() : undefined
const unit = browser || installed ? [] : find('{src,packages/*/src}/**/*.test.ts')
const blackBox = browser
  ? find('test/browser/**/*.test.ts')
  : find('test/**/*.test.ts', installed ? notOfPackage : ['test/browser/**', 'test/package/**'])
let total: Outcome = { passed: 0, failed: 0, skipped: 0 }

if (unit.length + blackBox.length > 0) {
  const postgres = process.env['TEST_ENGINE'] === 'sqlite' ? undefined : await startPostgres()
  if (postgres) process.env['TEST_DATABASE_URL'] = postgres.url
  if (postgres?.startMs) console.log(`PostgreSQL ready in ${(postgres.startMs / 1000).toFixed(1)} s`)
  const dropTemplates = await createTemplates()
  try {
    total = await runAll(unit, blackBox)
  } finally {
    await dropTemplates()
    await postgres?.stop()
    installed?.remove()
  }
}
const ran = total.passed + total.failed > 0
if (!ran)
  console.log(filters.length > 0 ? `No test ran: no test file matches ${filters.join(', ')}` : 'No test ran')
process.stdout.write(describeFailures(failures))
if (values['slowest'] === true) process.stdout.write(describeSlowest(times))
const files = `${unit.length + blackBox.length} files`
console.log(`\n${files} in ${((performance.now() - started) / 1000).toFixed(1)} s, ${total.skipped} skipped`)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exitCode = interrupted ? 130 : ran && total.failed === 0 ? 0 : 1
