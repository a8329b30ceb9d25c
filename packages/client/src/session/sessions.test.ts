import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { ForbiddenError, NotSignedInError, UnavailableError } from '../errors.ts'
import { createSessions } from './sessions.ts'

const url = 'https://gate.example.com/base/'
const token = 'a'.repeat(43)
const cookie = `__Host-postern_session=${token}`
const session = {
  user: { id: 'u1', email: 'ada@example.com', name: 'Ada', role: 'user' },
  session: { id: 's1', kind: 'session' },
}

function service(answer: () => Response | Promise<Response>) {
  const calls: { address: string; headers: Record<string, string> }[] = []
  const sessions = createSessions({
    url,
    timeout: 1_000,
    async fetch(address, init) {
      calls.push({ address, headers: Object.fromEntries(new Headers(init?.headers)) })
      assert.equal(init?.redirect, 'manual')
      return answer()
    },
  })
  return { ...sessions, calls }
}

const request = (headers: Record<string, string>): Request =>
  new Request('https://app.example.com/', { headers })

describe('getSession', () => {
  test('sends the session cookie alone to the service', async () => {
    const { getSession, calls } = service(() => Response.json(session))
    const found = await getSession(
      request({ cookie: `theme=dark; ${cookie}; other=${token}`, 'x-api-key': 'secret', 'user-agent': 'x' }),
    )
    assert.deepEqual(found, session)
    assert.deepEqual(calls, [
      {
        address: 'https://gate.example.com/base/auth/session',
        headers: { accept: 'application/json', cookie },
      },
    ])
  })

  test('sends a bearer token in place of the cookie', async () => {
    const { getSession, calls } = service(() => Response.json(session))
    await getSession(request({ authorization: 'bearer abc.def', cookie }))
    assert.deepEqual(calls[0]!.headers, { accept: 'application/json', authorization: 'Bearer abc.def' })
  })

  test('reads Node’s requests and Headers', async () => {
    const { getSession, calls } = service(() => Response.json(session))
    const message = new IncomingMessage(new Socket())
    message.headers = { cookie, host: 'app.example.com' }
    assert.deepEqual(await getSession(message), session)
    assert.deepEqual(await getSession(new Headers({ cookie })), session)
    assert.equal(calls.length, 2)
  })

  test('asks nothing without a credential, or with one of another form', async () => {
    const { getSession, calls } = service(() => Response.json(session))
    for (const headers of [
      {},
      { cookie: 'theme=dark' },
      { cookie: 'postern_session=short' },
      { cookie: `xpostern_session=${token}` },
      { authorization: 'Basic abc' },
      { authorization: 'Basic abc', cookie },
    ] as Record<string, string>[])
      assert.equal(await getSession(request(headers)), null)
    assert.deepEqual(calls, [])
  })

  test('is null for 401, and an error for all other failures', async () => {
    const answer = (status: number, body?: object) => service(() => Response.json(body, { status }))
    assert.equal(await answer(401, { code: 'not-signed-in' }).getSession(request({ cookie })), null)
    const problem = { code: 'overloaded', detail: 'Too busy.', requestId: 'r1' }
    await assert.rejects(answer(503, problem).getSession(request({ cookie })), {
      name: 'UnavailableError',
      code: 'overloaded',
      message: 'Too busy.',
      requestId: 'r1',
      status: 503,
    })
    await assert.rejects(answer(200, {}).getSession(request({ cookie })), { code: 'unexpected-answer' })
    await assert.rejects(
      service(() => new Response('<html>')).getSession(request({ cookie })),
      UnavailableError,
    )
    await assert.rejects(service(() => Response.redirect(url)).getSession(request({ cookie })), {
      code: 'unexpected-answer',
    })
  })

  test('fails with unreachable or timeout, and takes nobody for signed out', async () => {
    const broken = service(() => Promise.reject(new TypeError('fetch failed')))
    await assert.rejects(broken.getSession(request({ cookie })), { code: 'unreachable', status: 503 })
    const silent = createSessions({
      url,
      timeout: 20,
      fetch: (_address, init) =>
        new Promise((_done, fail) => {
          init!.signal!.addEventListener('abort', () => fail(init!.signal!.reason as Error))
        }),
    })
    await assert.rejects(silent.getSession(request({ cookie })), { code: 'timeout', status: 503 })
  })
})

describe('requireUser', () => {
  test('throws 401 without a session and 403 without the role', async () => {
    const signedOut = service(() => new Response(null, { status: 401 }))
    for (const headers of [{}, { cookie }] as Record<string, string>[])
      await assert.rejects(signedOut.requireUser(request(headers)), NotSignedInError)
    const { requireUser } = service(() => Response.json(session))
    assert.equal((await requireUser(request({ cookie }))).user.id, 'u1')
    await assert.rejects(requireUser(request({ cookie }), { role: 'admin' }), ForbiddenError)
    const admin = service(() => Response.json({ ...session, user: { ...session.user, role: 'admin' } }))
    await admin.requireUser(request({ cookie }), { role: 'admin' })
  })

  test('checks the scopes of a token that the service accepted, and none of a cookie', async () => {
    const payload = Buffer.from(JSON.stringify({ scope: 'orders:read é' })).toString('base64url')
    const bearer = request({ authorization: `Bearer e30.${payload}.x` })
    const { requireUser } = service(() => Response.json({ ...session, session: { id: 's1', kind: 'token' } }))
    await requireUser(bearer, { scope: 'orders:read' })
    await assert.rejects(requireUser(bearer, { scope: ['orders:read', 'orders:write'] }), {
      code: 'insufficient-scope',
      status: 403,
    })
    await assert.rejects(requireUser(request({ authorization: 'Bearer opaque' }), { scope: 'a' }), {
      status: 403,
    })
    await service(() => Response.json(session)).requireUser(request({ cookie }), { scope: 'orders:write' })
  })
})
