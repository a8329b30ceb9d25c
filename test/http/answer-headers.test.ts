// Headers of every answer: those of the framework, of the raw webhook routes, and of the server for input that is not a request.
import assert from 'node:assert/strict'
import { connect, type AddressInfo } from 'node:net'
import { STATUS_CODES } from 'node:http'
import { before, describe, test } from 'node:test'
import { dropbox } from '../../src/index.ts'
import type { ApiDocument } from '../harness/conformance.ts'
import { adminKey, engines, startedService } from '../harness/index.ts'
import { sign } from '../receiving/harness.ts'

/** Answers that may be kept, all of them the same for everybody; a caller that keeps others keeps what is one person's. */
const kept: Record<string, string> = {
  '/.well-known/openid-configuration': 'public',
  '/.well-known/oauth-authorization-server': 'public',
  '/.well-known/jwks.json': 'public, max-age=',
  '/.well-known/webhook-keys.json': 'public, max-age=',
  '/products': 'no-cache',
  '/api/posts': 'no-cache',
}

describe('caching of responses', () => {
  const service = startedService(engines[0]!)

  test('by default, no GET response may be stored, with and without a credential', async () => {
    const emitted = await service.admin('/events', { method: 'POST', json: { type: 'a', data: {} } })
    const { id } = (await emitted.json()) as { id: number }
    const { paths } = (await (await service.fetch('/openapi.json')).json()) as ApiDocument
    const all = Object.entries(paths).filter(([, methods]) => 'get' in methods)
    assert.ok(all.length > 30)
    for (const [path] of all) {
      for (const headers of [{}, { authorization: `Bearer ${adminKey}` }] as Record<string, string>[]) {
        const address = path.replaceAll(/\{\w+\}/g, String(id))
        const response = await service.fetch(address, { headers })
        await response.arrayBuffer()
        const control = response.headers.get('cache-control') ?? ''
        const about = `${path} ${response.status}: ${control}`
        if (response.status < 400 && kept[path]) assert.ok(control.startsWith(kept[path]), about)
        else assert.equal(control, 'no-store', about)
      }
    }
  })

  test('responses to writes, which may contain secrets', async () => {
    const url = 'http://127.0.0.1:9/hook'
    const made = await service.admin('/subscribers', { method: 'POST', json: { url } })
    const { id } = (await made.json()) as { id: string }
    const rotated = await service.admin(`/subscribers/${id}/rotate-secret`, { method: 'POST', json: {} })
    for (const response of [made, rotated, await service.admin(`/subscribers/${id}`)])
      assert.equal(response.headers.get('cache-control'), 'no-store')
  })

  test('pages and their files', async () => {
    for (const path of ['/login', '/dashboard', '/portal', '/docs', '/nothing', '/'])
      assert.equal((await service.fetch(path)).headers.get('cache-control'), 'no-store', path)
    for (const [path, control] of [
      ['/assets/pages.css', 'public, max-age=0'],
      ['/assets/reference.js', 'public, max-age=0'],
    ] as const)
      assert.equal((await service.fetch(path)).headers.get('cache-control'), control, path)
  })
})

describe('responses of a service with an https address', () => {
  let port: number
  const service = startedService(engines[0]!, () => ({
    env: { NODE_ENV: 'production', BASE_URL: 'https://gate.example.com' },
    config: { receiving: { sources: { box: dropbox({ secret: 'a'.repeat(32) }) } } },
    parts: { timeouts: { headers: 500, request: 1_000, check: 20, stillness: 5_000 } },
  }))
  before(async () => {
    port = (service.app.server.address() as AddressInfo).port
  })

  const send = async (text: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.setEncoding('latin1').write(text)
    return (await socket.toArray()).join('')
  }
  const close = 'host: a\r\nconnection: close\r\n'
  const body = JSON.stringify({ id: 'one', type: 'a' })
  const long = 'a'.repeat(20_000)
  const signed = `content-type: application/json\r\ncontent-length: ${body.length}\r\nx-signature: ${sign(body)}\r\n\r\n${body}`

  for (const [name, status, text] of [
    ['a webhook', 200, `POST /webhooks/provider HTTP/1.1\r\n${close}${signed}`],
    ['a webhook that takes the ordinary way', 200, `POST /webhooks/provider?a HTTP/1.1\r\n${close}${signed}`],
    ['a forged webhook', 401, `POST /webhooks/provider HTTP/1.1\r\n${close}content-length: 0\r\n\r\n`],
    ['a question of a sender', 200, `GET /webhooks/box?challenge=abc HTTP/1.1\r\n${close}\r\n`],
    [
      'a question with a script in it',
      400,
      `GET /webhooks/box?challenge=%3Cscript%3E HTTP/1.1\r\n${close}\r\n`,
    ],
    ['a page', 200, `GET /login HTTP/1.1\r\n${close}\r\n`],
    ['an unknown address', 404, `GET /nothing HTTP/1.1\r\n${close}\r\n`],
    ['a broken address', 400, `GET /problems/% HTTP/1.1\r\n${close}\r\n`],
    ['a method of another protocol', 404, 'PRI *HTTP/2.0\r\n\r\n'],
    ['no HTTP', 400, 'hello\r\n\r\n'],
    ['headers that are too large', 431, `GET / HTTP/1.1\r\nhost: a\r\nx: ${long}\r\n\r\n`],
    ['headers that do not end', 408, 'GET / HTTP/1.1\r\nhost: a\r\n'],
    ['no Host', 400, 'GET / HTTP/1.1\r\n\r\n'],
    ['two Hosts', 400, `GET / HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
  ] as const) {
    test(`${name}: ${status}, with the common headers and the registered reason phrase`, async () => {
      const answer = await send(text)
      const [head = ''] = answer.split('\r\n\r\n')
      assert.ok(head.startsWith(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`), head)
      assert.match(head, /\r\nx-content-type-options: nosniff(\r\n|$)/i)
      assert.match(head, /\r\nstrict-transport-security: max-age=31536000; includeSubDomains(\r\n|$)/i)
      assert.match(head, /\r\ncache-control: no-store(\r\n|$)/i)
      assert.match(head, /\r\ncontent-security-policy: default-src 'none';[^\r]*frame-ancestors 'none'/i)
    })
  }
})
