// `npm test`: the unit tests (beside the code of src and packages), then the black-box tests (test/**), several files in a process.
//   npm test -- login        only files whose path contains "login", of --docs and --long too
//   npm test -- --docs       the checks of the documentation instead: what it shows, the examples, and the files of deploy/
//   npm test -- --long       the short forms of the long tests instead: chaos, crash, fuzz, simulation, and a try of each bench
//   npm test -- --docs --long                both
//   npm test -- --browser    the tests of the pages in a browser (test/browser/**) instead
//   npm test -- --package    the black-box tests against the published package, installed in an empty folder
//   npm test -- --slowest    prints at the end which files took most time
//   npm test -- --test-name-pattern=...    options of node --test are passed on, and --cpu-prof
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildDashboard } from '../scripts/dashboard.mjs'
import { batchesOf } from './harness/batches.ts'
import { createTemplates } from './harness/engines.ts'
import { bundleLibraries } from './harness/libraries.ts'
import { installPostern } from './harness/package.ts'
import { startPostgres } from './harness/postgres.ts'
import {
  cpuSeconds,
  describeFailures,
  describeSkips,
  describeSlowest,
  unacceptable,
} from './harness/results.ts'
import { readOptions } from './harness/script-options.ts'
import { filesOf } from './harness/suites.ts'
import { runProcess, stopProcesses, type Outcome } from './harness/test-process.ts'

/** Two more than the cores of a small machine: many tests wait, for time-outs and leases. Three left a third of two cores idle. */
const CONCURRENCY = 5

const { values, positionals: filters } = readOptions(import.meta.filename, {
  strict: false,
  allowPositionals: true,
  options: {
    browser: { type: 'boolean' },
    docs: { type: 'boolean' },
    long: { type: 'boolean' },
    package: { type: 'boolean' },
    slowest: { type: 'boolean' },
  },
})
const nodeOptions = process.argv
  .slice(2)
  .filter((arg) => arg.startsWith('--test-') || arg.startsWith('--cpu-prof'))
let interrupted: NodeJS.Signals | undefined

async function runAll(files: readonly string[]): Promise<Outcome> {
  const total: Outcome = { passed: 0, failed: 0, skipped: 0, failures: [], times: [], skips: [] }
  const folder = mkdtempSync(join(tmpdir(), 'postern-tests-'))
  const queue = batchesOf(files).map((batch, index) => ({ batch, tallyFile: join(folder, String(index)) }))
  const worker = async () => {
    for (let next = queue.shift(); next && !interrupted; next = queue.shift()) {
      const { batch, tallyFile } = next
      const name = batch[0]!.startsWith('test/') ? batch.join(' ') : 'unit tests'
      const options = { name, files: batch, tallyFile, nodeOptions, package: installed?.folder }
      const outcome = await runProcess(options)
      for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += outcome[key]
      total.failures.push(...outcome.failures)
      total.times.push(...outcome.times)
      total.skips.push(...outcome.skips)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return total
}

/** What Playwright says when Chromium failed, and not what a test expected of a page. */
const ofChromium =
  /Protocol error|Page crashed|Target (?:page, context or browser has been closed|crashed|closed)/

/** In CI, runs the files of at most two tests again that failed by an error of Chromium. What failed at first is printed. */
async function repeatFailed(): Promise<void> {
  const first = total.failures
  const failed = [...new Set(first.map(({ file }) => file))]
  if (failed.length === 0 || first.length > 2 || interrupted) return
  if (!first.every(({ error }) => ofChromium.test(error))) return
  // A process that ended within a batch of files does not say which of them it was.
  if (!failed.every((file) => files.includes(file))) return
  process.stdout.write(`${describeFailures(first)}\nRepeating ${failed.join(' and ')}\n`)
  const again = await runAll(failed)
  total.passed += total.failed - again.failed
  total.failed = again.failed
  total.failures = again.failures
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // PostgreSQL's own handler ends this process by the same signal, once the server is down.
  process.once(signal, () => {
    interrupted = signal
    stopProcesses(signal)
  })
}

const started = performance.now()
const chosen = (['browser', 'package', 'docs', 'long'] as const).filter((name) => values[name] === true)
const suites = chosen.length > 0 ? chosen : (['main'] as const)
if (!(await buildDashboard())) throw new Error('the dashboard could not be built')
const installed = values['package'] === true ? installPostern() : undefined
// The package has bundles of its own.
if (!installed)
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${await bundleLibraries()}`
const files = suites.flatMap((suite) => filesOf(suite, filters))
let total: Outcome = { passed: 0, failed: 0, skipped: 0, failures: [], times: [], skips: [] }

if (files.length > 0) {
  const postgres = process.env['TEST_ENGINE'] === 'sqlite' ? undefined : await startPostgres()
  if (postgres) process.env['TEST_DATABASE_URL'] = postgres.url
  if (postgres?.startMs) console.log(`PostgreSQL ready in ${(postgres.startMs / 1000).toFixed(1)} s`)
  const dropTemplates = await createTemplates()
  try {
    total = await runAll(files)
    if (suites.join() === 'browser' && process.env['CI'] === 'true') await repeatFailed()
  } finally {
    await dropTemplates()
    await postgres?.stop()
    installed?.remove()
  }
}
const ran = total.passed + total.failed > 0
if (!ran)
  console.log(
    filters.length > 0
      ? `No test ran: no test file matches ${filters.join(', ')}. Those in a browser need --browser.`
      : 'No test ran',
  )
if (process.env['CI'] === 'true')
  for (const { file, name, reason } of unacceptable(total.skips)) {
    total.failed++
    total.failures.push({
      file,
      name,
      error: `skipped, which CI does not accept: ${reason || 'no reason given'}`,
    })
  }
process.stdout.write(describeSkips(total.skips))
process.stdout.write(describeFailures(total.failures))
if (values['slowest'] === true) process.stdout.write(describeSlowest(total.times))
const took = `${((performance.now() - started) / 1000).toFixed(1)} s`
console.log(
  `\n${files.length} files in ${took} (${cpuSeconds().toFixed(0)} s of processor time), ${total.skipped} skipped`,
)
if (chosen.length === 0 && filters.length === 0)
  console.log(
    'CI also runs npm test -- --docs (documentation), --long (chaos, crash, fuzz) and --browser (the pages).',
  )
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exitCode = interrupted ? 130 : ran && total.failed === 0 ? 0 : 1
