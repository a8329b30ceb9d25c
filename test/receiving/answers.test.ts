// The answers to webhooks, however their address is written.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../src/runtime/clock.ts'
import { hmac, twilio, type Scheme } from '../../src/index.ts'
import type { Reply } from '../../src/receiving/schemes/scheme.ts'
import { each, fields, freePort, onEachEngine, onOneEngine, started } from '../harness/index.ts'
import { startTestService, type TestService, webhookSecret } from '../harness/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { eventually, sign } from './harness.ts'

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
          // The only part that differs between requests.
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

/** A scheme that answers events with its own reply. */
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

/** A scheme with an error of its own. */
function throwing(): Scheme {
  return {
    ...hmac({ header: 'x-signature', secret: webhookSecret }),
    verify() {
      throw new Error('the scheme failed')
    },
  }
}

const event = (id: string): string => JSON.stringify({ id, type: 'order.paid', data: 'é' })
const signed = (body: string, more: Sent = {}): [string, Sent] => [
  body,
  { ...json, 'x-signature': sign(body), ...more },
]

onEachEngine('answers to webhooks that cannot be stored', (engine) => {
  test('have 500 when the database refuses them, and the log says so as an error', async () => {
    const lines: { level: number; msg: string }[] = []
    const log = createLog('warn', { write: (line: string) => void lines.push(JSON.parse(line)) })
    await using broken = await startTestService(engine, {
      parts: { log, roles: { http: true, workers: false } },
    })
    await broken.database.transaction((tx) => sql`alter table events rename to hidden`.execute(tx))
    assert.equal((await post(broken, '/webhooks/provider', ...signed(event('1')))).status, 500)
    const told = lines.filter(({ msg }) => /webhooks could not be stored|spooled events/.test(msg))
    assert.deepEqual(fields(told, 'level', 'msg'), [
      [50, 'webhooks could not be stored: their senders got an error'],
    ])
  })
})

