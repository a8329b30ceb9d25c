// A webhook as it should be is answered past the framework, everything else by it. Nobody can tell by which: an address
// with a query string takes the ordinary way, and is answered alike.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '../../src/runtime/clock.ts'
import { defineConfig, hmac, twilio, type Scheme } from '../../src/index.ts'
import type { Reply } from '../../src/receiving/schemes/scheme.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService, webhookSecret, type TestService } from '../harness/service.ts'
import { sign } from './harness.ts'
import { freePort } from '../harness/free-port.ts'

interface Answer {
  status: number
  headers: Record<string, unknown>
  body: string
}

type Sent = Record<string, string | undefined>

const json = { 'content-type': 'application/json' }

/** Without fetch, which would add headers of its own; on a connection of its own. */
function post(service: TestService, path: string, body: string | string[], headers: Sent): Promise<Answer> {
  const pieces = [body].flat()
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(path, service.baseUrl),
      { method: 'POST', agent: false, headers: Object.fromEntries(sent) },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => {
          const { date: _, ...rest } = response.headers
          // The one thing that is each request's own.
          const plain = text.replace(/"requestId":"[^"]+"/, '"requestId":""')
          resolve({ status: response.statusCode!, headers: rest, body: plain })
        })
      },
    )
    outgoing.on('error', reject)
    for (const piece of pieces) outgoing.write(piece)
    outgoing.end()
  })
}

/** A scheme of one's own that answers what it accepts in its own way. */
function replying(reply: Reply): Scheme {
  const scheme = hmac({ header: 'x-signature', secret: webhookSecret })
  return {
    ...scheme,
    verify(delivery) {
      const verdict = scheme.verify(delivery)
      return 'id' in verdict ? { ...verdict, reply } : verdict
    },
  }
}

