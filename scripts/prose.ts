// `npm run prose`: checks the documentation's prose with Vale (https://vale.sh) and the rules in styles/Postern.
//   npm run prose -- README.md docs/guides/apps.md    only these pages
// Vale is a program in Go: it is used where it is found, installed below node_modules/.cache where Go and its module proxy are there,
// and else left out.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions } from '../test/harness/script-options.ts'

const root = join(import.meta.dirname, '..')
const version = 'github.com/errata-ai/vale/v3/cmd/vale@v3.18.0'
const installed = join(root, 'node_modules/.cache/vale')

/** Decisions and the changelog tell of their time; the reference is made from the code. */
const all = globSync(
  ['{README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md', 'docs/**/*.md', '{examples,packages}/**/README.md'],
  { cwd: root, exclude: ['**/node_modules/**', 'docs/{adr,reference}/**'] },
)
const { positionals } = readOptions(import.meta.filename, { allowPositionals: true })
const pages = positionals.length > 0 ? positionals : all

const runs = (program: string): boolean => spawnSync(program, ['--version']).status === 0

function findVale(): string | undefined {
  const own = join(installed, 'vale')
  for (const program of ['vale', own]) if (runs(program)) return program
  const go = ['go', '/usr/local/go/bin/go'].find((program) => spawnSync(program, ['version']).status === 0)
  if (go === undefined) return undefined
  console.log(`installing ${version}`)
  const env = { ...process.env, GOBIN: installed }
  spawnSync(go, ['install', version], { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 600_000 })
  return existsSync(own) ? own : undefined
}

const vale = findVale()
if (vale === undefined) {
  console.log('Vale is not installed, and Go could not install it: prose is not checked.')
  // Who runs it by hand sees the line; in CI nobody reads it.
  process.exitCode = process.env['CI'] === 'true' ? 1 : 0
} else {
  const { status } = spawnSync(vale, ['--output=line', ...pages], { cwd: root, stdio: 'inherit' })
  console.log(`${pages.length} pages: ${status === 0 ? 'no faults' : 'see above'}`)
  process.exitCode = status ?? 1
}
