import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import express from 'express'
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { errorOf } from '../errors.ts'
import { headerOf, type HeaderSource } from '../http.ts'
import type { Session } from '../session/sessions.ts'
import type { AccessTokenClaims } from '../tokens/claims.ts'
import * as forExpress from './express.ts'
import * as forFastify from './fastify.ts'
import * as forHono from './hono.ts'
import * as forNext from './next.ts'
import { createHandle, type PosternLocals } from './sveltekit.ts'

const session: Session = {
  sub: 'u1',
  user: { id: 'u1', sub: 'u1', email: null, email_verified: false, name: 'Ada', picture: null, role: 'user' },
  session: { id: 's1', kind: 'session' },
}
const claims = { sub: 'u2' } as AccessTokenClaims

/** Knows one cookie, and one token; fails for the cookie `down`. */
const service = {
  async getSession(request: HeaderSource): Promise<Session | null> {
    const cookie = headerOf(request, 'cookie')
    if (cookie === 'down') throw errorOf('timeout', 503)
    if (cookie === 'broken') throw new Error('a fault of the program')
    return cookie === 'ada' ? session : null
  },
  async requireUser(
    request: HeaderSource,
    { role }: { role?: 'user' | 'admin' | undefined } = {},
  ): Promise<Session> {
    const found = await service.getSession(request)
    if (!found) throw errorOf('not-signed-in', 401, { detail: 'No user is signed in.' })
    if (role === 'admin') throw errorOf('forbidden', 403)
    return found
  },
  async verify(token: string): Promise<AccessTokenClaims> {
    if (token === 'poor') throw errorOf('insufficient-scope', 403)
    if (token !== 'good') throw errorOf('invalid-token', 401, { detail: 'no' })
    return claims
  },
}

type Ask = (path: string, headers?: Record<string, string>) => Promise<Response>

/** What every adapter must do with /user, /admin and /token, which answer with the id that they found. */
function behaves(name: string, start: () => Promise<{ ask: Ask; stop?: () => Promise<unknown> }>): void {
  test(`${name}: lets users and tokens through, and refuses the others as problems`, async () => {
    const { ask, stop } = await start()
    try {
      const expected: [path: string, headers: Record<string, string>, status: number, text: RegExp][] = [
        ['/user', { cookie: 'ada' }, 200, /^u1$/],
        ['/user', {}, 401, /"code":"not-signed-in"/],
        ['/user', { cookie: 'down' }, 503, /"code":"timeout"/],
        ['/admin', { cookie: 'ada' }, 403, /"code":"forbidden"/],
        ['/token', { authorization: 'Bearer good' }, 200, /^u2$/],
        ['/token', { authorization: 'Bearer bad' }, 401, /"code":"invalid-token"/],
        ['/token', { authorization: 'Bearer poor' }, 403, /"code":"insufficient-scope"/],
        ['/token', {}, 401, /"code":"not-signed-in"/],
      ]
      for (const [path, headers, status, text] of expected) {
        const answer = await ask(path, headers)
        const body = await answer.text()
        assert.equal(answer.status, status, `${path} ${JSON.stringify(headers)}: ${body}`)
        assert.match(body, text)
        if (status === 200) continue
        assert.match(answer.headers.get('content-type')!, /^application\/problem\+json/)
        assert.equal(answer.headers.get('cache-control'), 'no-store')
        assert.equal(answer.headers.has('www-authenticate'), status === 401 || body.includes('scope'))
      }
    } finally {
      await stop?.()
    }
  })
}

/** A fault of the program is answered by the framework, and never taken for a refusal. */
function passesOnFaults(name: string, ask: () => Promise<Response>): void {
  test(`${name}: a fault of the program stays one`, async () => {
    const status = await ask().then(
      (answer) => answer.status,
      () => 500,
    )
    assert.equal(status, 500)
  })
}

async function startFastify() {
  const app = Fastify()
  const id = (request: object, reply: { send(text: string): unknown }): unknown =>
    reply.send(forFastify.sessionOf(request).user.id)
  app.get('/user', { onRequest: forFastify.requireUser(service) }, id)
  app.get('/admin', { onRequest: forFastify.requireUser(service, { role: 'admin' }) }, id)
  app.get('/token', { onRequest: forFastify.requireToken(service) }, (request, reply) =>
    reply.send(forFastify.claimsOf(request).sub),
  )
  const url = await app.listen()
  const ask: Ask = (path, headers = {}) => fetch(url + path, { headers })
  return { ask, stop: () => app.close() }
}

