import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ConfigurationError } from '../../src/config/environment.ts'
import { inspectConfiguration, readConfiguration } from '../../src/diagnostics/configuration.ts'
import { postern } from './command.ts'
import { each, temporaryFolder } from '../harness/index.ts'

describe('all configuration errors are reported at once', () => {
  const home = temporaryFolder()

  async function module(name: string, text: string): Promise<string> {
    const file = join(home, name)
    await writeFile(file, text)
    return file
  }
  const secrets = { POSTERN_SECRET: 'x'.repeat(32), WEBHOOK_SECRET: 's3cret', ADMIN_API_KEY: 'k'.repeat(16) }

  test('missing settings, half of a provider and a faulty module in one error', async () => {
    const file = await module(
      'faulty.ts',
      `import { defineConfig } from 'postern'
       export default defineConfig({
         login: { events: ['user.gone'], onSignIn: 7, providers: { okta: { clientId: 'x' } } },
         receiving: {
           sources: { shop: {} },
           handlers: { 'order.paid': 7, 'order.*': { providerTokens: ['acme'], handle() {} } },
         },
       })`,
    )
    const { code, stderr } = await postern(home, ['serve'], {
      NODE_ENV: 'production',
      POSTERN_CONFIG: file,
      FOO_CLIENT_ID: 'x',
      BAR_AUTH_URL: 'https://bar.example/authorize',
      BAZ_ISSUER: 'https://baz.example',
    })
    assert.equal(code, 1)
    for (const part of [
      'BASE_URL is missing',
      'POSTERN_SECRET is missing',
      'WEBHOOK_SECRET is missing',
      'FOO_CLIENT_ID needs FOO_ISSUER, or FOO_AUTH_URL',
      'BAR_CLIENT_ID is missing',
      'BAR_TOKEN_URL and BAR_PROFILE_URL are missing, or BAR_ISSUER',
      'BAZ_CLIENT_ID is missing',
      'OKTA_DOMAIN',
      'login.onSignIn',
      'login.events: "user.gone"',
      'receiving.sources.shop is no scheme',
      'receiving.handlers["order.paid"] is not a function',
      'receiving.handlers["order.*"] needs tokens of acme',
    ])
      assert.ok(stderr.includes(part), `${part} in\n${stderr}`)
    assert.equal(stderr.match(/WEBHOOK_SECRET is missing/g)!.length, 1, 'once')
  })

  test('a module that does not load is reported with the other errors', async () => {
    const { faults } = await inspectConfiguration({
      ...secrets,
      POSTERN_CONFIG: join(home, 'missing.ts'),
      PORT: 'x',
      FOO_CLIENT_ID: 'x',
    })
    assert.equal(faults.length, 3, faults.join('\n'))
    assert.match(faults[0]!, /^PORT is wrong/)
    assert.match(faults[1]!, /^POSTERN_CONFIG names .*missing\.ts/)
    assert.match(faults[2]!, /^FOO_CLIENT_ID needs .*, unless the configuration module says it$/)
  })

  test('environment and module complete each other', async () => {
    const file = await module(
      'whole.ts',
      `export default { login: { providers: {
         baz: { clientId: 'from the module' },
         'git-work': { preset: 'github', clientId: 'a', clientSecret: 'b', keepTokens: true },
         demo: { keepTokens: true },
       } } }`,
    )
    const env = { ...secrets, POSTERN_CONFIG: file, BAZ_ISSUER: 'https://baz.example' }
    const { faults, providers } = await inspectConfiguration(env)
    assert.deepEqual(faults, [])
    assert.deepEqual(each(providers, 'name'), ['baz', 'git-work'])
    assert.ok((await readConfiguration(env)).config)
    await assert.rejects(readConfiguration({ ...env, BAZ_ISSUER: 'baz' }), ConfigurationError)
  })

  test('a provider with the name of another route is a fault before the start', async () => {
    const variables = {
      SESSIONS_CLIENT_ID: 'x',
      SESSIONS_CLIENT_SECRET: 'y',
      SESSIONS_ISSUER: 'https://s.example',
    }
    const { faults } = await inspectConfiguration({ ...secrets, ...variables })
    assert.deepEqual(faults, [
      'sessions cannot be the name of a provider, since /auth/sessions is another call',
    ])
  })

  test('commands that need no provider run despite provider errors', async () => {
    const env = {
      ...secrets,
      DATABASE_URL: 'sqlite:keys.db',
      FOO_CLIENT_ID: 'x',
      POSTERN_CONFIG: 'missing.ts',
    }
    assert.equal((await postern(home, ['keys', 'list'], env)).code, 0)
  })
})
