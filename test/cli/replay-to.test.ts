import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { adminKey, engines, listening, startedService, webhookSecret } from '#test/harness/index.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'
import { samples } from '../../src/receiving/samples/index.ts'
import { github, stripe, type ReceivedEvent } from '../../src/index.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { dataOf } from '../emitting/harness.ts'
import { postern, startPostern } from './command.ts'

describe('postern replay --to', () => {
  const folder = temporaryFolder()
  const received: ReceivedEvent[] = []
  const remote = startedService(engines[0]!, () => ({
    env: { HANDLER_RETRY_SCHEDULE: '0' },
    config: {
      receiving: {
        sources: { shop: stripe({ secret: 'of the remote' }), code: github({ secret: 'of the remote' }) },
        handlers: {
          '*': () => {
            throw new Error('broken')
          },
        },
      },
    },
  }))
  const local = startedService(engines[0]!, () => ({
    config: {
      receiving: {
        sources: { shop: stripe({ secret: 'of this machine' }) },
        handlers: { '*': (event) => void received.push(event) },
      },
    },
  }))
  before(async () => {
    writeFileSync(
      join(folder, 'postern.config.ts'),
      `import { defineConfig, stripe } from 'postern'
       export default defineConfig({ receiving: { sources: { shop: stripe({ secret: 'of this machine' }) } } })`,
    )
    const send = async (source: string, preset: string, secret: string, id: string, data: unknown) => {
      const { headers, body } = samples[preset]!({ type: 'order.paid', secret, id, now: Date.now(), data })
      const all = { 'content-type': 'application/json', 'x-sent-by': 'shop "payload":', ...headers }
      const response = await remote.fetch(`/webhooks/${source}`, { method: 'POST', headers: all, body })
      assert.equal(response.status, 200)
    }
    await send('shop', 'stripe', 'of the remote', 'a1', { n: '","payload":{', client_secret: 'hidden' })
    await send('provider', 'provider', webhookSecret, 'b2', { order: 1 })
    await send('code', 'github', 'of the remote', 'c3', {})
    await eventually(async () => (await failedOnes()).length === 3)
  })
  const failedOnes = () => dataOf<object>(remote, '/events/failed')
  const command = (to: string, ...more: string[]): string[] => {
    const given = ['--to', to, '--from', remote.baseUrl, '--key', adminKey]
    return ['replay', ...given, ...more]
  }
  const env = { WEBHOOK_SECRET: webhookSecret }

  test('brings failed events with body, headers and a new signature; tells what it could not bring', async () => {
    const counted = await postern(folder, command(local.baseUrl, '--dry-run'), env)
    assert.equal(counted.stderr, '')
    assert.match(counted.stdout, /^3 events would be sent to http/)
    const { code, stdout, stderr } = await postern(folder, command(local.baseUrl), env)
    assert.equal(code, 3, stderr)
    assert.equal(stdout, '2 of 3 events sent\n1 events could not be sent\n')
    assert.match(stderr, /^event \d+ of code: there is no source code/)
    await eventually(() => received.length === 2)
    const [shop, provider] = received.toSorted((a, b) => (a.source < b.source ? 1 : -1))
    assert.deepEqual([shop!.id, shop!.type, shop!.source], ['evt_a1', 'order.paid', 'shop'])
    assert.match(shop!.raw.toString(), /"n":"\\",\\"payload\\":\{","client_secret":"\[redacted\]"/)
    assert.equal(shop!.headers['x-sent-by'], 'shop "payload":')
    assert.equal(provider!.raw.toString(), '{"id":"b2","type":"order.paid","data":{"order":1}}')
  })

  test('filters choose, --json tells the numbers, and a body keeps its digits', async () => {
    const body = '{"id":"big","type":"order.paid","data":12345678901234567890.10}'
    await postWebhook(remote, body)
    await eventually(async () => (await failedOnes()).length === 4)
    const given = command(local.baseUrl, '--source', 'provider', '--json')
    const { code, stdout } = await postern(folder, given, env)
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout), { total: 2, sent: 2, failed: 0 })
    await eventually(() => received.some(({ raw }) => raw.toString() === body))
    assert.equal(received.filter(({ id }) => id === 'b2').length, 1, 'a second time it is a duplicate')
  })

  test('Ctrl-C stops it, also while an event is under way', async () => {
    let calls = 0
    const slow = createServer((request, response) => {
      calls += 1
      request.resume()
      if (calls === 1) response.writeHead(200).end()
    })
    await using opened = await listening(slow)
    const { child, ended } = startPostern(folder, command(opened.url, '--event-type', 'order.*'), env)
    await eventually(() => calls === 2)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    assert.equal(code, 130)
    assert.match(stdout, /^1 of \d events sent\n$/)
    assert.equal(calls, 2)
  })

  test('an address that does not answer, and missing options, end it at once', async () => {
    const away = await postern(folder, command('http://127.0.0.1:9', '--source', 'provider'), env)
    assert.equal(away.code, 1)
    assert.match(away.stderr, /http:\/\/127\.0\.0\.1:9\/webhooks\/provider does not respond/)
    const without = await postern(folder, ['replay', '--to', local.baseUrl], env)
    assert.deepEqual([without.code, without.stderr.slice(0, 16)], [2, '--to needs --fro'])
    assert.equal((await postern(folder, ['replay'], env)).code, 2)
    assert.equal((await postern(folder, ['replay', 'events', '--key', 'x'], env)).code, 2)
    assert.equal((await postern(folder, ['replay', 'deliveries', '--to', local.baseUrl], env)).code, 2)
  })
})
