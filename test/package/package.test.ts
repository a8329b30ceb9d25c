import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { each } from '../harness/fields.ts'
import { childEnvironment } from '../harness/child-environment.ts'

// Runs with `npm test -- --package` only.
const folder = process.env['POSTERN_PACKAGE']!
const project = resolve(folder, '../..')
const modules = dirname(folder)
const checkout = join(import.meta.dirname, '../..')
const compiler = join(checkout, 'node_modules/.bin/tsc')

const env = { ...childEnvironment(), HOME: project }
const run = (...command: [string, ...string[]]): string =>
  execFileSync(command[0], command.slice(1), { cwd: project, env, encoding: 'utf8', stdio: 'pipe' })

const entries = readdirSync(modules, { recursive: true, withFileTypes: true })
const packages = entries
  .filter(({ name }) => name === 'package.json')
  .map(({ parentPath, name }) => JSON.parse(readFileSync(join(parentPath, name), 'utf8')) as Manifest)
  .filter(({ name, version }) => name !== undefined && version !== undefined)

/** The first version of a range such as `>=22.20.0 || ^24`, as a number that can be compared. */
function needs(range: string): number {
  const [, major = '0', minor = '0'] = /(\d+)(?:\.(\d+))?/.exec(range) ?? []
  return Number(major) * 1000 + Number(minor)
}

interface Manifest {
  engines?: { node?: string }
  name?: string
  version?: string
  scripts?: Record<string, string>
}

