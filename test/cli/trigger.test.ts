import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { each, engines, started, startTestService, webhookSecret } from '#test/harness/index.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'
import { discord, slack, stripe } from '../../src/index.ts'
import { postern, type Ended } from './command.ts'

describe('postern trigger', () => {
  const folder = temporaryFolder()
  const service = started(async () => {
    writeFileSync(
      join(folder, 'postern.config.ts'),
      `import { defineConfig, discord, slack, stripe } from 'postern'
       const chat = slack({ secret: 'of slack, long enough' })
       export default defineConfig({ receiving: { sources: {
         stripe: stripe({ secret: 'old-and-unknown-of-stripe' }),
         chat: { ...chat, rateLimit: 5 },
         games: discord({ secret: '${'ab'.repeat(32)}' }),
       } } })`,
    )
    return startTestService(engines[0]!, {
      config: {
        receiving: {
          sources: {
            stripe: stripe({ secret: 'old-and-unknown-of-stripe' }),
            chat: slack({ secret: 'of slack, long enough' }),
            games: discord({ secret: 'ab'.repeat(32) }),
          },
        },
      },
    })
  })
  const trigger = (...args: string[]): Promise<Ended> =>
    postern(folder, ['trigger', ...args], { BASE_URL: service.baseUrl, WEBHOOK_SECRET: webhookSecret })

  test('an id in the form of the sender stays as it is, so that a sample can be sent again', async () => {
    for (const id of ['evt_again', 'again']) {
      const { stderr } = await trigger('stripe', 'invoice.paid', '--id', id)
      assert.match(stderr, /^{"id":"evt_again"/)
    }
  })

  test('says where it sends, before the answer', async () => {
    const { stderr } = await trigger('stripe', 'invoice.paid')
    assert.match(stderr, new RegExp(`^POST ${service.baseUrl}/webhooks/stripe$`, 'm'))
  })

  test('signs with the secret of the source, whatever its name, and sends to its address', async () => {
    for (const [source, type] of [
      ['provider', 'order.paid'],
      ['stripe', 'invoice.paid'],
      ['chat', 'app_mention'],
    ] as const) {
      const { code, stdout, stderr } = await trigger(source, type)
      assert.equal(code, 0, stderr + stdout)
      assert.match(stdout, /^200 /)
    }
    const { data } = (await (await service.admin('/events')).json()) as { data: { type: string }[] }
    assert.deepEqual(each(data.slice(-3), 'type'), ['order.paid', 'invoice.paid', 'app_mention'])
  })

  test('--url names another service or address, and --secret another secret', async () => {
    const { code, stdout } = await trigger(
      'github',
      'issues.opened',
      '--url',
      `${service.baseUrl}/webhooks/stripe`,
      '--secret',
      'wrong',
      '--json',
    )
    assert.equal(code, 1)
    const { url, status } = JSON.parse(stdout) as { url: string; status: number }
    assert.deepEqual([url, status], [`${service.baseUrl}/webhooks/stripe`, 401])
  })

  test('a refused signature is explained: which secret was used, and what to do', async () => {
    const refused = await trigger('stripe', 'invoice.paid', '--secret', 'wrong')
    assert.match(
      refused.stderr,
      /The service rejected the signature\. The secret used here is --secret; .* --secret\./s,
    )
    const sent = await postern(folder, ['send', `${service.baseUrl}/webhooks/provider`], {
      WEBHOOK_SECRET: 'another secret',
    })
    assert.equal(sent.code, 1)
    assert.match(sent.stderr, /The secret used here is WEBHOOK_SECRET of this environment;/)
  })

  test('where nobody answers at the default address, PORT is named', async () => {
    const { code, stderr } = await postern(folder, ['trigger', 'stripe', 'invoice.paid'], { PORT: '9' })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /127\.0\.0\.1:9\/webhooks\/stripe does not respond: .* set PORT to its port, or pass --url\./,
    )
  })

  test('--list shows the sources and all presets', async () => {
    const { stdout } = await trigger('--list')
    assert.match(stdout, /^chat +slack +source of this project$/m)
    assert.match(stdout, /^github +github +pass --secret$/m)
  })

  test('what cannot be signed is refused with a reason', async () => {
    for (const [args, wanted] of [
      [['nope', 'a'], /^there is no source nope.*trigger --list/],
      [['github', 'push'], /^the secret of github is not known here: pass --secret/],
      [['games', 'ENTITLEMENT_CREATE'], /the private key with --secret|would reject this webhook/],
      [['stripe'], /^name a source and a type/],
    ] as const) {
      const { code, stderr } = await trigger(...args)
      assert.equal(code, 2, stderr)
      assert.match(stderr, wanted)
    }
  })

  test('a text as data is the text of a slash command, without quotes', async () => {
    const { stderr } = await trigger('chat', 'slash_command.deploy', '--data', '"production"')
    assert.equal(new URLSearchParams(stderr.trim()).get('text'), 'production')
  })
})
