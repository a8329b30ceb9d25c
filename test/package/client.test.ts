import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { childEnvironment } from '../harness/child-environment.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const checkout = join(import.meta.dirname, '../..')
const compiler = join(checkout, 'node_modules/.bin/tsc')

// Runs with `npm test -- --package` only.
describe('the package postern-client', () => {
  const project = temporaryFolder()
  const folder = join(project, 'node_modules/postern-client')
  const run = (...[command, ...args]: [string, ...string[]]): string =>
    execFileSync(command, args, { cwd: project, env: childEnvironment(), encoding: 'utf8', stdio: 'pipe' })

  test('is packed and installed without anything else', () => {
    const tarball = resolve(process.env['POSTERN_PACKAGE']!, '../../vendor/postern-client.tgz')
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ name: 'product', type: 'module', private: true }),
    )
    run('npm', 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=peer', tarball)
    assert.deepEqual(
      readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['postern-client'],
    )
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    assert.deepEqual(
      files.filter((file) => /\.test\.|(?<!\.d)\.ts$|react\.d\.ts$/.test(file)),
      [],
    )
  })

  test('each subpath can be imported', () => {
    const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { exports: object }
    const names = Object.keys(exports)
      .filter((name) => !/react|json/.test(name))
      .map((name) => `postern-client${name.slice(1)}`)
    const script = `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(await import(name)).length > 0)`
    const lines = run(process.execPath, '--input-type=module', '--eval', script).trim().split('\n')
    assert.deepEqual(
      lines,
      names.map((name) => `${name} true`),
    )
  })

  for (const [module, moduleResolution, lib] of [
    ['nodenext', 'nodenext', 'es2022,dom'],
    ['esnext', 'bundler', 'es2022,dom'],
  ] as const)
    test(`has declarations that a strict project compiles, with moduleResolution ${moduleResolution}`, () => {
      writeFileSync(join(project, 'use.ts'), typed)
      run(
        process.execPath,
        compiler,
        '--noEmit',
        '--strict',
        '--exactOptionalPropertyTypes',
        '--target',
        'es2022',
        '--lib',
        lib,
        '--types',
        '',
        '--module',
        module,
        '--moduleResolution',
        moduleResolution,
        'use.ts',
      )
    })

  test('its command says how it is used', () => {
    assert.throws(() => run(process.execPath, 'node_modules/postern-client/dist/types-command.js'), /usage/)
  })
})

const typed = `
import { createPostern, NotSignedInError, verifyWebhook } from 'postern-client'
import { createSignIn } from 'postern-client/browser'
import { deviceSignIn } from 'postern-client/device'
import { requireToken } from 'postern-client/hono'
import { createVerifier } from 'postern-client/tokens'

const postern = createPostern({ url: 'https://gate.example.com', token: 'pk_1' })
export async function emails(request: Request): Promise<(string | null)[]> {
  const all: (string | null)[] = []
  const session = await postern.requireUser(request, { role: 'admin' })
  all.push(session.user.email)
  for await (const user of postern.list('/users')) all.push(user.email)
  return all
}
// @ts-expect-error: there is no such call.
void postern.get('/nowhere')
export const guard = requireToken(createVerifier({ issuer: 'a', audience: 'b' }), { scope: 'c' })
export { createSignIn, deviceSignIn, NotSignedInError, verifyWebhook }
`
