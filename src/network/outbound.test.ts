import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { createOutboundAgent, type OutboundAgent, type Outcome } from './exchange.ts'
import { createGuardedFetch } from './guarded-fetch.ts'

let server: Server
let port: number
let connections = 0
let respond: RequestListener = (_request, response) => response.end('ok')

before(async () => {
  server = createServer((request, response) => respond(request, response))
  server.on('connection', () => (connections += 1))
  server.listen(0, '::')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

after(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const local: LookupAddress = { address: '127.0.0.1', family: 4 }
const elsewhere: LookupAddress = { address: '203.0.114.1', family: 4 }

function get(agent: OutboundAgent, origin: string): Promise<Outcome> {
  const request = { origin, path: '/', method: 'GET', headers: {}, body: null, responseLimit: 1024 }
  return agent.exchange(request).ended
}

/** What a request over a guarded agent fails with. */
async function refusal(host: string, resolved: LookupAddress[] = []): Promise<string> {
  const agent = createOutboundAgent({
    allowPrivateNetwork: false,
    timeout: 60_000,
    resolve: (_host, callback) => setImmediate(callback, null, resolved),
  })
  try {
    const { error } = await get(agent, `http://${host}:${port}`)
    if (error === undefined) return 'answered'
    return (error as { code?: string }).code ?? (error as Error).message
  } finally {
    await agent.destroy()
  }
}

test('connections to literal private addresses are refused in all spellings', async () => {
  const before = connections
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '017700000001',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '0',
  ]) {
    assert.equal(await refusal(host), 'RESERVED_ADDRESS', host)
  }
  assert.equal(connections, before)
})

test('connections to a name are refused if any of its addresses is private', async () => {
  const before = connections
  assert.equal(await refusal('metadata.example', [local]), 'RESERVED_ADDRESS')
  assert.equal(await refusal('both.example', [elsewhere, local]), 'RESERVED_ADDRESS')
  assert.equal(await refusal('six.example', [{ address: '::ffff:127.0.0.1', family: 6 }]), 'RESERVED_ADDRESS')
  assert.equal(await refusal('none.example', []), 'none.example has no address')
  assert.equal(connections, before)
})

test('a name is looked up once per connection, so that a second answer cannot lead elsewhere', async () => {
  let lookups = 0
  const agent = createOutboundAgent({
    allowPrivateNetwork: true,
    resolve: (_host, callback) => setImmediate(callback, null, ++lookups === 1 ? [local] : [elsewhere]),
  })
  const { status } = await get(agent, `http://rebinding.example:${port}`)
  assert.equal(status, 200)
  assert.equal(lookups, 1)
  await agent.destroy()
})

test('ALLOW_PRIVATE_NETWORK lets loopback through', async () => {
  const agent = createOutboundAgent({ allowPrivateNetwork: true })
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    const { status } = await get(agent, `http://${host}:${port}`)
    assert.equal(status, 200, host)
  }
  await agent.destroy()
})

test('the guarded fetch responds like fetch and follows no redirect', async () => {
  const agent = createOutboundAgent({ allowPrivateNetwork: true })
  const fetch = createGuardedFetch({ agent, allowPrivateNetwork: true })
  respond = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/redirect') response.writeHead(302, { location: '/elsewhere' }).end()
      else if (request.url === '/empty') response.writeHead(204).end()
      else {
        const body = Buffer.concat(chunks).toString()
        response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'] })
        response.end(JSON.stringify({ method: request.method, type: request.headers['content-type'], body }))
      }
    })
  }
  const base = `http://127.0.0.1:${port}`
  const posted = await fetch(`${base}/token`, { method: 'POST', body: new URLSearchParams({ code: 'é' }) })
  assert.deepEqual(await posted.json(), {
    method: 'POST',
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    body: 'code=%C3%A9',
  })
  assert.deepEqual(posted.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal((await fetch(new URL('/redirect', base))).status, 302)
  assert.equal((await fetch(new Request(`${base}/empty`))).status, 204)
  await agent.destroy()
})

test('the guarded fetch bounds the response in bytes and in time', async () => {
  const agent = createOutboundAgent({ allowPrivateNetwork: true })
  const base = `http://127.0.0.1:${port}`
  respond = (_request, response) => response.end('x'.repeat(1001))
  const bounded = createGuardedFetch({ agent, allowPrivateNetwork: true, responseLimit: 1000 })
  await assert.rejects(bounded(base), /larger than 1000 bytes/)
  const fetch = createGuardedFetch({ agent, allowPrivateNetwork: true, timeout: 200 })
  respond = (_request, response) => response.write('never ends')
  await assert.rejects(fetch(base), { name: 'TimeoutError' })
  respond = () => undefined
  await assert.rejects(fetch(base), { name: 'TimeoutError' })
  await assert.rejects(fetch(base, { signal: AbortSignal.abort(new Error('enough')) }), /enough/)
  await agent.destroy()
})

test('the guarded fetch refuses http and private addresses unless they are allowed', async () => {
  const agent = createOutboundAgent({ allowPrivateNetwork: false })
  const fetch = createGuardedFetch({ agent, allowPrivateNetwork: false })
  await assert.rejects(fetch('http://example.com/'), /must be https/)
  await assert.rejects(fetch('https://[::ffff:127.0.0.1]/'), /private or reserved/)
  await agent.destroy()
})
