import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { commandLine } from '../../src/cli/program.ts'
import { childEnvironment } from '../harness/child-environment.ts'
import { mainFile } from '../harness/main-file.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { postern, startPostern } from './command.ts'

const env = { DATABASE_URL: 'sqlite:data/output.db', POSTERN_SECRET: 'x'.repeat(16) + 'abcdefghijklmnop' }

describe('the output of commands', () => {
  const folder = temporaryFolder()

  test('--json gives one document on standard output, before and behind the command', async () => {
    writeFileSync(join(folder, 'products.ndjson'), '{"bad":1}\n')
    const key = await postern(folder, ['keys', 'create', 'a', '--role', 'admin', '--json'], env)
    assert.match((JSON.parse(key.stdout) as { key: string }).key, /^pk_/)
    assert.equal(key.stderr, '')
    const outputs = [
      ['migrate'],
      ['keys', 'list'],
      ['sources'],
      ['users', 'issuers'],
      ['replay', 'events'],
      ['replay', 'deliveries', '--dry-run'],
      ['keys', 'reseal'],
      ['keys', 'rotate-signing'],
      ['import', 'products', 'products.ndjson'],
      ['backup', 'copy'],
      ['config', 'check'],
      ['config', 'print'],
      ['lists', 'check'],
      ['doctor'],
    ]
    for (const args of outputs) {
      const { stdout, stderr } = await postern(folder, ['--json', ...args], env)
      assert.equal(stdout.split('\n').length, 2, `${args.join(' ')}: ${stdout}${stderr}`)
      assert.ok(JSON.parse(stdout))
    }
  })

  test('a reader that closes the pipe ends the command without an error', async () => {
    const { child, ended } = startPostern(folder, ['doctor'], env)
    child.stdout!.destroy()
    const { code, stderr } = await ended
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('a full disk ends the command with an error of one line', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['--', mainFile, 'config', 'print'], {
      cwd: folder,
      env: { ...childEnvironment(), ...env },
      stdio: ['ignore', full, 'pipe'],
    })
    closeSync(full)
    assert.match(await text(child.stderr!), /^Cannot write to standard output: ENOSPC: .*\n$/)
    assert.equal(child.exitCode ?? (await once(child, 'exit'))[0], 1)
  })

  test('times in JSON are whole, and tables have the same columns', async () => {
    const { stdout } = await postern(folder, ['keys', 'list', '--json'], env)
    const [key] = JSON.parse(stdout) as [Record<string, unknown>]
    assert.deepEqual(Object.keys(key), [
      'id',
      'name',
      'role',
      'scopes',
      'begins',
      'created',
      'expires',
      'lastUsed',
      'state',
    ])
    assert.match(String(key['created']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.equal(key['expires'], null)
  })

  test('exit codes: 0 done, 1 failed, 2 a wrong command line, 3 partly done', async () => {
    const codes = async (args: string[], more = {}): Promise<number> =>
      (await postern(folder, args, { ...env, ...more })).code
    assert.equal(await codes(['--version']), 0)
    assert.equal(await codes(['keys', 'list', '--help']), 0)
    assert.equal(await codes(['keys', 'revoke', 'nope']), 1)
    assert.equal(await codes(['migrate'], { DATABASE_URL: 'mysql://x' }), 1)
    assert.equal(await codes(['keys']), 2)
    assert.equal(await codes(['nope']), 2)
    assert.equal(await codes(['migrate', '--nope']), 2)
    assert.equal(await codes(['replay', 'nothing']), 2)
    assert.equal(await codes(['keys', 'create', 'a', '--expires', 'soon', '--role', 'admin']), 2)
    assert.equal(await codes(['import', 'products', 'products.ndjson']), 3)
  })

  test('no command names an exit code by itself, so that the documented table holds', () => {
    const sources = join(import.meta.dirname, '../../src/cli')
    for (const file of readdirSync(sources).filter((name) => /(?<!\.test)\.ts$/.test(name))) {
      const text = readFileSync(join(sources, file), 'utf8')
      assert.doesNotMatch(text, /exitCode = \d/, file)
    }
    let help = ''
    commandLine()
      .configureOutput({ writeOut: (text) => (help += text) })
      .outputHelp()
    for (const code of [0, 1, 2, 3, 130]) assert.match(help, new RegExp(`^  ${code} +[A-Z\`]`, 'm'))
  })

  test('colours: none in a pipe, by FORCE_COLOR, not with NO_COLOR', async () => {
    const check = async (more: Record<string, string>): Promise<boolean> =>
      (await postern(folder, ['config', 'check'], { ...env, ...more })).stdout.includes('\u001b[')
    assert.equal(await check({}), false)
    assert.equal(await check({ FORCE_COLOR: '1' }), true)
    assert.equal(await check({ NO_COLOR: '1' }), false)
  })
})

describe('postern config', () => {
  const folder = temporaryFolder()

  test('print shows each origin, and no secret', async () => {
    writeFileSync(join(folder, '.env'), 'PORT=4000\nHOST=127.0.0.2\nGITHUB_CLIENT_ID=abc\n')
    writeFileSync(join(folder, 'secret'), 'kept in a file: 0123456789\n')
    writeFileSync(join(folder, 'other.env'), 'LOG_LEVEL=warn\n')
    const given = {
      HOST: '127.0.0.1',
      ADMIN_API_KEY_FILE: 'secret',
      GITHUB_CLIENT_SECRET: 'hidden-1',
      DATABASE_URL: 'postgres://me:hidden-2@localhost/gate',
    }
    const shown = async (...args: string[]): Promise<Map<string, [unknown, string]>> => {
      const { stdout, stderr } = await postern(folder, [...args, 'config', 'print', '--json'], given)
      assert.equal(stderr, '')
      assert.doesNotMatch(stdout, /hidden|kept in/)
      const rows = JSON.parse(stdout) as { name: string; value: unknown; origin: string }[]
      return new Map(rows.map(({ name, value, origin }) => [name, [value, origin]]))
    }
    const settings = await shown()
    assert.deepEqual(settings.get('PORT'), ['4000', '.env file'])
    assert.deepEqual(settings.get('HOST'), ['127.0.0.1', 'environment'])
    assert.deepEqual(settings.get('ADMIN_API_KEY'), ['[redacted]', 'ADMIN_API_KEY_FILE'])
    assert.deepEqual(settings.get('ALLOW_PRIVATE_NETWORK'), ['true', 'demo mode'])
    assert.deepEqual(settings.get('RATE_LIMIT'), ['on', 'default'])
    assert.deepEqual(settings.get('GITHUB_CLIENT_ID'), ['abc', '.env file'])
    assert.deepEqual(settings.get('GITHUB_CLIENT_SECRET'), ['[redacted]', 'environment'])
    assert.match(String(settings.get('DATABASE_URL')![0]), /localhost/)
    const named = await shown('--env-file', 'other.env')
    assert.deepEqual(named.get('LOG_LEVEL'), ['warn', '--env-file'])
    assert.deepEqual(named.get('PORT'), ['3000', 'default'])
  })

  test('a value of a file that a # cuts short is refused, and named', async () => {
    const print = async (line: string): Promise<string> => {
      writeFileSync(join(folder, 'marks.env'), `HOST=127.0.0.2\n${line}\nPORT=4000\n`)
      const { code, stdout, stderr } = await postern(folder, ['--env-file', 'marks.env', 'config', 'print'])
      return code === 0 ? stdout : stderr
    }
    for (const line of ['BRAND_COLOR=#7a3cff', 'BRAND_COLOR=red#7a3cff', 'export BRAND_COLOR = a#b'])
      assert.match(
        await print(line),
        /^marks\.env cannot be read: the value of BRAND_COLOR has a # that is not in quotes/,
        line,
      )
    assert.match(await print('BRAND_COLOR="#7a3cff" # violet'), /BRAND_COLOR +#7a3cff/)
    assert.match(await print('BRAND_NAME=Shop # of ours\n# BRAND_COLOR=#7a3cff'), /BRAND_NAME +Shop /)
  })

  test('check tells all that is wrong with settings and module, as the start does', async () => {
    writeFileSync(join(folder, 'broken.ts'), 'export default { receiving: { sources: { shop: {} } } }')
    const env = { PORT: 'x', POSTERN_CONFIG: 'broken.ts', POSTERN_SECRET_FILE: 'nowhere' }
    const { code, stdout } = await postern(folder, ['config', 'check'], env)
    assert.equal(code, 1)
    for (const part of ['PORT is wrong', 'receiving.sources.shop is no scheme', 'POSTERN_SECRET_FILE names'])
      assert.ok(stdout.includes(part), `${part} in\n${stdout}`)
    assert.match(stdout, /3 faults\n$/)
    const printed = await postern(folder, ['config', 'print'], env)
    assert.equal(printed.code, 1)
    assert.match(printed.stdout, /^HOST +127/m)
    assert.match(printed.stderr, /2 settings cannot be used: see `postern config check`/)
    assert.equal((await postern(folder, ['config', 'check'], { PORT: '1' })).code, 0)
  })
})
