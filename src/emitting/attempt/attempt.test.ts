// What an attempt tells of a name: the same for one that is unknown and one of the private network, also with a proxy.
import assert from 'node:assert/strict'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import { createServer as createTcp, type Server } from 'node:net'
import { after, test } from 'node:test'
import { selfSigned, trusted } from '#test/harness/certificate.ts'
import { startConnectProxy } from '#test/harness/connect-proxy.ts'
import { listening } from '#test/harness/listening.ts'
import type { Resolve } from '../../network/guarded-connector.ts'
import { createOutboundAgent, type OutboundAgent } from '../../network/exchange.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { systemClock, type Clock } from '../../runtime/clock.ts'
import { createAttempt, targetOf, type AttemptResult } from './attempt.ts'

/** The private network has one name; others do not resolve here. */
const resolve: Resolve = (host, callback) =>
  setImmediate(() =>
    host === 'private.test'
      ? callback(null, [{ address: '10.0.0.1', family: 4 }])
      : callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []),
  )

async function startProxy(answer?: string): Promise<{ proxy: string; port: number }> {
  const { url, port, close } = await startConnectProxy(answer)
  after(close)
  return { proxy: url, port }
}

async function attemptTo(
  url: string,
  proxy: string | undefined,
  owned: boolean,
  timeout?: number,
): Promise<AttemptResult> {
  let now = 0
  const clock: Clock = { now: () => (now += 7), after: (ms, callback) => systemClock.after(ms, callback) }
  const agent = createOutboundAgent({ allowPrivateNetwork: false, resolve, proxy })
  return attemptOver(agent, url, owned, clock, timeout)
}

function attemptOver(
  agent: OutboundAgent,
  url: string,
  owned: boolean,
  clock: Clock = systemClock,
  timeout = 60_000,
): Promise<AttemptResult> {
  after(() => agent.destroy())
  const attempt = createAttempt({ agents: { owned: agent, ownerless: agent }, clock })
  const event = { event_id: 'one', type: 'order.paid', payload: Buffer.from('{}'), headers: null }
  const request = { target: targetOf(url, {}), owned, event, keys: [], httpSignature: false, timeout }
  return attempt(request as unknown as Parameters<typeof attempt>[0], new AbortBroadcast())
}

const shown = ({ requestHeaders: _request, ...result }: AttemptResult) => result

test('an owner cannot tell an unknown name from one of the private network', async () => {
  const proxies = {
    none: undefined,
    refusing: (await startProxy('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')).proxy,
    silent: (await startProxy('')).proxy,
    absent: 'http://127.0.0.1:1',
  }
  // The first request loads a library, which can take longer than the timeout of the proxy that is silent.
  await attemptTo('http://private.test:8080/', undefined, true)
  for (const [name, proxy] of Object.entries(proxies)) {
    const timeout = name === 'silent' ? 300 : undefined
    const known = await attemptTo('http://private.test:8080/', proxy, true, timeout)
    const unknown = await attemptTo('http://unknown.test:8080/', proxy, true, timeout)
    assert.equal(known.failure, 'name-not-found', name)
    assert.deepEqual(shown(unknown), shown(known), name)
  }
  const ofAdmin = await attemptTo('http://unknown.test:8080/', proxies.refusing, false)
  assert.equal(ofAdmin.failure, 'proxy-failed')
  assert.match(ofAdmin.phases ?? '', /"total"/)
})

test('an owner reaches names that only the proxy resolves, and learns of failures behind it', async () => {
  const { proxy, port } = await startProxy()
  const { status, failure } = await attemptTo(`http://shop.test:${port}/`, proxy, true)
  assert.deepEqual([status, failure], [200, null])
  const withoutTls = await attemptTo(`https://shop.test:${port}/`, proxy, true)
  assert.equal(withoutTls.failure, 'tls-failed')
  const { phases } = withoutTls
  assert.match(phases ?? '', /"total"/)
})

const here: Resolve = (_host, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])

/** What an attempt to a server of this machine says of its failure. */
async function failureAt(server: Server, scheme: 'http' | 'https'): Promise<[string | null, string | null]> {
  server.on('connection', (socket) => socket.on('error', () => undefined))
  await using opened = await listening(server)
  const { port } = opened
  const agent = createOutboundAgent({ allowPrivateNetwork: true, resolve: here })
  const { failure, error } = await attemptOver(agent, `${scheme}://shop.test:${port}/`, false)
  return [failure, error]
}

test('servers with HTTP/2 only, and those that require a client certificate, are explained', async () => {
  const { key, cert } = selfSigned('shop.test')
  using _trust = trusted(cert)
  const [kind, message] = await failureAt(createSecureServer({ key, cert, allowHTTP1: false }), 'https')
  assert.deepEqual(
    [kind, message],
    ['tls-failed', 'the server rejected HTTP/1.1 in the TLS handshake (ALPN): it speaks only HTTP/2'],
  )
  const strict = createHttps({ key, cert, requestCert: true, rejectUnauthorized: true })
  const [failure, error] = await failureAt(strict, 'https')
  assert.equal(failure, 'closed')
  assert.match(error ?? '', /right after the TLS handshake: the server may require a client certificate$/)
})

test('a head that is not valid HTTP is explained, and not as a wrong length', async () => {
  const answering = (...lines: string[]): Server =>
    createTcp((socket) => {
      socket.once('data', () => socket.end(['HTTP/1.1 200 OK', ...lines, '', 'ok'].join('\r\n')))
    })
  for (const [lines, words] of [
    [['content-length: 2', 'content-length: 2'], /Content-Length occurs twice/],
    [['content-length: 2', 'content-length: 3'], /Content-Length occurs twice/],
    [['content-length: 2', 'x-folded: a', '  b'], /continued on a second line/],
    [['x-folded: a', ' b', 'content-length: 2'], /^the response is not valid HTTP\/1\.1: /],
    [['content-length: -2'], /not valid HTTP\/1\.1/],
  ] as const) {
    const [failure, error] = await failureAt(answering(...lines), 'http')
    assert.equal(failure, 'not-http', lines.join())
    assert.match(error ?? '', words)
  }
  const [failure] = await failureAt(answering('content-length: 5'), 'http')
  assert.equal(failure, 'closed', 'its head is valid')
})