onOneEngine('answers to webhooks', (engine) => {
  const start = (env = {}): Promise<TestService> =>
    startTestService(engine, {
      env,
      parts: { clock: { ...systemClock, now: () => 1_700_000_000_000 } },
      receiving: {
        sources: {
          provider: hmac({ header: 'x-signature', secret: webhookSecret }),
          counted: hmac({ header: 'x-signature', secret: webhookSecret }),
          limited: hmac({ header: 'x-signature', secret: webhookSecret, rateLimit: 3 }),
          calls: twilio({ secret: 'token', url: 'https://example.com/' }),
          silent: replying({ status: 204, body: '' }),
          broken: replying({ status: 200, body: '', contentType: 'text/\nplain' }),
          throwing: throwing(),
          open: hmac({ header: 'x-signature', secret: webhookSecret, id: 'digest', mediaTypes: [] }),
        },
      },
    })
  const service = started(() => start({ WEBHOOK_BODY_LIMIT: '1000' }))

  const cases: Record<string, [status: number, body: string | string[], headers: Sent, source?: string]> = {
    'an event': [200, ...signed(event('1'))],
    'the same event again': [200, ...signed(event('1'))],
    'an event in chunks': [
      200,
      ['{"id":"2",', '"type":"a"}'],
      { ...json, 'x-signature': sign('{"id":"2","type":"a"}') },
    ],
    'a wrong signature': [401, event('3'), { ...json, 'x-signature': sign('other') }],
    'a missing signature': [401, event('3'), json],
    'a body that is not JSON': [400, ...signed('{"id":"3"')],
    'an event without a type': [400, ...signed('{"id":"3"}')],
    'broken UTF-8': [400, ...signed('"\ud800"')],
    'another media type': [415, ...signed(event('3'), { 'content-type': 'text/plain' })],
    'a missing media type': [415, ...signed(event('3'), { 'content-type': undefined })],
    'an invalid media type': [415, ...signed(event('3'), { 'content-type': 'json' })],
    'an empty body': [400, ...signed('')],
    'a body that is too large': [
      413,
      ...signed(JSON.stringify({ id: '3', type: 'a', more: 'x'.repeat(2_000) })),
    ],
    'a body in chunks that is too large': [413, Array.from({ length: 20 }, () => 'x'.repeat(100)), json],
    'a body that is not JSON, of any media type': [
      400,
      ...signed('%PDF', { 'content-type': 'application/pdf' }),
      'open',
    ],
    'a form with an answer of its own': [
      200,
      'CallSid=1&CallStatus=completed',
      {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': createHmac('sha1', 'token')
          .update('https://example.com/CallSid1CallStatuscompleted')
          .digest('base64'),
      },
      'calls',
    ],
    'a form with a wrong signature': [
      401,
      'CallSid=1&CallStatus=completed',
      { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': 'wrong' },
      'calls',
    ],
    'an answer without content': [204, ...signed(event('5')), 'silent'],
    'a reply with an invalid header': [500, ...signed(event('6')), 'broken'],
    'an error of the scheme': [500, ...signed(event('6')), 'throwing'],
    'a request with Expect: 100-continue': [200, ...signed(event('4'), { expect: '100-continue' })],
  }

  test('have the expected status for every spelling of the path', async () => {
    for (const [name, [status, body, headers, source = 'provider']] of Object.entries(cases)) {
      const path = `/webhooks/${source}`
      const answer = await post(service, path, body, headers)
      assert.equal(answer.status, status, name)
      for (const other of [`${path}?`, path.replace('w', '%77'), `${path}#fragment`])
        assert.deepEqual(await post(service, other, body, headers), answer, `${name}, ${other}`)
    }
  })

  test('have their own body and headers', async () => {
    const answerTo = async (name: string): Promise<Answer> => {
      const [, body, headers, source = 'provider'] = cases[name]!
      return post(service, `/webhooks/${source}`, body, headers)
    }
    const common = {
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      connection: 'close',
    }
    assert.deepEqual(await answerTo('an event'), {
      status: 200,
      headers: { ...common, 'content-type': 'application/json; charset=utf-8', 'content-length': '17' },
      body: '{"received":true}',
    })
    assert.deepEqual(await answerTo('a wrong signature'), {
      status: 401,
      headers: { ...common, 'content-type': 'text/plain; charset=utf-8', 'content-length': '17' },
      body: 'invalid signature',
    })
    assert.deepEqual(await answerTo('an answer without content'), {
      status: 204,
      headers: common,
      body: '',
    })
    assert.match((await answerTo('a form with an answer of its own')).body, /<Response\/>/)
    for (const [name, code] of [
      ['a body that is too large', 'body-too-large'],
      ['another media type', 'unsupported-media-type'],
      ['an event without a type', 'malformed-event'],
      ['a reply with an invalid header', 'internal'],
    ] as const) {
      const { headers, body } = await answerTo(name)
      assert.equal(headers['content-type'], 'application/problem+json; charset=utf-8', name)
      assert.equal((JSON.parse(body) as { code: string }).code, code)
    }
  })

  test('another method is 405, another path 404', async () => {
    const put = await service.fetch('/webhooks/provider', { method: 'PUT' })
    assert.deepEqual([put.status, put.headers.get('allow')], [405, 'POST'])
    assert.equal((await service.fetch('/webhooks/provider')).status, 405)
    for (const path of [
      '/webhooks%2Fprovider',
      '/Webhooks/provider',
      '/webhooks/nobody',
      '/webhooks/__proto__',
    ])
      assert.equal((await post(service, path, ...signed(event('1')))).status, 404, path)
  })

  test('each request is logged with its id when it fails, and at debug level when it succeeds', async () => {
    for (const [level, expected] of [
      ['info', [400]],
      ['debug', [200, 400]],
    ] as const) {
      const lines: { msg: string; reqId: string; route?: string; status?: number; address?: string }[] = []
      const log = createLog(level, { write: (line: string) => void lines.push(JSON.parse(line)) })
      await using logging = await startTestService(engine, { parts: { log } })
      await post(logging, '/webhooks/provider', ...signed(event('1')))
      const problem = await post(logging, '/webhooks/provider?secret=1', ...signed('{}'))
      const logged = () =>
        lines.filter(({ msg, route }) => msg === 'request' && route === '/webhooks/provider')
      await eventually(async () => logged().length === expected.length || undefined, 'the lines')
      assert.deepEqual(each(logged(), 'status'), expected)
      assert.equal(logged().at(-1)!.address, '127.0.0.1')
      assert.match(logged().at(-1)!.reqId, /^[\da-f-]{36}$/)
      assert.equal(problem.status, 400)
    }
  })

  test('each request counts once toward the limits', async () => {
    await using limiting = await start({ RATE_LIMIT: 'on' })
    const remaining = async (...sent: [body: string, headers: Sent]): Promise<number[]> => {
      const left = []
      for (const query of ['', '?']) {
        const { headers } = await post(limiting, `/webhooks/provider${query}`, ...sent)
        left.push(Number(headers['ratelimit-remaining']))
      }
      return left
    }
    assert.deepEqual(await remaining(...signed(event('1'))), [59_999, 59_998])
    assert.deepEqual(await remaining(event('3'), json), [59_997, 59_996])
    assert.deepEqual(await remaining(...signed('{}')), [59_995, 59_994])
    const statuses = []
    for (const query of ['', '?', '', '', '?'])
      statuses.push((await post(limiting, `/webhooks/limited${query}`, ...signed(event('1')))).status)
    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
  })

  test('behind a proxy, requests are counted by the address of the client', async () => {
    const port = await freePort()
    await using proxied = await start({
      RATE_LIMIT: 'on',
      TRUSTED_PROXIES: '127.0.0.1',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
    })
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
      const answer = await post(proxied, `/webhooks/provider${query}`, ...sent)
      assert.equal(answer.status, 200)
      left.push(60_000 - Number(answer.headers['ratelimit-remaining']))
    }
    assert.deepEqual(left, [1, 2, 1, 2, 1, 2, 1])
  })

  test('metrics count every request', async () => {
    for (const query of ['', '?', '']) await post(service, `/webhooks/counted${query}`, ...signed(event('1')))
    const metrics = await (await service.admin('/metrics')).text()
    assert.match(metrics, /^postern_webhooks_total\{source="counted",outcome="accepted"\} 3$/m)
  })
})
