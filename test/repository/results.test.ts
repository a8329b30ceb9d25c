import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { batchesOf } from '../harness/batches.ts'
import { describeFailures, describeSlowest, readFailures, readTimes } from '../harness/results.ts'
import { runProcess } from '../harness/test-process.ts'
import { each } from '../harness/fields.ts'

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
  const [time] = readTimes(tallyFile)
  assert.equal(time?.file, 'lists.test.mjs')
  assert.ok(time.cpuSeconds > 0)
})

test('a long error is cut', () => {
  const error = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n')
  const shown = describeFailures([{ file: 'a.test.ts', name: 'a', error }])
  assert.match(shown, /line 59\n {4}… 40 more lines\n$/)
})

test('the slowest files come first, with their times and the sums of all, then the busiest folders', () => {
  const shown = describeSlowest([
    { file: 'x/a.test.ts', wallSeconds: 1, cpuSeconds: 0.5 },
    { file: 'y/b.test.ts', wallSeconds: 20, cpuSeconds: 2 },
    { file: 'x/c.test.ts', wallSeconds: 2, cpuSeconds: 3 },
  ])
  const rows = [...shown.matchAll(/^ +([\d.]+) +([\d.]+) {2}(.+)$/gm)].map(([, ...row]) => row.join(' '))
  assert.deepEqual(rows, [
    '20.0 2.0 y/b.test.ts',
    '2.0 3.0 x/c.test.ts',
    '1.0 0.5 x/a.test.ts',
    '23.0 5.5 all 3 files',
    '3.0 3.5 x/',
    '20.0 2.0 y/',
  ])
})

test('files of one folder share processes evenly, unit tests one, and those that load the machine begin first, each alone', () => {
  const http = Array.from({ length: 50 }, (_, index) => `test/http/${index}.test.ts`)
  const unit = ['packages/client/src/a.test.ts', 'src/http/a.test.ts']
  const batches = batchesOf([...unit, 'test/attacks/a.test.ts', 'test/chaos/chaos.test.ts', ...http])
  assert.deepEqual(batches, [
    ['test/chaos/chaos.test.ts'],
    unit,
    http.filter((_, index) => index % 2 === 0),
    http.filter((_, index) => index % 2 === 1),
    ['test/attacks/a.test.ts'],
  ])
})

describe('a process of tests', () => {
  const run = async (files: Record<string, string>, leftBehindAfter?: number) => {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
    const paths = Object.keys(files).map((name) => relative(process.cwd(), join(folder, name)))
    const tallyFile = join(folder, `process-${Object.keys(files).join()}`)
    return runProcess({
      name: 'a',
      files: paths,
      tallyFile,
      nodeOptions: [],
      package: undefined,
      ...(leftBehindAfter !== undefined && { leftBehindAfter }),
    })
  }
  const passing = `import { test } from 'node:test'\ntest('passes', () => {})`

  test('counts the tests of all its files', async () => {
    const { passed, failed, times } = await run({ '1.test.mjs': passing, '2.test.mjs': suite })
    assert.deepEqual([passed, failed, times.length], [2, 1, 2])
  })

  // With TEST_ENGINE, files without a test for this engine are no fault.
  test('fails when a file has no test', { skip: 'TEST_ENGINE' in process.env }, async () => {
    const { passed, failed, failures } = await run({ '1.test.mjs': passing, '3.test.mjs': '' })
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(failures[0]!.name, /^no test ran in .*3\.test\.mjs$/)
  })

  test('fails when nobody catches an error, and shows it', async () => {
    const rejects = `import { test } from 'node:test'
test('rejects', async () => {
  void Promise.reject(new Error('nobody listens'))
  await new Promise((done) => setTimeout(done, 50))
})`
    const { failed, failures } = await run({ '6.test.mjs': rejects })
    assert.equal(failed, 1)
    assert.equal(failures[0]!.name, 'nobody caught an error, during "rejects" or before')
    assert.match(failures[0]!.error, /^Error: nobody listens\n +at .*6\.test\.mjs:3/)
    assert.equal(failures[1]!.name, 'ended with 1')
  })

  test('keeps the groups of tests, and runs the hooks of a group for it alone', async () => {
    const grouped = `import { before, describe, test } from 'node:test'
let ready = 0
for (const name of ['a', 'b'])
  describe(name, () => {
    before(() => void (ready += 1))
    test('fails', async () => {
      await undefined
      throw new Error(String(ready))
    })
  })`
    const { failures } = await run({ '7.test.mjs': grouped })
    assert.deepEqual(
      failures.map(({ name, error }) => [name, error.split('\n')[0]]),
      [
        ['a › fails', 'Error: 1'],
        ['b › fails', 'Error: 2'],
      ],
    )
  })

  test('fails when a process stays that a test started', async () => {
    const pidFile = join(folder, 'pid')
    const leaves = `import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
test('leaves', () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'inherit' })
  child.unref()
  writeFileSync(${JSON.stringify(pidFile)}, String(child.pid))
})`
    const { passed, failures } = await run({ '8.test.mjs': leaves }, 500)
    process.kill(Number(await readFile(pidFile, 'utf8')))
    assert.equal(passed, 1)
    assert.deepEqual(each(failures, 'name'), ['it left a process behind'])
  })

  test('fails when a test ends the process, and names it', async () => {
    const exits = `import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
test('exits', async () => {
  await setTimeout(100)
  process.exit(0)
})`
    const { failed, failures } = await run({ '4.test.mjs': exits, '5.test.mjs': passing })
    assert.equal(failed, 1)
    assert.equal(failures[0]!.name, 'ended with 0 before all tests had run, during "exits"')
  })
})
