// Makes packages/client/dist: the sources as ES modules with declarations. Not bundled, so that an application's bundler takes
// only what is used, and a stack trace names readable files.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'packages/client')
const dist = join(folder, 'dist')

rmSync(dist, { recursive: true, force: true })
const compiler = join(root, 'node_modules/.bin/tsc')
const project = join(folder, 'tsconfig.build.json')
const { status } = spawnSync(compiler, ['-p', project], { cwd: root, stdio: ['ignore', 2, 2] })
if (status !== 0) process.exit(status ?? 1)
// The compiler rewrites the paths in modules, and not those in declarations.
const importedSource = /((?:from |import\()['"]\.[^'"]+)\.ts(['"])/g
for (const file of globSync('**/*.d.ts', { cwd: dist })) {
  const path = join(dist, file)
  writeFileSync(path, readFileSync(path, 'utf8').replace(importedSource, '$1.js$2'))
}
console.log(`packages/client/dist: ${globSync('**/*.js', { cwd: dist }).length} modules`)
