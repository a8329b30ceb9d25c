// `postern keys`: what a key is given, what the list shows, what ends.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { onEachEngine, startedService, temporaryFolder } from '../harness/index.ts'
import { postern, type Ended } from './command.ts'

onEachEngine('postern keys', (engine) => {
  const home = temporaryFolder()
  const service = startedService(engine)
  const run = (...args: string[]): Promise<Ended> =>
    postern(home, args, { DATABASE_URL: service.databaseUrl, POSTERN_SECRET: 'x'.repeat(32) })
  const status = async (key: string, path: string, method = 'GET'): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` }
    return (await service.fetch(path, { method, headers })).status
  }

  test('create, list and revoke: repeated, comma-separated and wildcard scopes', async () => {
    const args = ['--scope', 'events:write,subscribers:*', '--scope', 'events:write', '--expires', '90d']
    const { code, stdout, stderr } = await run('keys', 'create', 'shop', ...args)
    assert.equal(code, 0, stderr)
    const granted = 'events:write subscribers:read subscribers:write'
    const [, id = ''] = /^Created key (\S+) with the scopes (.*)\. Copy/.exec(stderr) ?? []
    assert.ok(stderr.includes(`with the scopes ${granted}.`), stderr)
    const key = stdout.trim()
    assert.equal(await status(key, '/subscribers'), 200)
    assert.equal(await status(key, '/audit'), 403)
    const listed = (await run('keys', 'list')).stdout.split('\n').find((line) => line.startsWith(id))
    assert.ok(listed?.includes(granted), listed ?? 'not listed')
    assert.equal((await run('keys', 'revoke', id)).code, 0)
    assert.equal(await status(key, '/subscribers'), 401)
    assert.match((await run('keys', 'list')).stdout, new RegExp(`^${id}.*revoked$`, 'm'))
  })

  test('a key can have the scopes that rules of forward authentication name, and no made-up one', async () => {
    const POSTERN_CONFIG = join(home, 'rules.config.mjs')
    const programs = { scopes: ['orders:read'] }
    const forwardAuth = { hosts: { 'api.example.com': { allow: 'signed-in', programs } } }
    writeFileSync(POSTERN_CONFIG, `export default ${JSON.stringify({ forwardAuth })}`)
    const env = { DATABASE_URL: service.databaseUrl, POSTERN_SECRET: 'x'.repeat(32), POSTERN_CONFIG }
    const make = (scope: string) => postern(home, ['keys', 'create', 'program', '--scope', scope], env)
    const { stdout, stderr } = await make('orders:read,operate')
    assert.match(stderr, /with the scopes orders:read operate\./)
    assert.equal(await status(stdout.trim(), '/metrics'), 200)
    assert.equal(await status(stdout.trim(), '/audit'), 403)
    const wrong = await make('orders:write')
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /orders:write is not a scope.* rules of forwardAuth: orders:read/s)
  })

  test('the role admin is the scope admin', async () => {
    const { stdout, stderr } = await run('keys', 'create', 'ops', '--role', 'admin')
    assert.match(stderr, /with the scopes admin\./)
    assert.equal(await status(stdout.trim(), '/audit'), 200)
    const { stderr: user } = await run('keys', 'create', 'metrics', '--role', 'user', '--scope', 'operate')
    assert.match(user, /with the scopes operate\./)
  })

  test('the role user without a scope reads lists; the list of keys shows the roles', async () => {
    const { stdout, stderr } = await run('keys', 'create', 'reader', '--role', 'user')
    assert.match(stderr, /with the scopes lists:read\./)
    const key = stdout.trim()
    assert.equal(await status(key, '/lists'), 200)
    assert.equal(await status(key, '/audit'), 403)
    assert.equal((await run('keys', 'create', 'nothing')).code, 2)
    await run('keys', 'create', 'chief', '--role', 'admin')
    const { stdout: table } = await run('keys', 'list')
    assert.match(table, /^id +name +role +scopes/m)
    assert.match(table, /reader +user +lists:read/)
    assert.match(table, /chief +admin +admin/)
  })

  test('doctor names keys with all rights and no expiry, and no others', async () => {
    const made = async (...args: string[]): Promise<string> => {
      const { stderr } = await run('keys', 'create', 'for the doctor', ...args)
      return /^Created key (\S+) /.exec(stderr)![1]!
    }
    const wide = await made('--scope', 'admin')
    const others = [
      await made('--scope', 'users:write'),
      await made('--scope', 'admin', '--expires', '1h'),
      await made('--scope', 'events:read,events:write'),
    ]
    const warning = (await run('doctor')).stdout.split('\n').find((line) => line.startsWith('! API keys'))
    assert.ok(warning?.includes(wide), warning ?? 'no warning')
    for (const other of others) assert.ok(!warning?.includes(other))
  })

  test('the help explains every scope', async () => {
    const { stdout } = await run('keys', 'create', '--help')
    assert.match(stdout, /^ {2}events:write +Emit events\.$/m)
  })
})
