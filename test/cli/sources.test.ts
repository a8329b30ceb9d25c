import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { engines, startReceiver, startTestService, temporaryFolder } from '../harness/index.ts'
import { github } from '../../src/index.ts'
import { settled } from '../receiving/harness.ts'
import { postern } from './command.ts'

const folder = temporaryFolder()

test('lists sources, and on request the secrets that sign forwarded webhooks', async () => {
  await using receiver = await startReceiver(204)
  const secret = 'of-github'
  const env = {
    POSTERN_SECRET: randomBytes(32).toString('base64'),
    WEBHOOK_SECRET: 'of-the-provider',
    DATABASE_URL: `sqlite:${join(folder, 'postern.db')}`,
  }
  await writeFile(
    join(folder, 'postern.config.ts'),
    `import { defineConfig, github } from 'postern'
     const code = github({ secret: '${secret}', forwardTo: '${receiver.url}' })
     export default defineConfig({ receiving: { sources: { code } } })`,
  )
  const listed = await postern(folder, ['sources'], env)
  assert.equal(listed.stderr, '')
  assert.match(listed.stdout, /^provider +hmac +\/webhooks\/provider$/m)
  assert.match(listed.stdout, new RegExp(`^code +github +/webhooks/code +${receiver.url}$`, 'm'))
  assert.doesNotMatch(listed.stdout, /whsec_|of-/)
  const shown = /whsec_\S+/.exec((await postern(folder, ['sources', '--secrets'], env)).stdout)?.[0]
  assert.ok(shown)

  const service = await startTestService(engines[0]!, {
    env: { POSTERN_SECRET: env.POSTERN_SECRET },
    config: { receiving: { sources: { code: github({ secret, forwardTo: receiver.url }) } } },
  })
  try {
    const body = '{"action":"opened"}'
    const response = await service.fetch('/webhooks/code', {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': 'issues',
        'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
    })
    assert.equal(response.status, 200)
    await settled(service.database)
  } finally {
    await service.close()
  }
  const [call] = receiver.calls
  assert.ok(call)
  new Webhook(shown).verify(call.body, call.headers as Record<string, string>)
  assert.equal(call.headers['x-github-event'], 'issues')
  assert.equal(call.headers['webhook-type'], 'issues.opened')
})
