import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
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

interface Manifest {
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
      files.filter((file) => /\.test\.|(?<!\.d)\.ts$/.test(file)),
      [],
    )
  })

  test('is packed in at most 1.5 MB without the pages, and 6 MB with them', () => {
    const [tarball] = globSync('postern-*.tgz', { cwd: project })
    const { size } = statSync(join(project, tarball!))
    const pages = globSync('dist/{dashboard,guide}/**/*.*', { cwd: folder })
      .map((file) => gzipSync(readFileSync(join(folder, file))).length)
      .reduce((sum, bytes) => sum + bytes, 0)
    for (const page of ['dashboard/index.html', 'guide/index.html', 'guide/llms.txt'])
      assert.ok(existsSync(join(folder, 'dist', page)), `${page} is in the package`)
    assert.ok(size - pages <= 1.5e6, `${size - pages} bytes without the pages`)
    assert.ok(size <= 6e6, `${size} bytes`)
  })

  test('takes at most 60 MB beside the runtime and the guide, has at most 200 packages and needs no install script', () => {
    const blocks = entries
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter(
        (path) =>
          !path.includes('/node-linux-') &&
          !path.includes('/node-bin-') &&
          !path.includes('/node-darwin-') &&
          !path.includes('/dist/guide/'),
      )
      .reduce((sum, path) => sum + (lstatSync(path).blocks ?? 0), 0)
    assert.ok(blocks * 512 <= 60 * 2 ** 20, `${(blocks * 512) / 2 ** 20} MiB`)
    assert.ok(packages.length <= 200, `${packages.length} packages`)
    const scripts = packages.filter(({ scripts: all = {} }) =>
      ['preinstall', 'install', 'postinstall'].some((name) => name in all),
    )
    assert.deepEqual(
      scripts.map(({ name }) => name),
      [],
    )
  })

  test('runs its command on the pinned Node', () => {
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
