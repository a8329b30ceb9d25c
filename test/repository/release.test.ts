import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'

const checkout = join(import.meta.dirname, '../..')
const manifests = [
  'package.json',
  'package-lock.json',
  'packages/client/package.json',
  'packages/create-postern/package.json',
]
const files = [...manifests, 'scripts/release.ts', 'test/harness/script-options.ts']

interface Manifest {
  version: string
  packages: Record<string, { version: string }>
  dependencies: Record<string, string>
  scripts: Record<string, string>
}

describe('npm run release', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'postern-release-'))
    for (const file of files) cpSync(join(checkout, file), join(root, file))
    const manifest = json('package.json')
    // The checks themselves are tested elsewhere, and need the whole checkout.
    manifest.scripts['check'] = 'node --eval ""'
    write('package.json', JSON.stringify(manifest))
    write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 - 2026-01-01\n\n- Old.\n')
    git('init', '--quiet', '--initial-branch', 'main')
    for (const [name, value] of Object.entries({ name: 'A', email: 'a@example.com' }))
      git('config', `user.${name}`, value)
    commit()
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const read = (file: string): string => readFileSync(join(root, file), 'utf8')
  const write = (file: string, text: string): void => writeFileSync(join(root, file), text)
  const json = (file: string): Manifest => JSON.parse(read(file)) as Manifest
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = (): void => {
    git('add', '--all')
    git('commit', '--quiet', '--message', 'change')
  }
  const release = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/release.ts', ...args], { cwd: root, encoding: 'utf8' })

  test('sets the version everywhere, dates the changelog, commits and tags', () => {
    const [major, minor] = json('package.json').version.split('.').map(Number)
    const version = `${major}.${minor! + 1}.0`
    const { status, stderr } = release('minor')
    assert.equal(status, 0, stderr)
    assert.deepEqual(
      manifests.map((file) => json(file).version),
      manifests.map(() => version),
    )
    assert.equal(json('package-lock.json').packages['']!.version, version)
    assert.equal(json('packages/create-postern/package.json').dependencies['postern'], version)
    const heading = `## ${version} - ${new Date().toISOString().slice(0, 4)}`
    assert.ok(read('CHANGELOG.md').startsWith(`# Changelog\n\n${heading}`), read('CHANGELOG.md'))
    assert.equal(git('status', '--porcelain'), '')
    assert.equal(git('log', '-1', '--format=%s'), `Release ${version}`)
    assert.equal(git('rev-parse', `v${version}^{commit}`), git('rev-parse', 'HEAD'))
    assert.match(release('minor').stderr, /nothing under "## Unreleased"/)
  })

  test('--dry-run prints the notes, and changes nothing', () => {
    const { status, stdout } = release('9.0.0', '--dry-run')
    assert.equal(status, 0)
    assert.match(stdout, /git tag v9\.0\.0\n[^]*\n## 9\.0\.0 - [\d-]+\n\n- New\.\n$/)
    assert.equal(git('status', '--porcelain') + git('tag'), '')
  })

  test('refuses a changed tree, another branch, a released version and failing checks', () => {
    write('new', '')
    assert.match(release('patch').stderr, /has changes/)
    rmSync(join(root, 'new'))
    git('tag', 'v9.0.0')
    assert.match(release('9.0.0').stderr, /v9\.0\.0 is released/)
    assert.match(release('newest').stderr, /Name patch, minor, major or a version/)
    const manifest = json('package.json')
    manifest.scripts['check'] = 'node --eval "process.exit(1)"'
    write('package.json', JSON.stringify(manifest))
    commit()
    assert.notEqual(release('patch').status, 0)
    assert.equal(git('tag'), 'v9.0.0')
    git('switch', '--quiet', '--create', 'other')
    assert.match(release('patch').stderr, /not the branch main/)
  })

  test('publishing by hand is refused', () => {
    const guard = join(checkout, 'scripts/refuse-publish.mjs')
    const publish = (env: NodeJS.ProcessEnv) => spawnSync(process.execPath, [guard], { env }).status
    assert.equal(publish({}), 1)
    assert.equal(publish({ GITHUB_ACTIONS: 'true' }), 0)
    assert.equal(publish({ POSTERN_PUBLISH: 'by-hand' }), 0)
  })
})
