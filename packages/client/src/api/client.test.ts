import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient, type ClientOptions } from './client.ts'

const url = 'https://gate.example.com'

interface Call {
  method: string
  path: string
  headers: Headers
  body: string | undefined
}

/** A client of a service that gives the answers one after the other. */
function clientOf(answers: (() => Response | Promise<Response>)[], options: Partial<ClientOptions> = {}) {
  const calls: Call[] = []
  const client = createClient({
    url,
    async fetch(address, { method = 'GET', headers, body } = {}) {
      const { pathname, search } = new URL(address)
      calls.push({
        method,
        path: pathname + search,
        headers: new Headers(headers),
        body: body as string | undefined,
      })
      return (answers.shift() ?? (() => assert.fail('one call too many')))()
    },
    ...options,
  })
  return { client, calls }
}

const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ code, status, title: code, detail: `${code}.`, requestId: 'r1' }, { status, headers })
const rows = async <T>(list: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const row of list) all.push(row)
  return all
}

describe('calls', () => {
  test('fill the path, the query and the body, and carry the token', async () => {
    const { client, calls } = clientOf(
      [() => Response.json({ id: 1 }), () => new Response(null, { status: 204 })],
      {
        token: async () => 'pk_1',
      },
    )
    await client.patch('/users/{id}', { params: { id: 'a/../b ?' }, body: { role: 'admin' } })
    assert.equal(await client.delete('/portal-links', { query: { owner: 'a&b' } }), undefined)
    assert.deepEqual(
      calls.map(({ method, path, body }) => [method, path, body]),
      [
        ['PATCH', '/users/a%2F..%2Fb%20%3F', '{"role":"admin"}'],
        ['DELETE', '/portal-links?owner=a%26b', undefined],
      ],
    )
    assert.equal(calls[0]!.headers.get('authorization'), 'Bearer pk_1')
    assert.equal(calls[0]!.headers.get('content-type'), 'application/json')
    assert.equal(calls[1]!.headers.get('content-type'), null)
  })

  test('an id that would name another path is refused here', async () => {
    const { client, calls } = clientOf([])
    for (const id of ['', '.', '..'])
      await assert.rejects(client.get('/subscribers/{id}', { params: { id } }), TypeError)
    assert.deepEqual(calls, [])
  })

  test('a wrong path, parameter or body does not compile', () => {
    const { client } = clientOf([])
    const uncalled = [
      // @ts-expect-error: there is no such call.
      () => client.get('/nowhere'),
      // @ts-expect-error: the id is missing.
      () => client.get('/subscribers/{id}'),
      // @ts-expect-error: there is no such role.
      () => client.patch('/users/{id}', { params: { id: '1' }, body: { role: 'king' } }),
      // @ts-expect-error: GET /auth/session is no list.
      () => client.list('/auth/session'),
      async () => {
        const { url } = await client.post('/portal-links', { body: { owner: 'acme' } })
        for await (const { email } of client.list('/users')) return [url, email?.length]
        // @ts-expect-error: a user has no such field.
        for await (const user of client.list('/users')) return user.phone
        return client.request<{ data: number[] }>('GET', '/orders')
      },
    ]
    assert.equal(uncalled.length, 5)
  })
})

describe('errors', () => {
  const cases: [status: number, code: string, name: string][] = [
    [400, 'invalid-body', 'PosternError'],
    [401, 'not-signed-in', 'NotSignedInError'],
    [403, 'insufficient-scope', 'ForbiddenError'],
    [404, 'not-found', 'NotFoundError'],
    [409, 'id-conflict', 'ConflictError'],
    [410, 'no-longer-kept', 'NotFoundError'],
    [429, 'too-many-requests', 'RateLimitedError'],
    [503, 'overloaded', 'UnavailableError'],
  ]
  for (const [status, code, name] of cases)
    test(`${status} is a ${name} with the code of the problem`, async () => {
      const { client } = clientOf([() => problem(status, code, { 'retry-after': '7' })], { retries: 0 })
      const expected = { name, code, status, detail: `${code}.`, requestId: 'r1', retryAfter: 7 }
      await assert.rejects(client.get('/users'), expected)
    })

  test('an answer that is not of the service is an error, too', async () => {
    const json = { headers: { 'content-type': 'application/json' } }
    const { client } = clientOf([
      () => new Response('<html>', { status: 404 }),
      () => new Response('{', json),
      () => Response.redirect(url),
    ])
    const expected = { name: 'NotFoundError', code: 'unexpected-answer', message: /404/ }
    await assert.rejects(client.get('/users'), expected)
    for (let time = 0; time < 2; time += 1)
      await assert.rejects(client.get('/users'), { code: 'unexpected-answer', status: 502 })
  })
})

