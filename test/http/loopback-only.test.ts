import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { adminKey, engines, startedService, startTestService, type TestService } from '../harness/index.ts'
import { plainRequest } from '../harness/plain-request.ts'

async function get(
  service: TestService,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; code: unknown }> {
  const answer = await plainRequest(service.baseUrl, path, { headers })
  const isProblem = answer.headers['content-type']?.startsWith('application/problem+json')
  return {
    status: answer.status,
    code: isProblem ? (JSON.parse(answer.text) as { code: unknown }).code : undefined,
  }
}

describe('demo mode serves this machine only', () => {
  const service = startedService(engines[0]!)

  const closed = { status: 401, code: 'not-signed-in' }

  test('DNS rebinding reaches neither open lists nor the development provider', async () => {
    const { port } = new URL(service.baseUrl)
    for (const name of [
      'evil.example',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '[::2]',
      '0.0.0.0',
      '10.0.0.1',
      'a@127.0.0.1',
    ]) {
      const headers = { host: `${name}:${port}` }
      for (const path of ['/users', '/events', '/events/1', '/metrics'])
        assert.deepEqual(await get(service, path, headers), closed, `${name} ${path}`)
      const provider = await get(service, '/demo-idp/.well-known/openid-configuration', headers)
      assert.deepEqual(provider, { status: 421, code: 'misdirected-request' }, name)
    }
  })

  test('a proxied request is detected by its headers, for any Host', async () => {
    const { host } = new URL(service.baseUrl)
    for (const proxied of [
      { forwarded: 'for=203.0.113.9' },
      { via: '1.1 gate' },
      { 'x-forwarded-for': '203.0.113.9' },
      { 'x-forwarded-for': '' },
      { 'x-forwarded-host': 'gate.example.com' },
      { 'x-forwarded-host': 'localhost' },
      { 'x-forwarded-proto': 'https' },
      { 'x-real-ip': '203.0.113.9' },
    ] as Record<string, string>[]) {
      const name = JSON.stringify(proxied)
      assert.deepEqual(await get(service, '/users', { host, ...proxied }), closed, name)
      const provider = await get(service, '/demo-idp/.well-known/openid-configuration', { host, ...proxied })
      assert.deepEqual(provider, { status: 421, code: 'misdirected-request' }, name)
    }
    const refused = await service.fetch('/users', { headers: { via: '1.1 gate' } })
    assert.match(((await refused.json()) as { detail: string }).detail, /not through a proxy/)
  })

  test('requests with a credential are served under every host name', async () => {
    const headers = { host: 'gate.example.com', authorization: `Bearer ${adminKey}` }
    assert.equal((await get(service, '/users', headers)).status, 200)
    assert.equal((await get(service, '/products', { host: 'gate.example.com' })).status, 200)
  })

  test('every loopback name is served', async () => {
    for (const host of ['localhost', 'LOCALHOST:3000', '127.0.0.1:1', '127.1.2.3', '[::1]:3000', '[::1]'])
      assert.equal((await get(service, '/users', { host })).status, 200, host)
  })

  test('HTTP/1.0 without a Host header is served', async () => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
    socket.end('GET /users HTTP/1.0\r\n\r\n')
    assert.match((await socket.toArray()).join(''), /^HTTP\/1\.1 200 /)
  })
})

test('with a public BASE_URL nothing is open, even outside production', async () => {
  await using service = await startTestService(engines[0]!, { env: { BASE_URL: 'https://gate.example.com' } })
  const address = service.app.server.address() as { port: number }
  const reached = { ...service, baseUrl: `http://127.0.0.1:${address.port}` }
  for (const path of ['/users', '/events', '/metrics'])
    assert.deepEqual(await get(reached, path, {}), { status: 401, code: 'not-signed-in' }, path)
  for (const path of ['/demo-idp/.well-known/openid-configuration', '/auth/demo'])
    assert.equal((await get(reached, path, {})).status, 404, path)
})

test('production is served under any host name', async () => {
  const env = { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' }
  await using service = await startTestService(engines[0]!, { env })
  const { host } = new URL(service.baseUrl)
  assert.ok(host === 'gate.example.com')
  const address = service.app.server.address() as { port: number }
  const reached = { ...service, baseUrl: `http://127.0.0.1:${address.port}` }
  assert.equal((await get(reached, '/products', { host })).status, 200)
})
