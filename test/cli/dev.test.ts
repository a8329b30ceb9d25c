import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freePort, startReceiver, temporaryFolder } from '../harness/index.ts'
import { startCommand } from '../harness/program.ts'
import { eventually } from '../receiving/harness.ts'
import { postern } from './command.ts'

const folder = temporaryFolder()

test('postern dev --forward posts the events of all sources, signed, and tries again until 2xx', async () => {
  writeFileSync(
    join(folder, 'postern.config.ts'),
    `import { defineConfig, stripe } from 'postern'
     export default defineConfig({ receiving: {
       sources: { stripe: stripe({ secret: 'of stripe, long enough' }) },
       handlers: { '*': () => { throw new Error('the handlers do not run') } },
     } })`,
  )
  const receiver = await startReceiver(500)
  const port = String(await freePort())
  const env = {
    PORT: port,
    HANDLER_RETRY_SCHEDULE: `0${',1'.repeat(40)}`,
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'warn',
  }
  const program = startCommand(folder, ['dev', '--forward', receiver.url], env)
  try {
    const secret = await eventually(
      () => /forwarded to \S+, signed with (whsec_\S+)\n/.exec(program.output())?.[1],
    )
    for (const [source, type] of [
      ['stripe', 'invoice.paid'],
      ['provider', 'order.paid'],
    ] as const) {
      const sent = await postern(folder, ['trigger', source, type], env)
      assert.equal(sent.code, 0, sent.stdout + sent.stderr)
    }
    await receiver.waitFor(3)
    receiver.answer(204)
    const verified = (): Set<string> =>
      new Set(
        receiver.calls.map(({ body, headers }) => {
          const event = new Webhook(secret).verify(body, headers as Record<string, string>)
          return `${String(headers['webhook-source'])} ${(event as { type: string }).type}`
        }),
      )
    await eventually(() => verified().size === 2)
    assert.deepEqual(verified(), new Set(['stripe invoice.paid', 'provider order.paid']))
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/events`)
      const { data } = (await response.json()) as { data: { status: string }[] }
      return data.length === 2 && data.every(({ status }) => status === 'processed')
    })
  } finally {
    await program.stop()
    await receiver.close()
  }
})

test('--forward is refused in production and for what is no address', async () => {
  const production = await postern(folder, ['serve', '--forward', 'http://127.0.0.1:9'], {
    NODE_ENV: 'production',
    BASE_URL: 'https://gate.example.com',
    POSTERN_SECRET: 'a-master-secret-of-32-bytes-or-more',
    WEBHOOK_SECRET: 'a-webhook-secret-of-this-test',
    PORT: '0',
  })
  assert.equal(production.code, 1)
  assert.match(production.stderr, /--forward is for development: in production set forwardTo/)
  const wrong = await postern(folder, ['serve', '--forward', 'nowhere'], { PORT: '0' })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /--forward has a forwardTo that cannot be used/)
})
