// node:test's spec output without its summary per process, and a tally of the leaf tests for test/run.ts.
import { openSync, writeSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { begunFile, cpuSeconds, recordEmpty, recordFailure, recordSkip, recordTime } from './results.ts'

const tally = process.env['TEST_TALLY_FILE']
/** Open, because they are written thousands of times, and at once, because a process that ends in a test writes nothing more. */
const files = tally ? { marks: openSync(tally, 'a'), begun: openSync(begunFile(tally), 'a') } : undefined
/** The processor time of this process when the last outermost test ended. */
let cpuBefore = 0

/** One character per event: p passed, f failed, s skipped or to do, > a test began, . a group ended, e all have ended. */
function record(mark: string): void {
  if (files) writeSync(files.marks, mark)
}

/** The spec reporter prints errors when all has ended. A process that is killed before leaves them in this file. */
function failed(names: readonly string[], file: string | undefined, details: object): void {
  const error = 'error' in details && details.error instanceof Error ? details.error : undefined
  if (tally === undefined) return
  recordFailure(tally, {
    file: file === undefined ? 'unknown file' : relative(process.cwd(), file),
    name: names.join(' › '),
    error: inspect(error?.cause ?? error),
  })
}

function skipped(names: readonly string[], file: string | undefined, reason: unknown): void {
  if (tally === undefined) return
  recordSkip(tally, {
    file: file === undefined ? 'unknown file' : relative(process.cwd(), file),
    name: names.join(' › '),
    reason: typeof reason === 'string' ? reason : '',
  })
}

/** An outermost test or group of a file has ended. */
function timed(file: string, milliseconds: number): void {
  if (tally === undefined) return
  const cpu = cpuSeconds()
  const wallSeconds = milliseconds / 1000
  recordTime(tally, { file: relative(process.cwd(), file), wallSeconds, cpuSeconds: cpu - cpuBefore })
  cpuBefore = cpu
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const output = Readable.from(tallied(source)).pipe(new spec())
  yield* output as AsyncIterable<string>
  record('e')
}

async function* tallied(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  // The deepest nesting reported since the last event at a level: a test that follows its own subtests is no leaf.
  let previous = 0
  const names: string[] = []
  // A group that a function of the harness declares is of the file that has its tests.
  let file: string | undefined
  for await (const event of source) {
    if (event.type === 'test:dequeue') {
      record('>')
      if (files) writeSync(files.begun, `${JSON.stringify(event.data.name)}\n`)
    }
    if (event.type === 'test:start') names[event.data.nesting] = event.data.name
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { nesting, details, skip, todo } = event.data
      // Node.js reports a file without tests as a test of the file's name.
      const isFile = nesting === 0 && event.data.file === resolve(event.data.name)
      const isLeaf = details.type !== 'suite' && previous <= nesting && !isFile
      const failure = event.type === 'test:fail' && failureType(details) !== 'subtestsFailed'
      const ignored = (skip !== undefined && skip !== false) || (todo !== undefined && todo !== false)
      // The tests of a group that is skipped are not reported.
      if (ignored) {
        record(isLeaf || details.type === 'suite' ? 's' : '.')
        skipped([...names.slice(0, nesting), event.data.name], event.data.file, skip)
      } else if (failure) {
        record('f')
        failed([...names.slice(0, nesting), event.data.name], event.data.file, details)
      } else record(isLeaf && event.type === 'test:pass' ? 'p' : '.')
      previous = nesting
      if (event.data.file?.includes('.test.')) file = event.data.file
      if (nesting === 0 && file !== undefined) {
        if (isFile && tally) recordEmpty(tally, relative(process.cwd(), file))
        timed(file, details.duration_ms)
        file = undefined
      }
    }
    // "ℹ tests 3, suites 1, ..." of every single process would drown the results; the totals come once, at the end.
    if (event.type === 'test:diagnostic' && event.data.nesting === 0 && SUMMARY.test(event.data.message))
      continue
    yield event
  }
}

const SUMMARY = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

function failureType(details: object): unknown {
  const error = 'error' in details ? details.error : undefined
  return typeof error === 'object' && error !== null && 'failureType' in error ? error.failureType : undefined
}