describe('answers', () => {
  const page = () => new Response('<html>', { headers: { 'content-type': 'text/html' } })

  test('a page of another server, which answers 200 to every path, is no answer of the service', async () => {
    const { client, calls } = clientOf([page, page])
    const expected = { code: 'unexpected-answer', status: 502, detail: /text\/html/ }
    await assert.rejects(client.get('/users'), expected)
    const event = { type: 'order.paid', data: {}, id: 'o1' }
    await assert.rejects(client.post('/events', { body: event, idempotent: true }), expected)
    assert.equal(calls.length, 2)
  })

  test('a call that the types do not describe may answer with a text; no content is undefined', async () => {
    const csv = () => new Response('id\r\n', { headers: { 'content-type': 'text/csv' } })
    const empty = () => new Response(null, { status: 200 })
    const { client } = clientOf([csv, empty])
    assert.equal(await client.request('GET', '/users.csv'), 'id\r\n')
    assert.equal(await client.post('/auth/logout'), undefined)
  })
})

describe('time-outs', () => {
  test('one that is longer than timers can be does not end the call at once', async () => {
    for (const timeout of [Number.POSITIVE_INFINITY, 2 ** 31]) {
      const slow = async (_address: string, init?: RequestInit) => {
        await new Promise((done) => setTimeout(done, 20))
        init?.signal?.throwIfAborted()
        return Response.json({ data: [] })
      }
      assert.deepEqual(await createClient({ url, fetch: slow, timeout, retries: 0 }).get('/auth/providers'), {
        data: [],
      })
    }
  })
})

