import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttps, type ServerOptions } from 'node:https'
import { connect, type Socket } from 'node:net'
import { afterEach, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import { selfSigned } from '../harness/certificate.ts'
import { each, listening, onEachEngine, started } from '../harness/index.ts'
import {
  deliveries,
  delivery,
  emit,
  expectJson,
  removeSubscribers,
  settled,
  startEmitting,
  subscribe,
  type SubscriberAnswer,
  until,
  untilStatus,
} from './harness.ts'

interface Seen {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

/** A server that answers with `answer`, and what it got. */
async function serve(
  answer: (seen: Seen) => [status: number, body?: string, headers?: Record<string, string>],
  tls?: ServerOptions,
) {
  const seen: Seen[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks),
      }
      seen.push(one)
      const [status, body = '', headers = {}] = answer(one)
      response.writeHead(status, headers).end(body)
    })
  }
  const server = tls ? createHttps(tls, listener) : createServer(listener)
  server.on('tlsClientError', () => undefined)
  const sockets = new Set<Socket>()
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const opened = await listening(server)
  const url = `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${opened.port}/`
  return { ...opened, seen, sockets, url }
}

const oauth = { type: 'oauth', clientId: 'client', clientSecret: 'the-client-secret' }

onEachEngine('endpoints that ask for more', (engine) => {
  const service = started(() => startEmitting(engine))
  afterEach(() => removeSubscribers(service))

  test('basic and bearer credentials are sent, sealed and never shown', async () => {
    await using receiver = await serve(() => [200])
    const { id } = await subscribe(service, {
      url: receiver.url,
      auth: { type: 'basic', user: 'postern', password: 'pässword' },
    })
    const path = `/subscribers/${id}`
    const change = (json: unknown, status = 200): Promise<SubscriberAnswer> =>
      expectJson(service, status, path, { method: 'PATCH', json })
    const shownAuth = { type: 'basic', user: 'postern', password: '[redacted]' }
    assert.deepEqual((await expectJson<SubscriberAnswer>(service, 200, path))['auth'], shownAuth)
    await emit(service, { type: 'a', data: 1 })
    const done = await settled(service, id, 'delivered')
    assert.equal(
      receiver.seen[0]!.headers.authorization,
      `Basic ${Buffer.from('postern:pässword').toString('base64')}`,
    )
    assert.equal(JSON.stringify(done).includes('cMOkc3N3b3Jk'), false)
    const row = await service.database.reader.selectFrom('subscribers').selectAll().executeTakeFirstOrThrow()
    assert.ok(row.credentials && !Buffer.from(row.credentials).includes('ssword'))
    // What was read can be sent back, and another setting leaves it.
    await change({ auth: { ...shownAuth, user: 'other' }, description: 'x' })
    await change({ url: `${receiver.url}other` })
    await emit(service, { type: 'a', data: 2 })
    await settled(service, id, 'delivered')
    assert.equal(
      receiver.seen[1]!.headers.authorization,
      `Basic ${Buffer.from('other:pässword').toString('base64')}`,
    )
    // Another server does not get them.
    await using thief = await serve(() => [200])
    assert.equal((await change({ url: thief.url }))['auth'], null)
    for (const auth of [
      shownAuth,
      { type: 'bearer', token: '[redacted]' },
      { type: 'bearer', token: 'a b' },
      { type: 'bearer', token: 'a\r\nx-injected: 1' },
      { type: 'bearer', user: 'x' },
      { type: 'basic', user: 'a:b', password: 'c' },
      { type: 'basic', user: 'a' },
      { type: 'other' },
    ])
      await change({ auth }, 400)
    assert.deepEqual((await change({ auth: { type: 'bearer', token: 'tok' } }))['auth'], {
      type: 'bearer',
      token: '[redacted]',
    })
    await emit(service, { type: 'a', data: 3 })
    await settled(service, id, 'delivered')
    assert.equal(thief.seen[0]!.headers.authorization, 'Bearer tok')
    assert.equal((await change({ auth: null }))['auth'], null)
  })

  test('an OAuth token is fetched once, and again when the endpoint rejects it', async () => {
    let valid = 1
    let issued = 0
    await using authority = await serve(() => [
      200,
      JSON.stringify({ access_token: `token-${++issued}`, token_type: 'bearer', expires_in: 3600 }),
    ])
    await using receiver = await serve(({ headers }) => [
      headers.authorization === `Bearer token-${valid}` ? 200 : 401,
    ])
    const auth = { ...oauth, tokenUrl: `${authority.url}token`, scope: 'hooks', audience: 'https://api.test' }
    const { id } = await subscribe(service, { url: receiver.url, auth })
    for (const data of [1, 2, 3]) await emit(service, { type: 'a', data })
    await untilStatus(service, id, 'delivered', 3)
    assert.equal(authority.seen.length, 1)
    const [{ headers, body }] = authority.seen as [Seen]
    assert.equal(headers.authorization, `Basic ${Buffer.from('client:the-client-secret').toString('base64')}`)
    assert.equal(body.toString(), 'grant_type=client_credentials&scope=hooks&audience=https%3A%2F%2Fapi.test')
    valid = 2
    await emit(service, { type: 'a', data: 4 })
    await untilStatus(service, id, 'delivered', 4)
    const one = await settled(service, id, 'delivered')
    // In the same attempt.
    assert.equal(one.attemptCount, 1)
    assert.equal(authority.seen.length, 2)
    assert.equal(JSON.stringify(one).includes('token-2'), false)
    // Rejected again with a new token, it is an ordinary failure.
    valid = 99
    await emit(service, { type: 'a', data: 5 })
    const dead = await settled(service, id, 'dead')
    assert.deepEqual(each(dead.attempts, 'status'), [401, 401])
    assert.ok(authority.seen.length <= 6)
  })

  test('a token endpoint that fails, redirects, lies or floods fails the attempt only', async () => {
    await using receiver = await serve(() => [200])
    await using thief = await serve(() => [200, '{"access_token":"stolen"}'])
    let answer: [number, string?, Record<string, string>?] = [
      400,
      '{"error":"invalid_client","error_description":"secret text"}',
    ]
    await using authority = await serve(() => answer)
    const { id } = await subscribe(service, {
      url: receiver.url,
      auth: { ...oauth, tokenUrl: authority.url },
      retrySchedule: [0],
    })
    const cases: [typeof answer, RegExp][] = [
      [answer, /^no access token: the token endpoint returned HTTP 400 \(invalid_client\)$/],
      [[307, '', { location: thief.url }], /returned HTTP 307/],
      [[200, '{"access_token":"a\\r\\nhost: evil"}'], /has no access_token/],
      [[200, '{"access_token":7}'], /has no access_token/],
      [[200, 'null'], /has no access_token/],
      [[200, '{"access_token":"x","token_type":"mac"}'], /not a bearer token/],
      [[200, `{"access_token":"x","more":"${'x'.repeat(100_000)}"}`], /has no access_token/],
    ]
    for (const [given, message] of cases) {
      answer = given
      await emit(service, { type: 'a', data: 1 })
      const one = await settled(service, id, 'dead')
      const [attempt] = one.attempts
      assert.deepEqual([attempt!.failure, attempt!.status], ['token-failed', null])
      assert.match(attempt!.error!, message)
      assert.ok(attempt!.advice)
      await service.database.transaction((tx) => tx.deleteFrom('deliveries').execute())
    }
    assert.equal(receiver.seen.length + thief.seen.length, 0)
    // The stored secret does not follow to another token endpoint.
    const stored = { ...oauth, clientSecret: '[redacted]' }
    const change = (tokenUrl: string, status: number) =>
      expectJson(service, status, `/subscribers/${id}`, {
        method: 'PATCH',
        json: { auth: { ...stored, tokenUrl } },
      })
    await change(thief.url, 400)
    await change(`${authority.url}other`, 200)
  })

  test('token endpoints obey the rules of addresses', async () => {
    await using strict = await startEmitting(engine, {
      env: { ALLOW_PRIVATE_NETWORK: 'false', EMIT_ALLOWED_NETWORKS: '127.0.0.0/8' },
    })
    const url = 'https://customer.example.com/'
    const refused: [tokenUrl: string, settings: object][] = [
      ['http://127.0.0.1:9/', { owner: 'acme' }],
      ['https://169.254.169.254/latest/meta-data', {}],
      ['https://[::1]/', { owner: 'acme' }],
      ['https://localhost/', { owner: 'acme' }],
      ['http://example.com/token', {}],
      ['https://example.com:22/token', {}],
      ['https://user:pass@example.com/token', {}],
      ['file:///etc/passwd', {}],
      ['token', {}],
    ]
    for (const [tokenUrl, settings] of refused) {
      const json = { url, ...settings, auth: { ...oauth, tokenUrl } }
      const response = await strict.admin('/subscribers', { method: 'POST', json })
      assert.equal(response.status, 400, tokenUrl)
      assert.ok((await response.text()).includes('/auth/tokenUrl'))
    }
    await subscribe(strict, { url, auth: { ...oauth, tokenUrl: 'http://127.0.0.1:9000/' } })
  })

  test('a change of the endpoint and a stop close the connections with its certificates', async () => {
    const server = selfSigned('localhost')
    // Clients may hold these connections for ten minutes, far longer than the test waits for their end.
    const headers = { 'keep-alive': 'timeout=600' }
    await using receiver = await serve(() => [200, '', headers], { ...server, keepAliveTimeout: 600_000 })
    await using own = await startEmitting(engine)
    const given = { tls: { ca: server.cert } }
    const { id } = await subscribe(own, { url: receiver.url, ...given })
    const send = async (): Promise<void> => {
      const before = receiver.seen.length
      await emit(own, { type: 'a', data: 1 })
      await until(async () => receiver.seen.length > before && receiver.sockets.size > 0, 'it is delivered')
    }
    await send()
    const [first] = receiver.sockets
    await expectJson(own, 200, `/subscribers/${id}`, { method: 'PATCH', json: { description: 'x' } })
    await send()
    await until(async () => first!.destroyed && receiver.sockets.size === 1, 'one connection is left')
    await own.close()
    await until(async () => receiver.sockets.size === 0, 'no connection is left')
  })

  test('an endpoint of its own authority that requires a client certificate', async () => {
    const [server, client, other] = [selfSigned('localhost'), selfSigned('postern'), selfSigned('localhost')]
    const tls = { ...server, requestCert: true, rejectUnauthorized: true, ca: [client.cert] }
    await using receiver = await serve(() => [200], tls)
    const given = { certificate: client.cert, key: client.key, ca: server.cert }
    const { id } = await subscribe(service, { url: receiver.url, tls: given, retrySchedule: [0] })
    const failureWith = async (change: object): Promise<string | null | undefined> => {
      await expectJson(service, 200, `/subscribers/${id}`, { method: 'PATCH', json: change })
      await emit(service, { type: 'a', data: 1 })
      await untilStatus(service, id, 'pending', 0)
      const [newest] = await deliveries(service, id)
      const { attempts } = await delivery(service, newest!.id)
      return attempts.at(-1)?.failure
    }
    assert.equal(await failureWith({ description: 'with all' }), null)
    // Without it, it may be reset before or after the handshake has ended for this side.
    assert.match((await failureWith({ tls: { ca: server.cert } }))!, /^(?:closed|tls-failed)$/)
    assert.equal(await failureWith({ tls: { ...given, ca: other.cert } }), 'tls-untrusted')
    assert.equal(await failureWith({ tls: null }), 'tls-untrusted')
    assert.equal(await failureWith({ tls: given }), null)
    assert.equal(receiver.seen.length, 2)
    const shown = await expectJson<SubscriberAnswer>(service, 200, `/subscribers/${id}`)
    assert.deepEqual(shown['tls'], { ...given, key: '[redacted]' })
    assert.equal(await failureWith({ tls: shown['tls'] }), null)
    for (const wrong of [
      { certificate: client.cert },
      { key: client.key },
      { certificate: client.cert, key: other.key },
      { certificate: 'x', key: 'y' },
      { ca: 'x' },
      { ca: '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----' },
    ])
      await expectJson(service, 400, `/subscribers/${id}`, { method: 'PATCH', json: { tls: wrong } })
  })

  test('tokens, client certificates and bodies go through the proxy of the settings, which sees none of them', async () => {
    const [server, client] = [selfSigned('localhost'), selfSigned('postern')]
    await using authority = await serve(() => [200, '{"access_token":"the-token"}'])
    const tls = { ...server, requestCert: true, rejectUnauthorized: true, ca: [client.cert] }
    await using receiver = await serve(() => [200], tls)
    const tunnels: string[] = []
    let through = ''
    const proxy = createServer().on('connect', (request: IncomingMessage, from: Socket) => {
      tunnels.push(request.url!)
      const to = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1')
      for (const socket of [from, to]) socket.on('error', () => undefined)
      from.once('close', () => to.destroy())
      from.write('HTTP/1.1 200 OK\r\n\r\n')
      from.on(
        'data',
        (chunk: Buffer) =>
          (through += request.url === `localhost:${receiver.port}` ? chunk.toString('latin1') : ''),
      )
      from.pipe(to).pipe(from)
    })
    await using opened = await listening(proxy)
    await using proxied = await startEmitting(engine, { env: { EMIT_PROXY: opened.url } })
    const { id } = await subscribe(proxied, {
      url: receiver.url,
      auth: { ...oauth, tokenUrl: authority.url },
      tls: { certificate: client.cert, key: client.key, ca: server.cert },
    })
    await emit(proxied, { type: 'a', data: 1 })
    await settled(proxied, id, 'delivered')
    assert.equal(receiver.seen[0]!.headers.authorization, 'Bearer the-token')
    assert.deepEqual(tunnels, [`127.0.0.1:${authority.port}`, `localhost:${receiver.port}`])
    assert.ok(through.length > 0 && !through.includes('the-token'))
  })

  test('method, statuses and compression', async () => {
    let status = 409
    await using receiver = await serve(() => [status])
    const { id, secret } = await subscribe(service, {
      url: receiver.url,
      method: 'PUT',
      successStatuses: [202, 409],
      noRetryStatuses: [422, '5xx'],
      gzip: true,
    })
    await emit(service, { type: 'a', data: { text: 'x'.repeat(2_000) } })
    const done = await settled(service, id, 'delivered')
    const [call] = receiver.seen
    assert.deepEqual([call!.method, call!.headers['content-encoding']], ['PUT', 'gzip'])
    assert.ok(call!.body.length < 500)
    new Webhook(secret).verify(gunzipSync(call!.body).toString(), call!.headers as Record<string, string>)
    assert.equal((done.attempts[0] as unknown as { method: string }).method, 'PUT')
    const attemptsAt = async (answered: number, wanted: string): Promise<[number, string | null]> => {
      status = answered
      await emit(service, { type: 'a', data: answered })
      const { attempts } = await settled(service, id, wanted)
      return [attempts.length, attempts.at(-1)!.failure]
    }
    assert.deepEqual(await attemptsAt(503, 'dead'), [1, 'server-error'])
    await service.database.transaction((tx) => tx.deleteFrom('deliveries').execute())
    assert.deepEqual(await attemptsAt(422, 'dead'), [1, 'rejected'])
    await service.database.transaction((tx) => tx.deleteFrom('deliveries').execute())
    assert.deepEqual(await attemptsAt(200, 'dead'), [2, 'unexpected-status'])
    const path = `/subscribers/${id}`
    const reset = { method: 'POST', successStatuses: null, noRetryStatuses: null, gzip: false }
    const plain = await expectJson<SubscriberAnswer>(service, 200, path, { method: 'PATCH', json: reset })
    assert.deepEqual([plain['method'], plain['successStatuses'], plain['gzip']], ['POST', null, false])
    assert.equal(
      (await service.database.reader.selectFrom('subscribers').select('request').executeTakeFirst())!.request,
      null,
    )
    for (const wrong of [
      { method: 'GET' },
      { successStatuses: [] },
      { successStatuses: [100] },
      { noRetryStatuses: ['1xx'] },
    ])
      await expectJson(service, 400, path, { method: 'PATCH', json: wrong })
  })
})
