import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type Program, startCommand } from '../harness/program.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { eventually } from '../receiving/harness.ts'

describe('postern serve', () => {
  const home = temporaryFolder()
  const started: Program[] = []
  after(() => {
    for (const program of started) program.kill('SIGKILL')
  })

  function run(args: string[], env: Record<string, string> = {}): Program {
    const program = startCommand(home, args, { PORT: '0', ...env })
    started.push(program)
    return program
  }

  const address = (output: string): string => /http:\/\/127\.0\.0\.1:\d+/.exec(output)![0]

  test('without settings it runs in demo mode, prints that, and stops cleanly on SIGTERM', async () => {
    const first = run(['serve'])
    await first.shows('demo mode')
    await first.shows('/products')
    assert.match(first.output(), /shown only once/)
    await eventually(async () => (await fetch(`${address(first.output())}/readyz`)).ok)
    first.kill('SIGTERM')
    assert.equal(await first.ended, 0)

    const secrets = await readFile(join(home, 'data/demo-secrets.json'), 'utf8')
    const second = run(['serve'])
    await second.shows('/products')
    second.kill('SIGINT')
    assert.equal(await second.ended, 0)
    assert.equal(await readFile(join(home, 'data/demo-secrets.json'), 'utf8'), secrets, 'kept over restarts')
    const { ADMIN_API_KEY, POSTERN_SECRET } = JSON.parse(secrets) as Record<string, string>
    assert.ok(!second.output().includes(ADMIN_API_KEY!), 'printed once')
    assert.ok(!`${first.output()}${second.output()}`.includes(POSTERN_SECRET!), 'never printed')
    assert.equal((await stat(join(home, 'data/demo-secrets.json'))).mode & 0o077, 0, 'for its owner only')
  })

  test('the command that emits an event works in a shell that does not know the variables of .env', async () => {
    const file = join(home, 'shop.env')
    await writeFile(file, 'ADMIN_API_KEY=pk_of_the_file_0123456789\n')
    const service = run(['--env-file', file, 'serve'])
    await service.shows('/products')
    const printed = /Bearer (\$\(.*\))"/.exec(service.output())?.[1]
    assert.equal(
      execFileSync('sh', ['-c', `printf %s "${printed}"`], { encoding: 'utf8' }),
      'pk_of_the_file_0123456789',
    )
    service.kill('SIGTERM')
    assert.equal(await service.ended, 0)
  })

  test('a project gets its own addresses instead of the samples', async () => {
    const config = join(home, 'shop.config.ts')
    await writeFile(
      config,
      `import { defineConfig, stripe } from 'postern'
       export default defineConfig({ receiving: { sources: { shop: stripe({ secret: 'of stripe, long enough' }) } } })`,
    )
    const service = run(['serve'], { POSTERN_CONFIG: config })
    await service.shows('npx postern trigger shop')
    assert.match(service.output(), /Webhooks +http:\/\/127\.0\.0\.1:\d+\/webhooks\/shop\n/)
    assert.doesNotMatch(service.output(), /sample data|subscriber that is down/)
    service.kill('SIGTERM')
    assert.equal(await service.ended, 0)
  })

  test('production has no demo provider, no open lists and no banner', async () => {
    const service = run(['serve'], {
      NODE_ENV: 'production',
      BASE_URL: 'https://gate.example.com',
      POSTERN_SECRET: 'a-master-secret-of-32-bytes-or-more',
      WEBHOOK_SECRET: 'a-webhook-secret',
      DATABASE_URL: `sqlite:${join(home, 'production.db')}`,
      SHUTDOWN_DELAY: '300',
    })
    await service.shows('"ready"')
    const port = /Server listening at http:\/\/127\.0\.0\.1:(\d+)/.exec(service.output())![1]
    const status = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' })).status
    assert.equal(await status('/auth/demo'), 404)
    assert.equal(await status('/demo-idp/.well-known/openid-configuration'), 404)
    assert.equal(await status('/users'), 401)
    assert.equal(await status('/events'), 401)
    assert.equal(await status('/products'), 200)
    assert.doesNotMatch(service.output(), /demo mode|a-master-secret/)

    service.kill('SIGTERM')
    await service.shows('"stopping"')
    const readiness = await fetch(`http://127.0.0.1:${port}/readyz`)
    assert.equal(readiness.status, 503)
    assert.equal(readiness.headers.get('connection'), 'close')
    assert.equal(((await readiness.json()) as { status: string }).status, 'stopping')
    assert.equal(await status('/products'), 200, 'it still serves')
    // A signal a second after the first one ends the delay; until then they are the same request.
    const repeated = setInterval(() => service.kill('SIGTERM'), 200)
    try {
      assert.equal(await service.ended, 0)
    } finally {
      clearInterval(repeated)
    }
  })

  test('a used port is reported in a message', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const refused = run(['serve'], { PORT: String((taken.address() as { port: number }).port) })
    assert.equal(await refused.ended, 1)
    assert.match(refused.output(), /^Port \d+ is taken: stop the other program/m)
    assert.doesNotMatch(refused.output(), /at .*\.ts:/)
    taken.close()
  })

  test('a host without an address is named as such, and not taken for a fault of the database', async () => {
    const env = {
      NODE_ENV: 'production',
      HOST: '999.1.1.1',
      BASE_URL: 'http://127.0.0.1:3000',
      WEBHOOK_SECRET: 'k3'.repeat(10) + 'abcdefg',
    }
    const secrets = { POSTERN_SECRET: 'x7'.repeat(16) + 'abcdefghij', DATABASE_URL: 'sqlite:data/host.db' }
    const refused = run(['serve'], { ...env, ...secrets })
    assert.equal(await refused.ended, 1)
    assert.match(refused.output(), /^ {2}- HOST cannot be resolved to an address of this machine: /m)
    assert.doesNotMatch(refused.output(), /DATABASE_URL \(/)
  })
})