describe('addresses', () => {
  test('one without https:// is a fault of the program, not of the network', async () => {
    for (const wrong of ['gate.example.com', 'localhost:3000', 'ftp://gate.example.com', 'https://']) {
      const { client, calls } = clientOf([], { url: wrong })
      await assert.rejects(client.get('/auth/providers'), { name: 'TypeError', message: /https:\/\// })
      assert.deepEqual(calls, [])
    }
  })

  test('in a browser it may be empty or a path', async () => {
    for (const [given, address] of [
      ['', '/auth/providers'],
      ['/gate/', '/gate/auth/providers'],
    ] as const) {
      const asked: string[] = []
      const fetch = async (one: string) => {
        asked.push(one)
        return Response.json({ data: [] })
      }
      await createClient({ url: given, fetch }).get('/auth/providers')
      assert.deepEqual(asked, [address])
    }
  })

  test('a token that no header can hold is a fault of the program, too', async () => {
    const { client, calls } = clientOf([], { token: 'pk_1\n2' })
    const error = await client.get('/auth/providers').catch((reason: unknown) => reason)
    assert.ok(error instanceof TypeError && !error.message.includes('pk_1'))
    assert.deepEqual(calls, [])
  })
})

describe('retries', () => {
  const busy = () => problem(503, 'overloaded', { 'retry-after': '0' })
  const broken = () => Promise.reject(new TypeError('fetch failed'))
  const fine = () => Response.json({ data: [] })

  test('calls that read are repeated after 429, 5xx and failures of the network, as often as allowed', async () => {
    const limited = () => problem(429, 'too-many-requests', { 'retry-after': '0' })
    const { client, calls } = clientOf([busy, limited, broken, fine])
    await client.get('/auth/providers')
    assert.equal(calls.length, 4)
    const given = clientOf([busy, busy], { retries: 1 })
    await assert.rejects(given.client.get('/auth/providers'), { code: 'overloaded' })
    assert.equal(given.calls.length, 2)
  })

  test('their number and their longest wait are checked: NaN would retry without end', () => {
    for (const name of ['retries', 'longestWait'])
      for (const value of [Number.NaN, -1])
        assert.throws(() => clientOf([fine], { [name]: value }), {
          name: 'TypeError',
          message: `${name} is ${value}, but must be a number of 0 or more`,
        })
  })

  test('so they are after the page of a gateway that does not reach the service', async () => {
    const gateway = (status: number) => () =>
      new Response('<html>', { status, headers: { 'content-type': 'text/html', 'retry-after': '0' } })
    const { client, calls } = clientOf([gateway(502), gateway(503), gateway(504), fine])
    await client.get('/auth/providers')
    assert.equal(calls.length, 4)
    const given = clientOf([gateway(502), gateway(504)], { retries: 1 })
    const expected = { name: 'UnavailableError', code: 'unavailable', status: 504, retryAfter: 0 }
    await assert.rejects(given.client.get('/auth/providers'), expected)
    const bare = clientOf([gateway(502)])
    await assert.rejects(bare.client.post('/keys', { body: { name: 'k', scopes: ['operate'] } }), {
      status: 502,
    })
    assert.equal(bare.calls.length, 1)
  })

  test('other refusals are not', async () => {
    const { client, calls } = clientOf([() => problem(404, 'not-found')])
    await assert.rejects(client.get('/users'), { status: 404 })
    assert.equal(calls.length, 1)
  })

  test('a POST is repeated only when the caller says so', async () => {
    const body = { type: 'order.paid', data: {}, id: 'o1' }
    const bare = clientOf([busy])
    await assert.rejects(bare.client.post('/events', { body }), { code: 'overloaded' })
    assert.equal(bare.calls.length, 1)
    // Only the id in the body makes two calls one event: the service reads no header for this.
    const keyed = clientOf([busy])
    // @ts-expect-error: there is no such option.
    await assert.rejects(keyed.client.post('/events', { body, idempotencyKey: 'k1' }), { code: 'overloaded' })
    assert.equal(keyed.calls.length, 1)
    assert.equal(keyed.calls[0]!.headers.get('idempotency-key'), null)
    const said = clientOf([busy, fine])
    await said.client.post('/events', { body, idempotent: true })
    assert.equal(said.calls.length, 2)
  })

  test('a Retry-After above the bound is thrown', async () => {
    const { client, calls } = clientOf([() => problem(503, 'overloaded', { 'retry-after': '31' })])
    await assert.rejects(client.get('/users'), { retryAfter: 31 })
    assert.equal(calls.length, 1)
  })

  test('an abort ends the wait with the reason of the signal', async () => {
    const control = new AbortController()
    const waiting = () => {
      setTimeout(() => control.abort(new Error('left')), 5)
      return problem(503, 'overloaded', { 'retry-after': '20' })
    }
    const { client } = clientOf([waiting])
    await assert.rejects(client.get('/users', { signal: control.signal }), { message: 'left' })
    await assert.rejects(client.get('/users', { signal: control.signal }), { message: 'left' })
  })
})

describe('lists', () => {
  test('of all three forms are read to their end', async () => {
    const cursor = clientOf([
      () => Response.json({ data: [1], pageInfo: { hasNextPage: true, nextCursor: 'c1' } }),
      () => Response.json({ data: [2], pageInfo: { hasNextPage: false, nextCursor: null } }),
    ])
    assert.deepEqual(await rows<unknown>(cursor.client.list('/products', { query: { limit: 1 } })), [1, 2])
    assert.deepEqual(
      cursor.calls.map(({ path }) => path),
      ['/products?limit=1', '/products?limit=1&cursor=c1'],
    )
    const keyset = clientOf([
      () => Response.json({ data: [], nextCursor: 7 }),
      () => Response.json({ data: [8], nextCursor: null }),
    ])
    assert.deepEqual(await rows<unknown>(keyset.client.list('/events')), [8])
    const offset = clientOf([
      () => Response.json({ data: [1], pagination: { page: 1, hasNext: true } }),
      () => Response.json({ data: [2], pagination: { page: 2, hasNext: false } }),
    ])
    assert.deepEqual(await rows<unknown>(offset.client.list('/users')), [1, 2])
    assert.equal(offset.calls[1]!.path, '/users?page=2')
    const whole = clientOf([() => Response.json({ data: [1, 2] })])
    assert.deepEqual(await rows<unknown>(whole.client.list('/auth/sessions')), [1, 2])
  })

  test('a page is fetched only when it is read', async () => {
    const { client, calls } = clientOf([() => Response.json({ data: [1, 2], nextCursor: 2 })])
    for await (const _row of client.list('/events')) break
    assert.equal(calls.length, 1)
  })

  test('a page that names itself as the next one ends the list with an error', async () => {
    const same = () => Response.json({ data: [1], nextCursor: 2 })
    const { client } = clientOf([same, same])
    await assert.rejects(rows(client.list('/events')), { code: 'unexpected-answer' })
  })
})
