// Two processes behind the proxies of deploy/, over TLS. Needs the binaries `caddy` and `nginx`.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { createServer } from 'node:http'
import { Agent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { createLog } from '../../src/telemetry/log.ts'
import { adminKey, engines, freePort, startTestService, type TestService } from '../harness/index.ts'
import { listening } from '../harness/listening.ts'
import { eventually, sign } from '../receiving/harness.ts'
import { ask, host, proxyKinds, startProxy, type Ask, type Proxy } from './proxies.ts'

for (const kind of proxyKinds) {
  const skip = kind.installed ? false : `${kind.name} is not installed`

  describe(kind.file, { skip }, () => {
    const services: TestService[] = []
    const addressOf = ({ app }: TestService) => `127.0.0.1:${(app.server.address() as AddressInfo).port}`
    const lines: string[] = []
    let proxy: Proxy
    before(async () => {
      const log = createLog('info', { write: (line: string) => void lines.push(line) })
      const env = {
        NODE_ENV: 'production',
        BASE_URL: `https://${host}`,
        TRUSTED_PROXIES: '127.0.0.1',
        SHUTDOWN_DELAY: '300',
        GITHUB_CLIENT_ID: 'client',
        GITHUB_CLIENT_SECRET: 'secret-of-the-client',
      }
      for (let count = 0; count < 2; count += 1)
        services.push(await startTestService(engines[0]!, { env, parts: { log } }))
      const [one, two] = services.map(addressOf)
      proxy = await startProxy(kind, [one!, two!])
      await eventually(async () => (await ask(proxy, '/readyz')).status === 200, 'the processes are ready')
    })
    after(async () => {
      await Promise.all(services.map((service) => service.close()))
      await proxy.close()
    })

    const send = (body: Buffer | string, options: Ask = {}) =>
      ask(proxy, '/webhooks/provider', {
        method: 'POST',
        body,
        ...options,
        headers: { 'content-type': 'application/json', 'x-signature': sign(body), ...options.headers },
      })

    test('a signed webhook arrives byte for byte, with and without a length', async () => {
      const payload = { id: 'evt_large', type: 'paid', text: 'é\u2028 \\u00e9 '.repeat(60_000) }
      const large = ` ${JSON.stringify(payload)}\r\n`
      assert.equal((await send(large)).status, 200)
      const chunked = { headers: { 'transfer-encoding': 'chunked' } }
      assert.equal((await send('{ "id":"evt_chunked","type":"paid" }', chunked)).status, 200)
    })

    test('the service itself refuses a body above its limit', async () => {
      // With its length, the service would close the connection before the body is sent, and Caddy sometimes answer 502.
      const big = JSON.stringify({ id: 'evt_big', text: 'a'.repeat(1_048_576) })
      const { status, body } = await send(big, { headers: { 'transfer-encoding': 'chunked' } })
      assert.equal(status, 413)
      assert.doesNotMatch(body, /nginx/)
    })

    test('the service sees the address of the client, and believes no forged one', async () => {
      const forged = { 'x-forwarded-for': '203.0.113.9, 127.0.0.1', 'x-forwarded-proto': 'http' }
      const from = { localAddress: '127.0.0.77', headers: { ...forged, 'x-signature': 'wrong' } }
      assert.equal((await send('{}', from)).status, 401)
      const line = await eventually(() => lines.find((each) => each.includes('"status":401')), 'the log')
      assert.equal((JSON.parse(line) as { address: string }).address, '127.0.0.77')
    })

    test('a sign-in begins with a cookie that is bound to the host, over TLS', async () => {
      const { status, headers } = await ask(proxy, '/auth/github')
      assert.equal(status, 303)
      assert.match(String(headers['set-cookie']), /^__Host-postern_browser-[^;]+;.*Secure/)
      const callback = new URL(headers['location'] as string).searchParams.get('redirect_uri')
      assert.equal(callback, `https://${host}/auth/github/callback`)
    })

    test('each line of a stream is answered while the stream goes on', async () => {
      const session = connectHttp2(`https://127.0.0.1:${proxy.port}`, { ca: proxy.ca, servername: host })
      const stream = session.request({
        ':method': 'POST',
        ':path': '/events',
        ':authority': host,
        authorization: `Bearer ${adminKey}`,
        'content-type': 'application/x-ndjson',
      })
      let answers = ''
      stream.setEncoding('utf8').on('data', (chunk: string) => (answers += chunk))
      for (let line = 1; line <= 3; line += 1) {
        stream.write(`${JSON.stringify({ id: `line-${line}`, type: 'line', data: {} })}\n`)
        await eventually(() => answers.includes(`"eventId":"line-${line}"`), `the answer to line ${line}`)
      }
      stream.end()
      await once(stream, 'close')
      session.close()
    })

    test('a process stops without a failed request', async () => {
      // A reload of nginx closes idle connections of clients without notice.
      const agent = new Agent({ keepAlive: kind.name === 'caddy' })
      const failures: string[] = []
      const ended = new AbortController()
      let answered = 0
      const client = async (name: number): Promise<void> => {
        for (let number = 0; !ended.signal.aborted; number += 1) {
          const webhook = send(JSON.stringify({ id: `${name}-${number}`, type: 'rolled' }), { agent })
          const { status } = await webhook.catch((error: Error) => ({ status: error.message }))
          if (status === 200) answered += 1
          else failures.push(`${name}-${number}: ${status}`)
        }
      }
      const clients = Array.from({ length: 4 }, (_, name) => client(name))
      const more = async (count: number): Promise<void> => {
        const enough = answered + count
        await eventually(() => answered + failures.length >= enough, `${count} more answers`)
      }
      await more(50)
      const noticed = new AbortController()
      const [stopping] = services
      const announced = stopping!.announceStop(noticed.signal)
      proxy.takeOut?.(addressOf(stopping!))
      let last = answered
      stopping!.app.server.on('request', ({ url }: { url?: string }) => {
        if (!url?.startsWith('/readyz')) last = answered
      })
      await eventually(() => answered - last >= 100, 'the other process answers a hundred requests in a row')
      await more(50)
      noticed.abort()
      await announced
      await stopping!.stop()
      await more(50)
      ended.abort()
      await Promise.all(clients)
      agent.destroy()
      assert.deepEqual(failures, [])
    })
  })

  describe(`${kind.file}: repetitions`, { skip }, () => {
    const seen: string[] = []
    const bodies: string[] = []
    let opened: Awaited<ReturnType<typeof listening>>
    let address: string
    before(async () => {
      // Takes each request, and breaks the connection instead of answering, except under / and /sound.
      const server = createServer((request, response) => {
        if (request.url?.startsWith('/readyz')) {
          response.end('{}')
          return
        }
        seen.push(`${request.method} ${request.url}`)
        void text(request).then((body) => {
          bodies.push(body)
          if (request.url === '/' || request.url === '/sound') response.end()
          else request.socket.destroy()
        })
      })
      opened = await listening(server)
      address = `127.0.0.1:${opened.port}`
    })
    after(() => opened.close())

    test('a request that is not idempotent is sent once, however it ends', async (t) => {
      const proxy = await startProxy(kind, [address, address])
      t.after(() => proxy.close())
      seen.length = 0
      for (const path of ['/webhooks/provider', '/events', '/auth/token']) {
        const { status } = await ask(proxy, path, { method: 'POST', body: '{}' })
        assert.ok(status === 502 || status === 503, `${path}: ${status}`)
        // A repetition would come before the answer; one that came late would be seen with the next path.
        assert.deepEqual(seen.splice(0), [`POST ${path}`])
      }
    })

    test('a request that could not be sent goes to the other process, whole', async (t) => {
      const proxy = await startProxy(kind, [`127.0.0.1:${await freePort()}`, address])
      t.after(() => proxy.close())
      bodies.length = 0
      const sent = Array.from({ length: 8 }, (_, number) => `${number}`.repeat(100_000))
      for (const body of sent)
        assert.equal((await ask(proxy, '/sound', { method: 'POST', body })).status, 200)
      assert.deepEqual(bodies, sent)
    })
  })
}
