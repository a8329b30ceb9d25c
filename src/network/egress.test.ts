import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { selfSigned, trusted } from '#test/harness/certificate.ts'
import { startConnectProxy } from '#test/harness/connect-proxy.ts'
import { listening } from '#test/harness/listening.ts'
import { Egress, faultOfDestination } from './egress.ts'
import type { Resolve } from './guarded-connector.ts'
import { type AgentOptions, createOutboundAgent, type Outcome } from './exchange.ts'

const rules = { allowPrivateNetwork: false }
const local: LookupAddress = { address: '127.0.0.1', family: 4 }

function post(origin: string, options: Partial<AgentOptions> = {}): Promise<Outcome> {
  const agent = createOutboundAgent({
    ...rules,
    resolve: (_host, callback) => setImmediate(callback, null, [local]),
    timeout: 60_000,
    ...options,
  })
  after(() => agent.destroy())
  const request = { origin, path: '/', method: 'POST' as const, headers: {}, body: Buffer.from('{}') }
  return agent.exchange({ ...request, responseLimit: 100 }).ended
}

const codeOf = ({ error, status }: Outcome): unknown => status ?? (error as { code?: unknown }).code

test('private addresses of an allowed network may be called, and no others', async () => {
  await using server = await listening(createHttp((_request, response) => response.end()))
  const { port } = server
  const networks = ['127.0.0.0/24', 'fd00::/8']
  assert.equal(codeOf(await post(`http://127.0.0.1:${port}`, { networks })), 200)
  assert.equal(codeOf(await post(`http://[::ffff:127.0.0.1]:${port}`, { networks })), 200)
  assert.equal(codeOf(await post(`http://hooks.test:${port}`, { networks })), 200)
  assert.equal(codeOf(await post(`http://127.0.1.1:${port}`, { networks })), 'RESERVED_ADDRESS')
  const egress = new Egress({ ...rules, networks })
  assert.equal(faultOfDestination('http://127.0.0.9/', egress), undefined)
  assert.equal(faultOfDestination('https://[fd00::1]/', egress), undefined)
  assert.match(faultOfDestination('https://10.0.0.1/', egress) ?? '', /private/)
})

test('an allowed host may lead to private addresses; a wildcard means the names below', async () => {
  await using server = await listening(createHttp((_request, response) => response.end()))
  const { port } = server
  const hosts = ['hooks.test', '*.Internal.Test.', 'bücher.test']
  for (const host of [
    'hooks.test',
    'HOOKS.test.',
    'a.internal.test',
    'a.b.internal.test',
    'xn--bcher-kva.test',
  ])
    assert.equal(codeOf(await post(`http://${host}:${port}`, { hosts })), 200, host)
  for (const host of ['other.test', 'internal.test', 'xhooks.test', 'hooks.test.evil.test', 'xinternal.test'])
    assert.equal(codeOf(await post(`http://${host}:${port}`, { hosts })), 'RESERVED_ADDRESS', host)
  const egress = new Egress({ ...rules, hosts })
  assert.equal(faultOfDestination('http://a.internal.test/', egress), undefined)
  assert.match(faultOfDestination('http://other.test/', egress) ?? '', /https/)
})

test('a port that is not allowed is refused at registration and at the connection', async () => {
  let connections = 0
  await using server = await listening(createServer(() => (connections += 1)))
  const { port } = server
  const hosts = ['hooks.test']
  const outcome = await post(`http://hooks.test:${port}`, {
    hosts,
    ports: [
      [80, 80],
      [443, 443],
    ],
  })
  assert.equal(codeOf(outcome), 'REFUSED_PORT')
  assert.equal(connections, 0)
  const egress = new Egress({
    ...rules,
    ports: [
      [443, 443],
      [8000, 8999],
    ],
  })
  for (const url of ['https://a.test/', 'https://a.test:443/', 'https://a.test:8443/'])
    assert.equal(faultOfDestination(url, egress), undefined, url)
  for (const url of ['https://a.test:22/', 'https://a.test:9000/', 'https://a.test:25/'])
    assert.match(faultOfDestination(url, egress) ?? '', /EMIT_PORTS/, url)
})

