// The manifests of Kubernetes, the compose files and the workflow are as the schemas of these products say. The two programs are packages of
// PyPI that bring the schemas; .ci/run installs them into .cache/schemas.
import assert from 'node:assert/strict'
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
const folder = temporaryFolder()

const path = `${join(root, '.cache/schemas/bin')}:${process.env['PATH']}`
const run = (program: string, ...args: string[]): SpawnSyncReturns<string> =>
  spawnSync(program, args, { cwd: root, encoding: 'utf8', env: { ...process.env, PATH: path } })

const kubernetes = ['kubernetes-validate', '--strict']
const builtIn = (schema: string): string[] => ['check-jsonschema', '--builtin-schema', `vendor.${schema}`]
const kinds: readonly (readonly [pattern: string, command: string[], wrong: string])[] = [
  ['deploy/kubernetes/*.yaml', kubernetes, 'kind: '],
  ['deploy/compose/*.yaml', builtIn('compose-spec'), 'services:'],
  ['.github/workflows/*.yml', builtIn('github-workflows'), 'jobs:'],
]

for (const [pattern, [program, ...options], key] of kinds) {
  const files = globSync(pattern, { cwd: root })
  const skip = run(program!, '--help').error && `${program} is not installed`
  test(`${pattern}: ${files.length}`, { skip }, () => {
    assert.ok(files.length > 0)
    for (const file of files) {
      const { status, stdout, stderr } = run(program!, ...options, file)
      assert.equal(status, 0, stdout + stderr)
    }
    const wrong = join(folder, basename(files[0]!))
    writeFileSync(wrong, readFileSync(join(root, files[0]!), 'utf8').replace(key, `noSuchKey: 1\n${key}`))
    assert.notEqual(run(program!, ...options, wrong).status, 0, 'a key that does not exist is found')
  })
}
