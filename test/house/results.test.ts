import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { describeFailures, describeSlowest, readCpuTime, readFailures } from '../harness/results.ts'

const suite = `
import { describe, test } from 'node:test'
describe('lists', () => {
  describe('pages', () => {
    test('has a cursor', () => { throw new Error('no cursor') })
    test('has a limit', () => {})
  })
})`

let folder: string
before(async () => void (folder = await mkdtemp(join(tmpdir(), 'postern-results-'))))
after(() => rm(folder, { recursive: true }))

test('the end of a run names each failed test with its groups, and shows its error', async () => {
  const file = join(folder, 'lists.test.mjs')
  const tallyFile = join(folder, 'tally')
  await writeFile(file, suite)
  const reporter = join(import.meta.dirname, '../harness/reporter.ts')
  const env = { ...process.env, TEST_TALLY_FILE: tallyFile }
  const ended = promisify(execFile)(process.execPath, [`--test-reporter=${reporter}`, file], {
    env,
    cwd: folder,
  })
  await assert.rejects(ended, { code: 1 })

  const failures = readFailures(tallyFile)
  assert.equal(failures.length, 1)
  const shown = describeFailures(failures)
  assert.match(
    shown,
    /^\nFailed:\n\n✖ lists\.test\.mjs: lists › pages › has a cursor\n {4}Error: no cursor\n {8}at /,
  )
  assert.ok(readCpuTime(tallyFile)! > 0)
})

test('a long error is cut', () => {
  const error = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n')
  const shown = describeFailures([{ file: 'a.test.ts', name: 'a', error }])
  assert.match(shown, /line 59\n {4}… 40 more lines\n$/)
})

test('the slowest files come first, with their times and the sums of all', () => {
  const shown = describeSlowest([
    { files: ['a.test.ts'], wallSeconds: 1, cpuSeconds: 0.5 },
    { files: ['b.test.ts'], wallSeconds: 20, cpuSeconds: undefined },
  ])
  assert.match(
    shown,
    / 20\.0 +- {2}b\.test\.ts\n +1\.0 +0\.5 {2}a\.test\.ts\n +21\.0 +0\.5 {2}all 2 processes\n$/,
  )
})
