// `npm run check`: everything that is proved without running the service. A new check is one more line in CHECKS.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readOptions } from '../test/harness/script-options.ts'
import { installDashboard } from './dashboard.mjs'

readOptions(import.meta.filename, {})

const root = join(import.meta.dirname, '..')
const bin = (name: string, ...args: string[]) => [join(root, 'node_modules', '.bin', name), ...args]
const script = (path: string, ...args: string[]) => [process.execPath, join(root, path), ...args]

const CHECKS: [title: string, command: string[]][] = [
  ['types', bin('tsc')],
  ['types of the client library, without those of Node', bin('tsc', '-p', 'packages/client')],
  ['types of the dashboard', bin('tsc', '-p', 'dashboard')],
  ['lint', bin('oxlint')],
  ['format', bin('oxfmt', '--check')],
  ['dead code', bin('knip', '--no-config-hints', '--no-progress')],
  [
    'dead code of the dashboard',
    bin('knip', '--directory', 'dashboard', '--no-config-hints', '--no-progress'),
  ],
  ['syntax for Node.js 22', script('scripts/check-syntax.ts')],
  ['documentation', script('scripts/check-docs.ts')],
  ['generated documentation', script('scripts/generate-docs.ts', '--check')],
]

// Its types are those of its own packages.
if (!(await installDashboard())) process.exit(1)

let failed = 0
for (const [title, [command, ...args]] of CHECKS) {
  const started = performance.now()
  const run = spawnSync(command!, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 100e6,
    shell: process.platform === 'win32',
  })
  const passed = run.status === 0
  if (!passed) failed++
  console.log(`${passed ? '✔' : '✖'} ${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  if (!passed) console.log(`${run.error?.message ?? ''}${run.stdout ?? ''}${run.stderr ?? ''}`)
}
console.log(`${CHECKS.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
