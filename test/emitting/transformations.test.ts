import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { afterEach, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import { each, listening, onEachEngine, started } from '../harness/index.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { enterPortal } from './portal-harness.ts'
import {
  emit,
  expectJson,
  removeSubscribers,
  settled,
  startEmitting,
  subscribe,
  until,
  type DeliveryAnswer,
} from './harness.ts'

interface Seen {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

type Attempt = DeliveryAnswer['attempts'][number] & {
  requestBody: string | null
  requestBodyBytes: number | null
  transformed: boolean
  requestHeaders: Record<string, string>
  url: string | null
  method: string
}

async function receive() {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      seen.push({ method: method!, path: url!, headers, body: Buffer.concat(chunks) })
      response.end()
    })
  })
  const opened = await listening(server)
  return { ...opened, seen, url: `${opened.url}/hooks?a=1` }
}

const handler = (body: string): string => `function handler(webhook) { ${body}; return webhook }`

onEachEngine('transformations', (engine) => {
  const service = started(() => startEmitting(engine))
  afterEach(() => removeSubscribers(service))

  test('code changes the request before it is signed, and the attempt shows what was sent', async () => {
    await using receiver = await receive()
    const { id, secret } = await subscribe(service, {
      url: receiver.url,
      headers: { 'x-tenant': 'acme', 'x-api-key': 'the-key' },
      auth: { type: 'bearer', token: 'the-token' },
      httpSignature: true,
      transformation: handler(`
        webhook.method = 'PUT'
        webhook.url = webhook.url.replace('/hooks', '/changed/' + webhook.payload.data.id)
        webhook.headers['x-new'] = webhook.eventType + JSON.stringify(webhook.headers)
        webhook.payload = { text: 'Hi ' + webhook.payload.data.name, at: webhook.timestamp, now: Date.now(), id: webhook.id }`),
    })
    const { eventId } = await emit(service, { type: 'order.paid', data: { id: 7, name: 'Jo' } })
    const done = await settled(service, id, 'delivered')
    const [call] = receiver.seen
    assert.deepEqual([call!.method, call!.path], ['PUT', '/changed/7?a=1'])
    const body = call!.body.toString()
    const sent = JSON.parse(body) as { text: string; at: string; now: number; id: string }
    assert.deepEqual([sent.text, sent.id, sent.now], ['Hi Jo', eventId, Date.parse(sent.at)])
    new Webhook(secret).verify(body, call!.headers as Record<string, string>)
    assert.deepEqual(
      [call!.headers['x-tenant'], call!.headers['x-api-key'], call!.headers.authorization],
      ['acme', 'the-key', 'Bearer the-token'],
    )
    assert.ok(call!.headers['signature-input'])
    // The code sees no credential.
    assert.equal(
      call!.headers['x-new'],
      'order.paid{"content-type":"application/json","x-tenant":"acme","x-api-key":"[redacted]"}',
    )
    const [attempt] = done.attempts as Attempt[]
    assert.deepEqual([attempt!.requestBody, attempt!.transformed, attempt!.method], [body, true, 'PUT'])
    assert.equal(attempt!.requestBodyBytes, call!.body.length)
    assert.ok(attempt!.url!.endsWith('/changed/7?a=1'))
    assert.equal(attempt!.requestHeaders['x-tenant'], 'acme')
    assert.ok(!JSON.stringify(done).includes('the-key') && !JSON.stringify(done).includes('the-token'))
    // Sent again, by its current code.
    await expectJson(service, 200, `/subscribers/${id}`, {
      method: 'PATCH',
      json: { transformation: null, gzip: true, ordered: true },
    })
    await expectJson(service, 202, `/deliveries/${done.id}/replay`, { method: 'POST' })
    await until(async () => receiver.seen.length === 2, 'it is sent again')
    assert.equal(
      (JSON.parse(gunzipSync(receiver.seen[1]!.body).toString()) as { type: string }).type,
      'order.paid',
    )
  })

  test('an unchanged payload keeps its digits; a text is sent as it is', async () => {
    await using receiver = await receive()
    const { id } = await subscribe(service, { url: receiver.url, transformation: handler('') })
    const change = (code: string) =>
      expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: { transformation: code } })
    const send = async (data: string): Promise<Attempt> => {
      const headers = { 'content-type': 'application/json' }
      const body = `{"type":"a","data":${data}}`
      assert.equal((await service.admin('/events', { method: 'POST', headers, body })).status, 202)
      return (await settled(service, id, 'delivered')).attempts[0] as Attempt
    }
    const exact = '{"n":12345678901234567890123,"x":1.10,"e":1E400,"__proto__":{"a":1}}'
    const attempt = await send(exact)
    assert.ok(receiver.seen[0]!.body.includes('12345678901234567890123') && attempt.requestBody === null)
    await change(
      handler(
        `webhook.payload = 'Ünï\\n' + webhook.payload.type; webhook.headers['content-type'] = 'text/plain'`,
      ),
    )
    await send('1')
    const [, text] = receiver.seen
    assert.deepEqual([text!.body.toString(), text!.headers['content-type']], ['Ünï\na', 'text/plain'])
    await change(handler(`webhook.payload = 'é'.repeat(35_000)`))
    const long = await send('1')
    assert.deepEqual([long.requestBody!.length, long.requestBodyBytes], [32_768, 70_000])
    assert.ok(Object.keys(long.requestHeaders).every((name) => !name.startsWith(':')))
  })

  test('the test event and ordered deliveries are changed as others', async () => {
    await using receiver = await receive()
    const { id } = await subscribe(service, {
      url: receiver.url,
      ordered: true,
      sendTest: true,
      transformation: handler('webhook.payload = webhook.eventType + webhook.payload.data.n'),
    })
    for (const n of [1, 2, 3]) await emit(service, { type: 'order.paid', data: { n } })
    await settled(service, id, 'delivered')
    const [first, ...rest] = receiver.seen.map(({ body }) => body.toString())
    assert.match(first!, /^[a-z.]+undefined$/)
    assert.deepEqual(rest, ['order.paid1', 'order.paid2', 'order.paid3'])
  })

  test('a canceled event is not sent and ends as delivered; failures are attempts with their reason', async () => {
    await using receiver = await receive()
    const { id } = await subscribe(service, {
      url: receiver.url,
      transformation: handler('webhook.cancel = webhook.payload.data === 1'),
    })
    await emit(service, { type: 'a', data: 1 })
    const canceled = await settled(service, id, 'delivered')
    const [attempt] = canceled.attempts as Attempt[]
    assert.deepEqual([attempt!.failure, attempt!.error, attempt!.status], ['canceled', null, null])
    assert.ok(attempt!.advice)
    assert.equal(receiver.seen.length, 0)
    const cases: [code: string, message: RegExp][] = [
      ['throw new Error("no\\u0000 stock")', /Error: no stock \(line 1\)$/],
      ['for (;;);', /longer than 50 ms/],
      ['const all = []; for (;;) all.push(new Uint8Array(1e6))', /out of memory/],
      ['webhook.url = "https://other.example.com/"', /same scheme, host and port/],
      ['webhook.url = "http://u:p@" + webhook.url.slice(7)', /same scheme, host and port/],
      ['webhook.method = "GET"', /method must be one of/],
      ['webhook.headers["Webhook-Id"] = "x"', /webhook-id cannot be set/],
      ['webhook.headers["svix-id"] = "x"', /svix-id cannot be set/],
      ['webhook.headers.Host = "x"', /host cannot be set/],
      ['webhook.headers["content-length"] = "1"', /content-length cannot be set/],
      ['webhook.headers["transfer-encoding"] = "chunked"', /transfer-encoding cannot be set/],
      ['webhook.headers.connection = "close"', /connection cannot be set/],
      ['webhook.headers["signature-input"] = "x"', /signature-input cannot be set/],
      ['webhook.headers.x = "a\\r\\nb: c"', /visible ASCII/],
      ['webhook.headers.x = 1', /must be a text/],
      ['webhook.headers["x-key"] = "[redacted]"', /must be sent/],
      ['webhook.payload = "x".repeat(1.1e6)', /1 MiB/],
      ['webhook.payload = undefined', /not JSON/],
      ['return 1', /must return the webhook/],
      ['return Promise.resolve(webhook)', /must not be async/],
    ]
    for (const [code, message] of cases) {
      await expectJson(service, 200, `/subscribers/${id}`, {
        method: 'PATCH',
        json: { transformation: handler(code), status: 'active' },
      })
      await service.database.transaction((tx) => tx.deleteFrom('deliveries').execute())
      await emit(service, { type: 'a', data: 2 })
      const dead = await settled(service, id, 'dead')
      const [first, second] = dead.attempts as Attempt[]
      assert.deepEqual(
        [first!.failure, second!.failure, first!.url],
        ['transformation-failed', 'transformation-failed', null],
        code,
      )
      assert.match(first!.error!, message)
    }
    assert.equal(receiver.seen.length, 0)
  })

  test('code is checked when it is registered', async () => {
    const wrong: [code: string, detail: RegExp][] = [
      ['function handler(webhook) {\n  return }}\n', /SyntaxError.*\(line 2\)/],
      ['const other = 1', /must define a function handler/],
      ['for (;;);', /longer than 50 ms/],
      ['import fs from "node:fs"\nfunction handler() {}', /./],
      [`function handler(w) { return w } // ${'ä'.repeat(16_300)}`, /at most 16 KiB/],
    ]
    for (const [transformation, detail] of wrong) {
      const json = { url: 'http://127.0.0.1:9/', transformation }
      const response = await service.admin('/subscribers', { method: 'POST', json })
      const problem = (await response.json()) as { detail: string; source: { pointer: string }; code: string }
      assert.deepEqual(
        [response.status, problem.code, problem.source.pointer],
        [400, 'invalid-body', '/transformation'],
      )
      assert.match(problem.detail, detail)
    }
    await subscribe(service, { url: 'http://127.0.0.1:9/', transformation: 'const handler = (w) => w' })
  })

  test('code is tested against events of the caller, and nothing is sent', async () => {
    type Result = AnswerTo<'POST /transformations/test'>
    const run = (json: object): Promise<Result> =>
      expectJson(service, 200, '/transformations/test', { method: 'POST', json })
    const code = handler('webhook.payload = { n: webhook.payload.data.n }')
    const { eventId } = await emit(service, { type: 'a', data: { n: 7 }, audience: 'acme' })
    const headers = { 'x-api-key': '[redacted]' }
    const { before, after } = await run({ code, eventId, url: 'https://a.example/', method: 'PUT', headers })
    assert.deepEqual(after, {
      method: 'PUT',
      url: 'https://a.example/',
      headers: { 'content-type': 'application/json', 'x-api-key': '[redacted]' },
      body: '{"n":7}',
    })
    assert.equal((JSON.parse(before.body) as { id: string }).id, eventId)
    const failed = await run({ code: 'function handler(w) {\n  w.x.y\n}', event: { type: 'a', data: null } })
    assert.deepEqual([failed.after, failed.error!.line], [null, 2])
    assert.equal((await run({ code: handler('webhook.cancel = true') })).canceled, true)
    for (const [owner, status] of [
      ['acme', 200],
      ['other', 404],
    ] as const) {
      const portal = await enterPortal(service, owner)
      await portal.json(status, 'POST', '/transformations/test', { code, eventId })
      assert.ok(
        (await portal.json<{ data: unknown[] }>(200, 'GET', '/transformations/forms')).data.length > 0,
      )
    }
    for (const wrong of [{ url: 'file:///x' }, { url: 'x' }, { headers: { host: 'x' } }, { method: 'GET' }])
      await expectJson(service, 400, '/transformations/test', { method: 'POST', json: { code, ...wrong } })
    // The ready-made ones mention nobody and make no link.
    const forms = await expectJson<{ data: { name: string; code: string }[] }>(
      service,
      200,
      '/transformations/forms',
    )
    const hostile = '<!everyone> @everyone @here <@U1> [x](https://evil.test) https://evil.test *b* `c`'
    for (const { name, code } of forms.data) {
      const { after, error } = await run({
        code,
        event: { type: 'order.paid', data: { name: hostile, 'https://k.test': [1] } },
      })
      assert.equal(error, null)
      if (name !== 'text') assert.ok(!/https:\/\/(?:evil|k)/.test(after!.body), name)
      if (name === 'slack') assert.ok(!/[<>]|@everyone/.test(after!.body))
      if (name === 'discord')
        assert.deepEqual((JSON.parse(after!.body) as { allowed_mentions: object }).allowed_mentions, {
          parse: [],
        })
    }
    assert.deepEqual(each(forms.data, 'name'), ['slack', 'discord', 'teams', 'text'])
  })
})
