// `npm run prose`: checks the documentation, and the texts of pages and messages, with Vale (https://vale.sh) and the rules in styles/Postern.
//   npm run prose -- README.md docs/guides/apps.md    only these pages
// Vale is a program in Go: it is used where it is found, installed below node_modules/.cache where Go and its module proxy are there,
// and else left out.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions } from '../test/harness/script-options.ts'
import { writeMessageTexts } from './message-texts.ts'

const root = join(import.meta.dirname, '..')
const version = 'github.com/errata-ai/vale/v3/cmd/vale@v3.18.0'
const installed = join(root, 'node_modules/.cache/vale')

/** Decisions and the changelog describe their time. */
const all = globSync(
  ['{README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md', 'docs/**/*.md', '{examples,packages}/**/README.md'],
  { cwd: root, exclude: ['**/node_modules/**', 'docs/adr/**'] },
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
  const passed = [check(root, pages), ...(positionals.length > 0 ? [] : [checkMessages()])]
  process.exitCode = passed.every(Boolean) ? 0 : 1
}

function check(cwd: string, files: readonly string[]): boolean {
  const options = ['--output=line', `--config=${join(root, '.vale.ini')}`]
  const { status, stdout, stderr } = spawnSync(vale!, [...options, ...files], { cwd, encoding: 'utf8' })
  // Texts of a source are in a file with the source's name and `.md`.
  process.stdout.write(stdout.replaceAll(/^(.+\.tsx?)\.md:/gm, '$1:') + stderr)
  console.log(`${files.length} files: ${status === 0 ? 'no faults' : 'see above'}`)
  return status === 0
}

function checkMessages(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'postern-prose-'))
  try {
    return check(folder, writeMessageTexts(root, folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
