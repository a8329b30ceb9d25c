// `postern clients`: what it makes authenticates at a running service, and what it ends no longer does.
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { each, onEachEngine, rowsOf, startedService, temporaryFolder } from '../harness/index.ts'
import { token } from '../oauth2/harness.ts'
import { postern, type Ended } from './command.ts'

onEachEngine('postern clients', (engine) => {
  const home = temporaryFolder()
  const service = startedService(engine)
  const run = (...args: string[]): Promise<Ended> =>
    postern(home, ['clients', ...args], { DATABASE_URL: service.databaseUrl, POSTERN_SECRET: 'x'.repeat(32) })
  const status = async (id: string, secret: string): Promise<number> => {
    const fields = { grant_type: 'client_credentials', client_id: id, client_secret: secret }
    return (await token(service, fields)).status
  }

  test('create, list, rotate and delete', async () => {
    const args = ['--client-credentials', '--scope', 'subscribers:read', '--scope', 'openid']
    const made = await run('create', 'Job', ...args)
    assert.equal(made.code, 0, made.stderr)
    const [id = '', first = ''] = made.stdout.trim().split('\n')
    assert.equal(await status(id, first), 200)
    assert.match((await run('list')).stdout, new RegExp(`^${id} +Job`, 'm'))

    const rotated = await run('rotate-secret', id, '--overlap', '0')
    const [, second = ''] = rotated.stdout.trim().split('\n')
    assert.deepEqual([await status(id, first), await status(id, second)], [401, 200])

    assert.equal((await run('delete', id)).code, 0)
    assert.equal(await status(id, second), 401)
    assert.equal((await run('delete', id)).code, 1)
    const rows = await rowsOf(service, 'audit_log', { target: `app:${id}`, actor: 'cli' }, 'seq')
    assert.deepEqual(each(rows, 'action'), ['client.created', 'client.secret_created', 'client.deleted'])
  })

  test('an app of the configuration module is changed there', async () => {
    const module = join(home, 'postern.config.ts')
    await writeFile(
      module,
      "export default { login: { clients: [{ id: 'spa', redirectUris: ['https://a.example/'] }] } }\n",
    )
    const { code, stderr } = await run('delete', 'spa')
    await rm(module)
    assert.equal(code, 1)
    assert.match(stderr, /declared in the configuration module/)
  })

  test('a wrong setting is refused as by the API', async () => {
    const { code, stderr } = await run('create', 'Bad', '--redirect-uri', 'javascript:alert(1)')
    assert.equal(code, 1)
    assert.match(stderr, /must not have the scheme javascript:/)
    assert.equal((await run('rotate-secret', 'app_unknown', '--overlap', 'x')).code, 2)
  })
})
