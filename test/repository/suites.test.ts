// Each test file is in one suite, and CI runs all suites.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesOf } from '../harness/suites.ts'

const root = join(import.meta.dirname, '../..')
const steps = {
  main: 'step tests npm test\n',
  docs: 'npm test -- --docs --long\n',
  long: 'npm test -- --docs --long\n',
  browser: 'npm test -- --browser\n',
  package: 'npm test -- --package package/ ',
} as const

test('each test file is in exactly one suite, and CI runs each suite', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8')
  for (const step of Object.values(steps)) assert.ok(ci.includes(step), step)
  const suites = [
    filesOf('main', []),
    filesOf('docs', []),
    filesOf('long', []),
    filesOf('browser', []),
    filesOf('package', ['package/']),
  ]
  const all = globSync('{src,test,packages/*/src,dashboard/src}/**/*.test.ts', { cwd: root })
  assert.deepEqual(suites.flat().toSorted(), all.toSorted())
  for (const files of suites) assert.ok(files.length > 0)
})

test('a filter finds the checks of the documentation and the long tests too', () => {
  const files = ['test/crash/crash.test.ts', 'test/repository/documented-output.test.ts']
  assert.deepEqual(filesOf('main', ['repository/documented-output', 'crash/crash']), files)
})
