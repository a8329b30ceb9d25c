// Settings that are right in form and weak all the same: production names them at once, the start and doctor warn.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { postern } from './command.ts'
import { startCommand } from '../harness/program.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const strong = {
  NODE_ENV: 'production',
  BASE_URL: 'http://127.0.0.1:3000',
  PORT: '0',
  POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
  WEBHOOK_SECRET: 'test-webhook-secret',
  ADMIN_API_KEY: 'pk_test_admin_key_0123456789',
}

describe('weak settings in production', () => {
  const home = temporaryFolder()

  /** Starts the service, waits until it is ready or has ended, and gives what it wrote. */
  async function start(env: Record<string, string>): Promise<{ ready: boolean; output: string }> {
    const program = startCommand(home, ['serve'], env)
    await program.shows('"ready"').catch(() => program.ended)
    await program.stop()
    return { ready: program.output().includes('"ready"'), output: program.output() }
  }

  test('refused ones are reported together with weak secrets of the configuration module', async () => {
    const file = join(home, 'weak.config.ts')
    await writeFile(
      file,
      `import { defineConfig, hmac } from 'postern'
       export default defineConfig({ receiving: { sources: { shop: hmac({ header: 'x-signature', secret: 'shop' }) } } })`,
    )
    const { ready, output } = await start({
      ...strong,
      BASE_URL: 'http://gate.example.com',
      POSTERN_SECRET: 'a'.repeat(32),
      WEBHOOK_SECRET: 'b',
      ADMIN_API_KEY: 'k'.repeat(16),
      POSTERN_CONFIG: file,
    })
    assert.equal(ready, false, output)
    for (const fault of [
      /BASE_URL is wrong: expected https/,
      /POSTERN_SECRET has only 1 different character/,
      /WEBHOOK_SECRET is shorter than 6 bytes/,
      /ADMIN_API_KEY has only 1 different character/,
      /receiving\.sources\.shop has a secret that is shorter than 6 bytes/,
    ])
      assert.match(output, fault)
    assert.equal(output.match(/WEBHOOK_SECRET is/g)!.length, 1, 'once')
    assert.doesNotMatch(output, /aaaa|kkkk/)
  })

  test('tolerated ones are warnings at the start and in doctor', async () => {
    const env = { ...strong, WEBHOOK_SECRET: 'short-one', ADMIN_API_KEY: 'pk_0123456789abcdef' }
    const { ready, output } = await start(env)
    assert.ok(ready, output)
    const { code, stdout } = await postern(home, ['doctor'], env)
    assert.equal(code, 0, stdout)
    for (const told of [output, stdout]) {
      assert.match(told, /WEBHOOK_SECRET is shorter than 16 bytes/)
      assert.match(told, /ADMIN_API_KEY is a sequence of characters/)
    }
    assert.match(stdout, /^! BASE_URL: uses http on loopback/m)
  })

  test('strong ones give no warning', async () => {
    const { ready, output } = await start(strong)
    assert.ok(ready, output)
    assert.doesNotMatch(output, /"level":"?(?:40|warn)/)
  })
})
