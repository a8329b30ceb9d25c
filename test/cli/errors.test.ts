import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { freePort, startReceiver, temporaryFolder } from '#test/harness/index.ts'
import { postern } from './command.ts'

/** A mistake is told in a sentence: without a stack, and without the heading of another matter. */
describe('error messages of commands', () => {
  const home = temporaryFolder()

  async function fails(
    args: string[],
    wanted: RegExp,
    env: Record<string, string> = {},
    expected = 1,
  ): Promise<void> {
    const { code, stdout, stderr } = await postern(home, args, env)
    assert.equal(code, expected, stdout)
    assert.match(stderr, wanted)
    assert.doesNotMatch(stderr, /^\s+at |the configuration is invalid/m)
  }

  /** The command line is wrong. */
  const refuses = (args: string[], wanted: RegExp, env = {}): Promise<void> => fails(args, wanted, env, 2)

  test('a command line that is wrong: what was meant, and where help is', async () => {
    const help = 'Add --help for the commands and options'
    await refuses(
      ['doctr'],
      new RegExp(`^error: unknown command 'doctr'\\n\\(Did you mean doctor\\?\\)\\n${help}`),
    )
    await refuses(['frob'], new RegExp(`^error: unknown command 'frob'\\n${help}`))
    await refuses(['keys', 'list', '--frob'], new RegExp(`^error: unknown option '--frob'\\n${help}`))
    await fails(['--env-file', 'nofile', 'doctor'], /^nofile cannot be read: it does not exist$/m)
  })

  test('send: no server at the address', async () => {
    const url = `http://127.0.0.1:${await freePort()}/webhooks/provider`
    await fails(['send', url, '--secret', 's'], new RegExp(`${url} does not respond: .*ECONNREFUSED`))
  })

  test('send: invalid data, unknown source, missing address, missing secret', async () => {
    const url = 'http://127.0.0.1:9/'
    await refuses(['send', url, '--data', 'nojson'], /^--data is not JSON/)
    await fails(['send', url, '--data', '@nope.json'], /^Cannot open nope\.json: it does not exist/)
    await refuses(['send', url, '--source', 'nope'], /^--source takes provider, .*\bstripe\b/)
    await refuses(['send', 'nope'], /^nope is not a URL/)
    await fails(['send', url], /^The secret is missing: .*data\/demo-secrets\.json/)
    await fails(['send', url], /^The secret is missing: .* It is not set\.$/m, { NODE_ENV: 'production' })
  })

  test('send and listen generate no secrets; send uses existing ones', async () => {
    const folder = join(home, 'client')
    await mkdir(folder)
    await postern(folder, ['send', 'http://127.0.0.1:9/'])
    await postern(folder, ['listen', '--port', '0'])
    assert.ok(!existsSync(join(folder, 'data')), 'a client leaves nothing behind')

    await mkdir(join(folder, 'data'))
    const secrets = {
      POSTERN_SECRET: 'x'.repeat(32),
      WEBHOOK_SECRET: 'kept',
      ADMIN_API_KEY: 'pk_0123456789ab',
    }
    await writeFile(join(folder, 'data/demo-secrets.json'), JSON.stringify(secrets))
    const receiver = await startReceiver()
    const sent = await postern(folder, ['send', receiver.url])
    await receiver.close()
    assert.equal(sent.code, 0, sent.stderr)
    assert.match(String(receiver.calls[0]!.headers['x-signature']), /^[0-9a-f]{64}$/)
  })

  test('unreadable secrets of demo mode are reported with their file', async () => {
    const folder = join(home, 'broken')
    await mkdir(join(folder, 'data'), { recursive: true })
    await writeFile(join(folder, 'data/demo-secrets.json'), '{"POSTERN_SECRET":')
    const { code, stderr } = await postern(folder, ['serve'], { PORT: '0' })
    assert.equal(code, 1)
    assert.match(stderr, /data\/demo-secrets\.json must hold the generated secrets/)
  })

  test('listen: no service to register at, an invalid or used port', async () => {
    const env = { ADMIN_API_KEY: 'pk_0123456789abcdef', BASE_URL: `http://127.0.0.1:${await freePort()}` }
    await fails(['listen', '--port', '0'], /\/subscribers does not respond: .*ECONNREFUSED/, env)
    await refuses(['listen', '--port', 'x'], /^--port takes a number/, env)
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const port = String((taken.address() as AddressInfo).port)
    await fails(['listen', '--port', port, '--secret', 'whsec_x'], /^Cannot listen on port \d+ .*--port/, env)
    taken.close()
  })

  test('keys: unknown key, invalid role, invalid expiry', async () => {
    await fails(['keys', 'revoke', 'nope'], /^there is no valid key nope$/m)
    await refuses(['keys', 'create', 'a', '--role', 'root'], /^--role takes user or admin, not root$/m)
    await refuses(['keys', 'create', 'a', '--role', 'admin', '--expires', 'soon'], /^--expires takes 12h/)
    await refuses(['keys', 'create', 'a'], /^the key would have no scope\. .*--scope events:write/)
    await refuses(
      ['keys', 'create', 'a', '--scope', 'events:all'],
      /^events:all is not a scope\. .*operate, admin/,
    )
  })

  test('import: missing file, unknown kind', async () => {
    await fails(['import', 'products', '/nope.csv'], /^there is no file \/nope\.csv$/m)
    await refuses(
      ['import', 'things', '/nope.csv'],
      /^there is no list things to import into: use one of users, products, posts$/m,
    )
  })

  test('replay: reports that there is nothing to do, without a progress bar', async () => {
    for (const what of ['events', 'deliveries']) {
      const { code, stdout, stderr } = await postern(home, ['replay', what])
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^There are no failed (events|deliveries) to .+\.\n$/)
      assert.equal(stderr, '')
    }
  })

  test('an unreachable PostgreSQL is reported with its setting, without the password', async () => {
    const port = await freePort()
    for (const command of [['migrate'], ['serve']])
      await fails(command, /DATABASE_URL \(postgres:\/\/\[redacted\]@localhost:\d+\/gate\) .*ECONNREFUSED/, {
        DATABASE_URL: `postgres://me:h@sh@localhost:${port}/gate?application_name=y`,
      })
  })

  test('an invalid DATABASE_URL is reported once', async () => {
    const { stderr } = await postern(home, ['migrate'], { DATABASE_URL: 'mysql://x' })
    assert.match(
      stderr,
      /DATABASE_URL is wrong: expected an address that begins with sqlite: or postgres:\/\/$/m,
    )
  })

  test('a file that is no database, or not readable, is reported with its path', async () => {
    await writeFile(
      join(home, 'text.db'),
      'this is no database, and longer than its header would be. '.repeat(5),
    )
    await fails(['migrate'], /DATABASE_URL \(sqlite:text\.db\) cannot be used: file is not a database/, {
      DATABASE_URL: 'sqlite:text.db',
    })
  })

  const everythingIsAllowed =
    (process.getuid?.() === 0 || process.platform === 'win32') && 'this user may write to every folder'
  test(
    'a folder without permission is not reported as a problem of the port',
    { skip: everythingIsAllowed },
    async () => {
      const locked = join(home, 'locked')
      await mkdir(locked)
      await chmod(locked, 0o500)
      await fails(['migrate'], /^Cannot mkdir .*locked\/data: .*permission denied/, {
        DATABASE_URL: `sqlite:${locked}/data/postern.db`,
      })
      await chmod(locked, 0o700)
    },
  )
})