describe('the installed package', () => {
  test('holds compiled code, declarations and source maps, and no tests, benches or documents', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const kinds = new Set(files.map((file) => file.split('/')[0]))
    assert.deepEqual(kinds, new Set(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'package.json']))
    assert.deepEqual(
      files.filter((file) => /\.test\.|(?<!\.d)\.ts$|guide\/adr|dependencies\.md/.test(file)),
      [],
    )
  })

  test('is packed in at most 1.8 MB without the pages, and 4 MB with them', () => {
    const { size } = statSync(join(project, 'vendor/postern.tgz'))
    const pages = globSync('dist/{dashboard,guide}/**/*.*', { cwd: folder })
      .map((file) => gzipSync(readFileSync(join(folder, file))).length)
      .reduce((sum, bytes) => sum + bytes, 0)
    for (const page of ['dashboard/index.html', 'guide/index.md', 'guide/guides/senders/stripe.md'])
      assert.ok(existsSync(join(folder, 'dist', page)), `${page} is in the package`)
    assert.ok(size - pages <= 1.8e6, `${size - pages} bytes without the pages`)
    assert.ok(size <= 4e6, `${size} bytes`)
  })

  test('takes at most 60 MB with all that it needs, has at most 200 packages and needs no install script', () => {
    const blocks = entries
      .map(({ parentPath, name }) => join(parentPath, name))
      .reduce((sum, path) => sum + (lstatSync(path).blocks ?? 0), 0)
    assert.ok(blocks * 512 <= 60 * 2 ** 20, `${(blocks * 512) / 2 ** 20} MiB`)
    assert.ok(packages.length <= 200, `${packages.length} packages`)
    const scripts = packages.filter(({ scripts: all = {} }) =>
      ['preinstall', 'install', 'postinstall'].some((name) => name in all),
    )
    assert.deepEqual(each(scripts, 'name'), [])
  })

  test('brings no program that replaces one of the project: only its own command, and none named node', () => {
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: object }
    assert.deepEqual(bin, { postern: 'bin/postern.mjs' })
    assert.equal(existsSync(join(modules, '.bin/node')), false)
    assert.deepEqual(
      packages.filter(({ name }) => /^node-(?:bin|linux|darwin|win)/.test(name!)),
      [],
    )
  })

  test('names the oldest Node.js that runs it, in engines as in its launcher', async () => {
    const { engines } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Required<Manifest>
    assert.equal(engines.node, '>=22.20 <23 || >=24.7')
    const launcher: { isNewEnough(version: string): boolean } = await import(join(folder, 'bin/launch.mjs'))
    const versions = [
      '18.20.8',
      '20.20.2',
      '22.19.0',
      '22.20.0',
      '23.11.0',
      '24.6.0',
      '24.7.0',
      '25.0.0',
      '26.10.0',
    ]
    assert.deepEqual(
      versions.filter((version) => launcher.isNewEnough(version)),
      ['22.20.0', '24.7.0', '25.0.0', '26.10.0'],
    )
    const newer = packages.filter(({ engines: { node } = {} }) => node !== undefined && needs(node) > 22_020)
    assert.deepEqual(each(newer, 'name'), [], 'packages that ask for a newer Node.js')
  })

  test('says on an older Node.js which one it needs', () => {
    const program = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } }); import(${JSON.stringify(join(folder, 'bin/postern.mjs'))})`
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], {
      cwd: project,
      env,
      encoding: 'utf8',
    })
    assert.equal(status, 1)
    assert.match(stderr, /Postern needs Node\.js 22\.20, 24\.7 or newer/)
  })

  test('runs its command', () => {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
    assert.equal(run(join(modules, '.bin/postern'), '--version').trim(), version)
  })

  for (const [module, moduleResolution] of [
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ] as const)
    test(`has declarations that a strict project compiles, with moduleResolution ${moduleResolution}`, () => {
      writeFileSync(join(project, 'postern.config.mts'), typed)
      run(
        process.execPath,
        compiler,
        '--noEmit',
        '--strict',
        '--target',
        'es2023',
        '--lib',
        'es2023',
        '--types',
        '',
        '--module',
        module,
        '--moduleResolution',
        moduleResolution,
        'postern.config.mts',
      )
    })

  test('can be required from CommonJS', () => {
    writeFileSync(join(project, 'required.cjs'), `console.log(typeof require('postern').defineConfig)`)
    assert.equal(run(process.execPath, 'required.cjs').trim(), 'function')
  })

  test('runs statements of the kysely that the project imports, which is not the bundled one', () => {
    writeFileSync(
      join(project, 'statement.mjs'),
      `import { sql } from 'kysely'
       import { startTestKit } from 'postern/testing'
       const kit = await startTestKit({})
       const { rows } = await sql\`select \${'bound'} as value\`.execute(kit.db)
       console.log(rows[0].value)
       await kit.close()`,
    )
    assert.equal(run(process.execPath, 'statement.mjs').trim(), 'bound')
  })

  test('has source maps that lead a stack trace to the sources', () => {
    writeFileSync(
      join(project, 'failing.mjs'),
      `import { startTestKit } from 'postern/testing'
       await startTestKit({ receiving: { sources: { shop: null } } }).catch(({ stack }) => console.log(stack))`,
    )
    const stack = run(process.execPath, '--enable-source-maps', 'failing.mjs')
    const line = /postern\/src\/testing\/index\.ts:(\d+):\d+/.exec(stack)?.[1]
    const source = readFileSync(join(checkout, 'src/testing/index.ts'), 'utf8').split('\n')
    assert.match(source[Number(line) - 1] ?? '', /scheme\.name/, stack)
  })
})

const typed = `
import { defineConfig, hmac, list, type Handler } from 'postern'
import { startTestKit } from 'postern/testing'

const paid: Handler = async (event, { tx, emit }) => {
  const id: string = event.id
  await tx.insertInto('orders').values({ id }).execute()
  await emit({ type: 'order.paid', data: { id } })
}
const config = defineConfig({
  receiving: { sources: { shop: hmac({ secret: 'secret-of-the-shop', header: 'x-signature' }) }, handlers: { 'invoice.paid': paid } },
})
// @ts-expect-error: there is no such setting.
defineConfig({ receivingg: {} })
export const kit: Promise<{ close(): Promise<void> }> = startTestKit(config)
export default config
void list
`
