import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { engines, startedService } from '../harness/index.ts'

/** What never becomes a request, or should not: each gets a clear answer, none a 5xx, and the service goes on. */
describe('broken requests', () => {
  const service = startedService(engines[0]!, () => ({
    parts: { timeouts: { headers: 500, request: 1_000, check: 20, stillness: 5_000 } },
  }))

  /** Sends bytes and gives what comes back until the connection ends. */
  function raw(...parts: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.baseUrl)
      const socket = connect(Number(port), hostname, () => {
        for (const part of parts) socket.write(part)
      })
      let answer = ''
      socket.setEncoding('utf8')
      socket.on('data', (text: string) => (answer += text))
      socket.on('close', () => resolve(answer))
      socket.on('error', reject)
    })
  }

  const scenarios: [name: string, parts: string[], status: number, code: string][] = [
    ['a method of another protocol', ['PRI *HTTP/2.0\r\n\r\n'], 404, 'not-found'],
    ['what is no HTTP', ['hello\r\n\r\n'], 400, 'bad-request'],
    ['a broken header', ['GET / HTTP/1.1\r\nhost: localhost\r\nbroken header\r\n\r\n'], 400, 'bad-request'],
    [
      'headers over 16 KiB',
      [`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`],
      431,
      'headers-too-large',
    ],
    ['headers that never end', ['GET / HTTP/1.1\r\nhost: localhost\r\n'], 408, 'request-timeout'],
    [
      'a body that never ends',
      [
        'POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{',
      ],
      408,
      'request-timeout',
    ],
    [
      'two lengths',
      [
        'POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      ],
      400,
      'bad-request',
    ],
    ['no Host', ['GET / HTTP/1.1\r\n\r\n'], 400, 'bad-request'],
    ['two Hosts', ['GET / HTTP/1.1\r\nhost: localhost\r\nHOST: localhost\r\n\r\n'], 400, 'bad-request'],
    [
      'two Hosts in HTTP/1.0',
      ['GET / HTTP/1.0\r\nhost: localhost\r\nHost: evil.example\r\n\r\n'],
      400,
      'bad-request',
    ],
    ...[
      'gzip, chunked',
      'chunked, chunked',
      'identity, chunked',
      'chunked\r\ntransfer-encoding: chunked',
    ].map((coding): [string, string[], number, string] => [
      `the transfer coding ${JSON.stringify(coding)}`,
      [
        `POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`,
      ],
      400,
      'bad-request',
    ]),
    [
      'a transfer coding in HTTP/1.0',
      ['POST /webhooks/provider HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
      400,
      'bad-request',
    ],
  ]
  for (const [name, parts, status, code] of scenarios) {
    test(`${name}: ${status} ${code}`, async () => {
      const answer = await raw(...parts)
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
      assert.match(answer, /content-type: application\/problem\+json/i)
      assert.equal((JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as { code: string }).code, code)
    })
  }

  test('a request with Upgrade gets a normal response and a closed connection', async () => {
    // What Node drops behind such a request must not be waited for.
    for (const expect of ['', 'expect: 100-continue\r\n', 'expect: x\r\n']) {
      const answer = await raw(
        `POST /webhooks/provider HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n${expect}` +
          'content-length: 2\r\n\r\n{}GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n',
      )
      assert.match(answer, /HTTP\/1.1 401 /)
      assert.match(answer, /connection: close/i)
    }
  })

  const requests: [name: string, path: string, init: RequestInit, status: number, code: string][] = [
    ['an unknown address', '/nothing', {}, 404, 'not-found'],
    ['a wrong method', '/healthz', { method: 'DELETE' }, 405, 'method-not-allowed'],
    ['an unknown problem', '/problems/toString', {}, 404, 'not-found'],
    ['a lone percent sign in the path', '/problems/%', {}, 400, 'bad-request'],
    ['a path parameter of 1,000 characters', `/problems/${'a'.repeat(1000)}`, {}, 414, 'uri-too-long'],
    [
      'a malformed credential',
      '/subscribers',
      { headers: { authorization: 'Basic eDp5' } },
      401,
      'not-signed-in',
    ],
    [
      'an unknown API key',
      '/subscribers',
      { headers: { authorization: 'Bearer pk_nobody' } },
      401,
      'not-signed-in',
    ],
  ]
  for (const [name, path, init, status, code] of requests) {
    test(`${name}: ${status} ${code}`, async () => {
      const response = await service.fetch(path, init)
      assert.equal(response.status, status)
      assert.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
      assert.equal(response.headers.get('cache-control'), 'no-store')
      // Webhooks aside, every answer has them: also those that are made before any route is found.
      assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      const body = (await response.json()) as Record<string, unknown>
      assert.equal(body['code'], code)
      assert.equal(body['status'], status)
      assert.equal(typeof body['requestId'], 'string')
    })
  }

  test('a wrong method is 405, and an unknown path 404, regardless of the body', async () => {
    for (const [method, path, status] of [
      ['QUERY', '/healthz', 405],
      ['QUERY', '/users?limit=1', 405],
      ['PUT', '/events', 405],
      ['DELETE', '/healthz', 405],
      ['POST', '/nothing', 404],
      ['QUERY', '/nothing', 404],
    ] as const) {
      for (const init of [
        {},
        { headers: { 'content-type': 'application/json' }, body: '{' },
        { headers: { 'content-type': 'text/plain' }, body: 'x' },
      ]) {
        const response = await service.admin(path, { method, ...init })
        assert.equal(response.status, status, `${method} ${path} ${JSON.stringify(init)}`)
        assert.equal(response.headers.has('allow'), status === 405)
        await response.text()
      }
    }
  })

  test('a wrong method on a fixed path is 405, also if a parameter route would match', async () => {
    for (const [path, allow] of [
      ['/auth/logout', 'POST'],
      ['/auth/token', 'POST'],
      ['/auth/logout?return_to=/', 'POST'],
    ] as const) {
      const response = await service.fetch(path)
      assert.equal(response.status, 405, path)
      assert.match(response.headers.get('allow') ?? '', new RegExp(`\\b${allow}\\b`))
      assert.doesNotMatch(response.headers.get('allow') ?? '', /GET/)
    }
    const unknown = await service.fetch('/auth/nobody')
    assert.equal(unknown.status, 404)
    assert.equal(((await unknown.json()) as { code: string }).code, 'unknown-provider')
  })

  test('calls with JSON bodies answer other media types with 415', async () => {
    const calls = ['/events', '/subscribers', '/products', '/api/posts', '/webhooks/provider']
    for (const path of calls) {
      for (const type of ['text/plain', 'text/plain;charset=UTF-8', 'text/html', 'application/xml', 'x/y']) {
        const response = await service.admin(path, {
          method: 'POST',
          headers: { 'content-type': type },
          body: '{"type":"a","data":1}',
        })
        // A webhook's signature is looked at first, and this one has none.
        assert.equal(response.status, path === '/webhooks/provider' ? 401 : 415, `${path} ${type}`)
      }
    }
    const changed = await service.admin('/products/a', {
      method: 'PATCH',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
    })
    assert.equal(changed.status, 415)
  })

  test('every problem type is documented at its URL', async () => {
    const problem = (await (await service.fetch('/nothing')).json()) as { type: string }
    const response = await service.fetch(problem.type)
    assert.equal(response.status, 200)
    assert.equal(((await response.json()) as { code: string }).code, 'not-found')
  })
})