onEachEngine('two ways', (engine) => {
  const start = (env = {}, rateLimit?: number): Promise<TestService> =>
    startTestService(engine, {
      env,
      parts: { clock: { ...systemClock, now: () => 1_700_000_000_000 } },
      config: defineConfig({
        receiving: {
          sources: {
            provider: hmac({
              header: 'x-signature',
              secret: webhookSecret,
              ...(rateLimit !== undefined && { rateLimit }),
            }),
            calls: twilio({ secret: 'token', url: 'https://example.com/' }),
            silent: replying({ status: 204, body: '' }),
            broken: replying({ status: 200, body: '', contentType: 'text/\nplain' }),
            open: hmac({ header: 'x-signature', secret: webhookSecret, id: 'digest', mediaTypes: [] }),
          },
        },
      }),
    })

  const event = (id: string): string => JSON.stringify({ id, type: 'order.paid', data: 'é' })
  const signed = (body: string, more: Sent = {}): [string, Sent] => [
    body,
    { ...json, 'x-signature': sign(body), ...more },
  ]
  const cases: Record<string, () => [body: string | string[], headers: Sent, source?: string]> = {
    'an event': () => signed(event('1')),
    'the same again': () => signed(event('1')),
    'in chunks': () => [
      ['{"id":"2",', '"type":"a"}'],
      { ...json, 'x-signature': sign('{"id":"2","type":"a"}') },
    ],
    'a wrong signature': () => [event('3'), { ...json, 'x-signature': sign('other') }],
    'no signature': () => [event('3'), json],
    'no JSON': () => signed('{"id":"3"'),
    'no type': () => signed('{"id":"3"}'),
    'broken UTF-8': () => signed('"\ud800"'),
    'another media type': () => signed(event('3'), { 'content-type': 'text/plain' }),
    'no media type': () => signed(event('3'), { 'content-type': undefined }),
    'a media type that is none': () => signed(event('3'), { 'content-type': 'json' }),
    'nothing at all': () => signed(''),
    'a body that is too large': () => signed(JSON.stringify({ id: '3', type: 'a', more: 'x'.repeat(2_000) })),
    'one in chunks': () => [Array.from({ length: 20 }, () => 'x'.repeat(100)), json],
    'any bytes': () => [...signed('%PDF', { 'content-type': 'application/pdf' }), 'open'],
    'a form that is answered in its own way': () => [
      'CallSid=1&CallStatus=completed',
      {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': createHmac('sha1', 'token')
          .update('https://example.com/CallSid1CallStatuscompleted')
          .digest('base64'),
      },
      'calls',
    ],
    'a form with a wrong signature': () => [
      'CallSid=1&CallStatus=completed',
      { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': 'wrong' },
      'calls',
    ],
    'an answer without content': () => [...signed(event('5')), 'silent'],
    'a reply that cannot be sent': () => [...signed(event('6')), 'broken'],
    'an expectation': () => signed(event('4'), { expect: '100-continue' }),
  }

  test('answer alike', async () => {
    const service = await start({ WEBHOOK_BODY_LIMIT: '1000' })
    try {
      for (const [name, make] of Object.entries(cases)) {
        const [body, headers, source = 'provider'] = make()
        const answers = []
        for (const query of ['', '?'])
          answers.push(await post(service, `/webhooks/${source}${query}`, body, headers))
        assert.deepEqual(answers[0], answers[1], name)
      }
      const [body, headers] = signed(event('1'))
      const first = await post(service, '/webhooks/provider', body, headers)
      assert.deepEqual([first.status, first.body], [200, '{"received":true}'])
      assert.equal(first.headers['content-type'], 'application/json; charset=utf-8')
      for (const [name, status, part] of [
        ['a form that is answered in its own way', 200, '<Response/>'],
        ['an answer without content', 204, ''],
        ['a reply that cannot be sent', 500, 'internal'],
      ] as const) {
        const [sent, by, source] = cases[name]!()
        const answer = await post(service, `/webhooks/${source}`, sent, by)
        assert.equal(answer.status, status, name)
        assert.ok(answer.body.includes(part), name)
      }
    } finally {
      await service.close()
    }
  })

  test('count alike: each request once, whichever way it takes', async () => {
    const remaining = async (
      service: TestService,
      body: string | string[],
      headers: Sent,
    ): Promise<unknown[]> => {
      const left = []
      for (const query of ['', '?', '', '?']) {
        const answer = await post(service, `/webhooks/provider${query}`, body, headers)
        left.push(Number(answer.headers['ratelimit-remaining']))
      }
      return left
    }
    const service = await start({ RATE_LIMIT: 'on' })
    try {
      const [top] = await remaining(service, ...signed(event('1')))
      assert.equal(top, 59_999)
      assert.deepEqual(await remaining(service, ...signed(event('2'))), [59_995, 59_994, 59_993, 59_992])
      // These are left to the framework after they were counted.
      assert.deepEqual(await remaining(service, event('3'), json), [59_991, 59_990, 59_989, 59_988])
      assert.deepEqual(await remaining(service, ...signed('{}')), [59_987, 59_986, 59_985, 59_984])
    } finally {
      await service.close()
    }
    const limited = await start({ RATE_LIMIT: 'on' }, 3)
    try {
      const statuses = []
      for (const query of ['', '?', '', '', '?'])
        statuses.push((await post(limited, `/webhooks/provider${query}`, ...signed(event('1')))).status)
      assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    } finally {
      await limited.close()
    }
  })

  test('see the same address behind a proxy', async () => {
    // Without BASE_URL the address that was called is in the proxies' headers, and everything takes the ordinary way.
    const port = await freePort()
    const service = await start({
      RATE_LIMIT: 'on',
      TRUSTED_PROXIES: '127.0.0.1',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
    })
    try {
      const left = []
      for (const [address, query] of [
        ['192.0.2.1', ''],
        ['192.0.2.1', '?'],
        ['192.0.2.2', ''],
        ['::ffff:192.0.2.2', '?'],
        ['2001:db8::1', ''],
        ['2001:db8::2', '?'],
        ['no address', ''],
      ] as const) {
        const sent = signed(event(address), { 'x-forwarded-for': `198.51.100.7, ${address}` })
        const answer = await post(service, `/webhooks/provider${query}`, ...sent)
        assert.equal(answer.status, 200)
        left.push(60_000 - Number(answer.headers['ratelimit-remaining']))
      }
      assert.deepEqual(left, [1, 2, 1, 2, 1, 2, 1])
    } finally {
      await service.close()
    }
  })

  test('metrics tell of both', async () => {
    const service = await start()
    try {
      for (const query of ['', '?', ''])
        await post(service, `/webhooks/provider${query}`, ...signed(event('1')))
      const metrics = await (await service.admin('/metrics')).text()
      assert.match(metrics, /^postern_webhooks_total\{source="provider",outcome="accepted"\} 3$/m)
    } finally {
      await service.close()
    }
  })
})