async function startExpress() {
  const app = express()
  const id = (request: object, response: { send(text: string): void }): void =>
    response.send(forExpress.sessionOf(request).user.id)
  app.get('/user', forExpress.requireUser(service), id)
  app.get('/admin', forExpress.requireUser(service, { role: 'admin' }), id)
  app.get('/token', forExpress.requireToken(service), (request, response) => {
    response.send(forExpress.claimsOf(request).sub)
  })
  // Without Express's own page, which prints the fault.
  app.use(
    (_error: unknown, _request: object, response: express.Response, _next: unknown) =>
      void response.sendStatus(500),
  )
  const server = app.listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const ask: Ask = (path, headers = {}) =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers })
  return { ask, stop: () => new Promise((done) => server.close(done)) }
}

async function askHono(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const values = new Map<string, unknown>()
  const context = {
    req: { raw: new Request(`https://app.example.com${path}`, { headers }) },
    set: (name: string, value: unknown) => void values.set(name, value),
  }
  let text = ''
  const middlewares: Record<
    string,
    (context: never, next: () => Promise<void>) => Promise<Response | undefined>
  > = {
    '/user': forHono.requireUser(service),
    '/admin': forHono.requireUser(service, { role: 'admin' }),
    '/token': forHono.requireToken(service),
  }
  const refusal = await middlewares[path]!(context as never, async () => {
    text =
      (values.get('session') as Session | undefined)?.user.id ??
      (values.get('claims') as AccessTokenClaims).sub
  })
  return refusal ?? new Response(text)
}

const id = (_request: Request, { user }: Session): Response => new Response(user.id)
const nextHandlers: Record<string, (request: Request, context: object) => Promise<Response>> = {
  '/user': forNext.withUser(service, id),
  '/admin': forNext.withUser(service, id, { role: 'admin' }),
  '/token': forNext.withToken(service, (_request, { sub }) => new Response(sub)),
}
const askNext: Ask = (path, headers = {}) =>
  nextHandlers[path]!(new Request(`https://app.example.com${path}`, { headers }), {})

describe('adapters', () => {
  behaves('Fastify', startFastify)
  behaves('Express', startExpress)
  behaves('Hono', async () => ({ ask: askHono }))
  behaves('Next.js', async () => ({ ask: askNext }))
  passesOnFaults('Fastify', async () => {
    const { ask, stop } = await startFastify()
    return ask('/user', { cookie: 'broken' }).finally(() => void stop())
  })
  passesOnFaults('Express', async () => {
    const { ask, stop } = await startExpress()
    return ask('/user', { cookie: 'broken' }).finally(() => void stop())
  })
  passesOnFaults('Hono', () => askHono('/user', { cookie: 'broken' }))
  passesOnFaults('Next.js', () => askNext('/user', { cookie: 'broken' }))

  test('a route without its guard is a fault', () => {
    assert.throws(() => forFastify.sessionOf({}), TypeError)
    assert.throws(() => forFastify.claimsOf({}), TypeError)
  })

  test('Next.js: the middleware sends browsers to sign in, and back to where they wanted to go', async () => {
    const middleware = forNext.createMiddleware(service)
    const request = (cookie: string): Request =>
      new Request('https://app.example.com/account/orders?page=2&q=a%26b', { headers: { cookie } })
    assert.equal(await middleware(request('ada')), undefined)
    const redirect = await middleware(request('none'))
    assert.equal(redirect?.status, 307)
    const location = new URL(redirect.headers.get('location')!)
    assert.equal(location.origin + location.pathname, 'https://app.example.com/login')
    assert.equal(location.searchParams.get('return_to'), '/account/orders?page=2&q=a%26b')
    // A service that does not answer is no reason to sign in again.
    assert.equal((await middleware(request('down')))?.status, 503)
    const elsewhere = forNext.createMiddleware(service, {
      signInUrl: (wanted) => `https://gate.example.com/in?to=${wanted}`,
    })
    assert.match(
      (await elsewhere(request('')))!.headers.get('location')!,
      /^https:\/\/gate\.example\.com\/in\?to=\/account/,
    )
  })

  test('SvelteKit: handle leaves the session in locals, and refuses what is protected', async () => {
    const handle = createHandle(service, {
      protect: ({ url }) =>
        url.pathname === '/admin' ? { role: 'admin' } : url.pathname === '/user' ? {} : undefined,
    })
    const ask = async (path: string, cookie: string) => {
      const url = new URL(path, 'https://app.example.com')
      const locals = {} as PosternLocals
      const event = { url, locals, request: new Request(url, { headers: { cookie } }) }
      const { status } = await handle({ event, resolve: () => new Response('page') })
      return { status, session: locals.session }
    }
    assert.deepEqual(await ask('/', 'ada'), { status: 200, session })
    assert.deepEqual(await ask('/', ''), { status: 200, session: null })
    assert.deepEqual(await ask('/user', 'ada'), { status: 200, session })
    assert.equal((await ask('/user', '')).status, 401)
    assert.equal((await ask('/admin', 'ada')).status, 403)
    assert.equal((await ask('/', 'down')).status, 503)
  })
})
