// One process of tests: starts it, watches that it goes on, and reads what its tests recorded.
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import {
  lastLines,
  readCurrentTest,
  readEmpty,
  readFailures,
  readSkips,
  readTimes,
  type Failure,
  type FileTime,
  type Skip,
} from './results.ts'

/** Milliseconds. For a test that hangs, and for no other: a machine that shares its cores takes twenty times as long for a test. */
const TEST_TIMEOUT = 600_000
/** A process without any progress for longer than a test may last is stuck in a loop that no timer interrupts. */
const STUCK_AFTER = TEST_TIMEOUT + 30_000
/** All tests have ended and the process stays: a server, a pool or a timer was left open. */
const LEFT_OPEN_AFTER = 120_000
/** The process has ended, and its output has not: another one that it started has it. That takes a while to end on a busy machine. */
const LEFT_BEHIND_AFTER = 60_000

/** Megabytes of half the young generation. V8 begins with less, and every collection until it has grown copies what lives. */
const YOUNG_GENERATION = 16

const root = join(import.meta.dirname, '..', '..')

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

export interface Outcome extends Counts {
  failures: Failure[]
  times: FileTime[]
  skips: Skip[]
}

export interface ProcessOptions {
  /** What to call the files in messages. */
  name: string
  files: readonly string[]
  /** A path that the process may use, with endings of its own. */
  tallyFile: string
  /** Options of node. */
  nodeOptions: readonly string[]
  /** The folder of the installed package, if the tests are to use that. */
  package: string | undefined
  /** Milliseconds after which a process that the tests started counts as left behind. Default a minute. */
  leftBehindAfter?: number
}

const running = new Set<ChildProcess>()

/** Ends all processes of tests. */
export function stopProcesses(signal: NodeJS.Signals): void {
  for (const child of running) child.kill(signal)
}

/** Runs the files in one process, one after the other. */
export async function runProcess(options: ProcessOptions): Promise<Outcome> {
  const { name, tallyFile, nodeOptions, leftBehindAfter = LEFT_BEHIND_AFTER } = options
  writeFileSync(tallyFile, '')
  const began = performance.now()
  const child = start(options)
  running.add(child)
  const output: Buffer[] = []
  for (const source of [child.stdout!, child.stderr!]) {
    source.on('data', (chunk: Buffer) => output.push(chunk))
  }
  const { code, reason } = await ending(child, tallyFile, leftBehindAfter)
  running.delete(child)
  process.stdout.write(`\n${name} (${((performance.now() - began) / 1000).toFixed(1)} s)\n`)
  for (const chunk of output) process.stdout.write(chunk)

  const { begun, ended, complete, ...counts } = readTally(tallyFile)
  const outcome = {
    ...counts,
    failures: readFailures(tallyFile),
    times: readTimes(tallyFile),
    skips: readSkips(tallyFile),
  }
  let fault = reason
  if (code !== 0 && outcome.failed === 0) fault ||= `ended with ${code}`
  // A call of process.exit leaves the other tests out, and may even look like a success.
  if (!complete) fault ||= `ended with ${code} before all tests had run`
  if (begun > ended) fault += `, during "${readCurrentTest(tallyFile)}"`
  const empty = readEmpty(tallyFile)
  // Some files have no test on one of the engines, or of a name.
  const partial =
    'TEST_ENGINE' in process.env || nodeOptions.some((option) => option.startsWith('--test-name'))
  if (empty.length > 0 && !partial) fault ||= `no test ran in ${empty.join(', ')}`
  if (fault) {
    outcome.failed++
    process.stdout.write(`✖ ${name}: ${fault}\n`)
    const error = lastLines(Buffer.concat(output).toString())
    outcome.failures.push({ file: name, name: fault, error })
  }
  return outcome
}

function start({ files, tallyFile, nodeOptions, package: installed }: ProcessOptions): ChildProcess {
  const options = [
    ...(installed === undefined ? [] : ['--import', join(import.meta.dirname, 'use-package.ts')]),
    ...nodeOptions,
    `--min-semi-space-size=${YOUNG_GENERATION}`,
    join(import.meta.dirname, 'run-files.ts'),
    String(TEST_TIMEOUT),
  ]
  // TEST_NODE: another Node.js, such as the oldest that runs the package. Commands of the tests find the same one by its name.
  const node = process.env['TEST_NODE'] ?? process.execPath
  return spawn(node, [...options, ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`,
      TEST_TALLY_FILE: tallyFile,
      ...(installed !== undefined && { POSTERN_PACKAGE: installed }),
      ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}),
    },
  })
}

/** Waits for the end of a process, and kills it when it makes no progress; `reason` is empty if it ended by itself. */
async function ending(
  child: ChildProcess,
  tallyFile: string,
  leftBehindAfter: number,
): Promise<{ code: number | NodeJS.Signals | null; reason: string }> {
  let reason = ''
  const watch = setInterval(() => {
    const idle = Date.now() - statSync(tallyFile).mtimeMs
    const { begun, ended } = readTally(tallyFile)
    const limit = begun > 0 && begun === ended ? LEFT_OPEN_AFTER : STUCK_AFTER
    if (idle < limit) return
    const what = limit === STUCK_AFTER ? 'no progress' : 'all tests have ended, but something was left open'
    reason = `killed after ${limit / 1000} s: ${what}`
    child.kill('SIGKILL')
  }, 1000)
  const code = await new Promise<number | NodeJS.Signals | null>((done) => {
    child.once('error', (error) => {
      reason = error.message
      done(1)
    })
    child.once('close', (exitCode, signal) => done(exitCode ?? signal))
    child.once('exit', () => {
      const giveUp = setTimeout(() => {
        reason ||= 'it left a process behind'
        child.stdout!.destroy()
        child.stderr!.destroy()
      }, leftBehindAfter)
      child.once('close', () => clearTimeout(giveUp))
    })
  })
  clearInterval(watch)
  return { code, reason }
}

function readTally(file: string): Counts & { begun: number; ended: number; complete: boolean } {
  const marks = readFileSync(file, 'utf8')
  const count = (mark: string) => marks.split(mark).length - 1
  const [begun, passed, failed, skipped] = [count('>'), count('p'), count('f'), count('s')]
  return {
    begun,
    passed,
    failed,
    skipped,
    ended: passed + failed + skipped + count('.'),
    complete: marks.endsWith('e'),
  }
}
