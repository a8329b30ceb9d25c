import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { inspectEnvironment } from './environment.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'

describe('settings in files', () => {
  const folder = temporaryFolder()
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  test('NAME_FILE holds the value of NAME, for each setting and for identity providers', () => {
    const { configuration, faults } = inspectEnvironment({
      WEBHOOK_SECRET_FILE: file('webhook', 'from a file\n'),
      PORT_FILE: file('port', '4711\r\n'),
      GITHUB_CLIENT_ID: 'id',
      GITHUB_CLIENT_SECRET_FILE: file('github', 'hidden'),
      APPLE_CLIENT_ID_FILE: file('apple', 'app'),
      APPLE_PRIVATE_KEY_FILE: file('key', 'pem\n'),
      OTHER_FILE: '/nowhere',
      SSL_CERT_FILE: '/nowhere',
    })
    assert.deepEqual(faults, [])
    assert.deepEqual(configuration.webhookSecrets, ['from a file'])
    assert.equal(configuration.port, 4711)
    const [github, apple] = configuration.providers.toSorted((a, b) => (a.name < b.name ? 1 : -1))
    assert.equal(github!.clientSecret, 'hidden')
    assert.equal(github!.own, undefined)
    assert.deepEqual([apple!.clientId, apple!.own], ['app', { PRIVATE_KEY: 'pem' }])
  })

  test('exactly one trailing newline is removed', () => {
    const { configuration } = inspectEnvironment({
      POSTERN_SECRET_FILE: file('lines', `${'x'.repeat(32)}\n\n`),
      ADMIN_API_KEY_FILE: file('empty', '\n'),
    })
    assert.deepEqual(configuration.masterSecrets, ['x'.repeat(32)])
    assert.equal(configuration.adminApiKey, undefined, 'an empty file counts as absent')
  })

  test('both, a missing file, a folder and a large file are faults, told once', () => {
    const { faults } = inspectEnvironment({
      NODE_ENV: 'production',
      BASE_URL: 'https://gate.example.com',
      WEBHOOK_SECRET: 'a-webhook-secret',
      WEBHOOK_SECRET_FILE: file('both', 'x'),
      POSTERN_SECRET_FILE: '/nowhere/secret',
      ADMIN_API_KEY_FILE: folder,
      PORT_FILE: file('large', '1'.repeat(65_537)),
    })
    assert.equal(faults.length, 4, faults.join('\n'))
    assert.equal(faults[0], 'WEBHOOK_SECRET and WEBHOOK_SECRET_FILE are both set: remove one of them')
    assert.match(faults[1]!, /^POSTERN_SECRET_FILE names \/nowhere\/secret, which cannot be read: ENOENT/)
    assert.match(faults[2]!, /^ADMIN_API_KEY_FILE names .*, which is not a file$/)
    assert.match(faults[3]!, /^PORT_FILE names .*large, which is larger than 64 KiB$/)
  })
})
