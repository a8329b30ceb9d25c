// `npm run release -- minor`: makes a release of what CHANGELOG.md describes under "Unreleased".
// Needs a clean tree on main. Runs the checks, sets the version in all files, dates the changelog, commits and tags; pushes nothing.
//   npm run release -- patch|minor|major|1.2.3
//   npm run release -- minor --dry-run    says what it would do
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions } from '../test/harness/script-options.ts'

interface Manifest {
  version: string
  dependencies?: Record<string, string>
  packages?: Record<string, { version: string }>
}

const root = join(import.meta.dirname, '..')
const manifests = [
  'package.json',
  'package-lock.json',
  'packages/client/package.json',
  'packages/create-postern/package.json',
]
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

function refuse(reason: string): never {
  console.error(reason)
  return process.exit(1)
}

function nextVersion(current: string, wanted: string): string {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number)
  if (wanted === 'major') return `${major + 1}.0.0`
  if (wanted === 'minor') return `${major}.${minor + 1}.0`
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`
  return /^\d+\.\d+\.\d+$/.test(wanted)
    ? wanted
    : refuse('Name patch, minor, major or a version. See --help.')
}

/** Sets the version of a package, and the version of Postern that it depends on. */
function setVersion(file: string, version: string): void {
  const manifest = JSON.parse(read(file)) as Manifest
  manifest.version = version
  if (manifest.packages?.['']) manifest.packages[''].version = version
  if (manifest.dependencies?.['postern']) manifest.dependencies['postern'] = version
  writeFileSync(join(root, file), `${JSON.stringify(manifest, undefined, 2)}\n`)
}

const { values, positionals } = readOptions(import.meta.filename, {
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean' } },
})
const version = nextVersion((JSON.parse(read('package.json')) as Manifest).version, positionals[0] ?? '')
const changelog = read('CHANGELOG.md')
const notes = /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog)?.[1]?.trim() ?? ''
const heading = `## ${version} - ${new Date().toISOString().slice(0, 10)}`

if (git('status', '--porcelain') !== '') refuse('The working tree has changes: commit or stash them.')
if (git('branch', '--show-current') !== 'main') refuse('This is not the branch main.')
if (git('tag', '--list', `v${version}`) !== '') refuse(`v${version} is released.`)
if (notes === '') refuse('CHANGELOG.md has nothing under "## Unreleased".')

if (values['dry-run'] === true) {
  console.log(`npm run check
version ${version} in ${manifests.join(', ')}
git commit -m "Release ${version}", git tag v${version}
CHANGELOG.md and notes of the release:

${heading}

${notes}`)
} else {
  execFileSync('npm', ['run', 'check'], { cwd: root, stdio: 'inherit' })
  for (const file of manifests) setVersion(file, version)
  writeFileSync(join(root, 'CHANGELOG.md'), changelog.replace(/^## Unreleased$/m, heading))
  git('commit', '--quiet', '--message', `Release ${version}`, '--', 'CHANGELOG.md', ...manifests)
  git('tag', '--annotate', `v${version}`, '--message', `Postern ${version}`)
  console.log(`v${version} is tagged. Publish it with: git push --follow-tags origin main`)
}