/** The URL of a proxy with credentials, and what it was asked for. */
async function startProxy(answer?: string) {
  const { port, asked, close } = await startConnectProxy(answer)
  after(close)
  return { proxy: `http://user:p%40ss@127.0.0.1:${port}`, asked }
}

test('deliveries go through the proxy, http also by CONNECT, and TLS is verified end to end', async () => {
  const { proxy, asked } = await startProxy()
  await using plain = await listening(createHttp((_request, response) => response.end('plain')))
  const { key, cert } = selfSigned('shop.test')
  await using secure = await listening(
    createHttps({ key, cert }, (_request, response) => response.end('secure')),
  )
  const options = { proxy, hosts: ['shop.test'] }
  const outcome = await post(`http://shop.test:${plain.port}`, options)
  assert.equal(outcome.body?.toString(), 'plain')
  assert.equal(outcome.phases.reused, false)
  assert.equal(typeof outcome.phases.connect, 'number')
  assert.equal(codeOf(await post(`https://shop.test:${secure.port}`, options)), 'DEPTH_ZERO_SELF_SIGNED_CERT')
  using _trust = trusted(cert)
  const { body } = await post(`https://shop.test:${secure.port}`, options)
  assert.equal(body?.toString(), 'secure')
  assert.deepEqual(asked[0], {
    target: `shop.test:${plain.port}`,
    authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
  })
})

test('the proxy gets no request for a name that resolves to a private address here', async () => {
  const { proxy, asked } = await startProxy()
  for (const host of ['169.254.169.254', '2130706433', '[::1]', 'rebinding.test'])
    assert.equal(codeOf(await post(`http://${host}:8080`, { proxy })), 'RESERVED_ADDRESS', host)
  assert.deepEqual(asked, [])
})

test('a name that only the proxy can resolve is passed to the proxy', async () => {
  const { proxy, asked } = await startProxy()
  await using plain = await listening(createHttp((_request, response) => response.end()))
  const unknown: Resolve = (_host, callback) =>
    callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), [])
  assert.equal(codeOf(await post(`http://shop.test:${plain.port}`, { proxy, resolve: unknown })), 200)
  assert.equal(asked.length, 1)
})

test('when the proxy refuses, the attempt fails with its message', async () => {
  const { proxy } = await startProxy('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
  const { error } = await post('http://shop.test:8080', { proxy, hosts: ['shop.test'] })
  assert.match(String(error), /Proxy response \(403\)/)
})

test('hosts that cannot exist, and addresses that are not written as URLs, are rejected', () => {
  const egress = new Egress({ allowPrivateNetwork: true })
  const label = 'a'.repeat(63)
  for (const [url, words] of [
    ['https://a..b.com/', /two dots/],
    ['https://.example.com/', /two dots|begins it/],
    ['https://example.com../', /two dots/],
    ['https://*.example.com/', /`\*`/],
    [`https://${label}a.example.com/`, /63 characters/],
    [`https://${`${label}.`.repeat(4)}com/`, /253 characters/],
    ['https://a!b.example.com/', /no host name/],
    ['https://exam\nple.com/', /line breaks/],
    ['https://example.com/\thook', /tabs/],
    ['https:example.com', /whole/],
    ['https:///example.com', /whole/],
    ['https:\\\\example.com', /whole/],
    ['//example.com', /whole/],
  ] as const)
    assert.match(faultOfDestination(url, egress) ?? '', words, url)
  for (const url of [
    'https://example.com./',
    'https://my_shop.example.com/',
    `https://${label}.example.com/`,
    'https://-a-.example.com/',
    'https://bücher.example/',
    'https://[::1]:8443/',
    'https://127.1/',
    'HTTPS://EXAMPLE.com/',
    'http://localhost:3000/',
  ])
    assert.equal(faultOfDestination(url, egress), undefined, url)
})
