// The service as a part of other programs: each way passes the same checks below a prefix.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import { Browser, freePort, engines, scoped, started, startOAuthProvider } from '#test/harness/index.ts'
import { startReceiver } from '#test/harness/receiver.ts'
import { startTestService } from '#test/harness/service.ts'
import { createHandler, defineConfig, hmac, postern } from '../../src/index.ts'
import { eventually } from '../receiving/harness.ts'
import { fastify, fastifyApp, inExpress, listen, mountPath, nodeServer, routeFile, type Way } from './ways.ts'

const key = 'pk_test_admin_key_0123456789'
const secret = 'a-webhook-secret-of-the-test'
const admin = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const config = defineConfig({
  receiving: {
    sources: { shop: hmac({ header: 'x-signature', secret }) },
    handlers: {
      'order.paid': ({ id }, { emit }) => emit({ type: 'invoice.sent', data: { order: id } }),
    },
  },
})

const signed = (body: string) => ({
  method: 'POST',
  body,
  headers: {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', secret).update(body).digest('hex'),
  },
})
// The signature is of these bytes, which no parser would write again.
const webhook = '{ "id":"evt_1",\n "type" : "order.paid", "amount": 1.10 }'

describe('the service in another program', () => {
  let env: Record<string, string>
  const database = started(() => engines[0]!.createMigratedDatabase())
  const provider = started(startOAuthProvider)
  before(async () => {
    env = {
      DATABASE_URL: database.url,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      ADMIN_API_KEY: key,
      WEBHOOK_SECRET: secret,
      ALLOW_PRIVATE_NETWORK: 'true',
      ...provider.env('MOCK'),
      LOG_LEVEL: process.env['TEST_LOG'] ?? 'fatal',
    }
  })

  const ways: [name: string, way: Way, env?: Record<string, string>][] = [
    ['Fastify with a prefix', fastify],
    ["Node's http, and an API route of Next.js", nodeServer],
    ['a mount path, as Express passes it on', mountPath],
    ['Express', inExpress],
    ['a route file of Next.js', routeFile, { BASE_URL: 'https://app.example.com' }],
  ]
  for (const [name, way, more] of ways)
    describe(name, () => {
      const receiver = started(startReceiver)
      const mounted = started(() => way({ ...config, env: { ...env, ...more } }))

      const textOf = async (path: string, init?: RequestInit): Promise<string> => {
        const response = await mounted.fetch(path, init)
        const text = await response.text()
        assert.equal(response.status, 200, text)
        return text
      }

      test('a sign-in ends below the prefix, with a cookie for the whole host', async () => {
        const start = await mounted.fetch('/auth/mock')
        const atProvider = new URL(start.headers.get('location')!)
        assert.equal(atProvider.searchParams.get('redirect_uri'), `${mounted.url}/auth/mock/callback`)
        const [flow = ''] = start.headers.getSetCookie()
        const back = await fetch(atProvider, { redirect: 'manual' })
        const { search } = new URL(back.headers.get('location')!)
        const cookie = flow.split(';', 1)[0]!
        const end = await mounted.fetch(`/auth/mock/callback${search}`, { headers: { cookie } })
        assert.equal(end.headers.get('location'), '/gate/dashboard')
        const [session = ''] = end.headers.getSetCookie()
        assert.match(session, /; Path=\//)
        if (mounted.url.startsWith('https:')) assert.match(session, /^__Host-.*; Path=\/;.*; Secure/)
        const signedIn = { cookie: session.split(';', 1)[0]! }
        assert.match(await textOf('/auth/session', { headers: signedIn }), /Ada Lovelace/)
        assert.match(
          await textOf('/dashboard', { headers: signedIn }),
          /src="\/gate\/assets\/app\/dashboard-[\w-]+\.js"/,
        )
        const { origin } = new URL(mounted.url)
        const out = await mounted.fetch('/auth/logout', { method: 'POST', headers: { ...signedIn, origin } })
        assert.equal(out.status, 204)
        const foreign = { ...signedIn, origin: 'https://elsewhere.example' }
        assert.notEqual(
          (await mounted.fetch('/auth/logout', { method: 'POST', headers: foreign })).status,
          204,
        )
      })

      test('a signed webhook is verified by its bytes, handled, and its event is sent', async () => {
        const made = await mounted.fetch('/subscribers', {
          method: 'POST',
          headers: admin,
          body: JSON.stringify({ url: receiver.url }),
        })
        assert.equal(made.status, 201, await made.text())
        const body = webhook.replace('evt_1', `evt_${name}`)
        assert.equal(await textOf('/webhooks/shop', signed(body)), '{"received":true}')
        const [call] = await receiver.waitFor(1)
        assert.match(call!.body.toString(), /"invoice.sent"/)
        const forged = { ...signed(body), body: body.replace('1.10', '1.1') }
        const refused = await mounted.fetch('/webhooks/shop', forged)
        assert.equal(refused.status, 401)
        assert.equal(await refused.text(), 'invalid signature')
      })

      test('a list links to its next page below the prefix', async () => {
        for (const number of [1, 2])
          await mounted.fetch('/products', {
            method: 'POST',
            headers: admin,
            body: JSON.stringify({ id: `${name} ${number}`, category: 'c', price: 1, stock: 1, name: 'n' }),
          })
        const page = await mounted.fetch('/products?limit=1')
        assert.match(page.headers.get('link')!, /^<\/gate\/products\?.*>; rel="next"$/)
        await page.arrayBuffer()
      })

      test('pages, their files, the description and problems name addresses below the prefix', async () => {
        await eventually(async () => (await textOf('/readyz')).includes('"status":"ready"'))
        assert.equal((await mounted.fetch('/dashboard')).headers.get('location'), '/gate/login')
        assert.match(await textOf('/login'), /href="\/gate\/auth\/mock"/)
        const docs = await textOf('/docs')
        assert.match(docs, /href="\/gate\/openapi.json"/)
        const [, script = ''] = /src="\/gate(\/assets\/reference.js)"/.exec(docs)!
        assert.match(await textOf(script), /document\.body\.dataset/)
        assert.deepEqual(JSON.parse(await textOf('/openapi.json')).servers, [{ url: '/gate' }])
        const problem = await mounted.fetch('/nothing')
        assert.equal(((await problem.json()) as { type: string }).type, '/gate/problems/not-found')
      })

      test('a body that is too large is refused', async () => {
        const body = ' '.repeat(1_100_000)
        const { status } = await mounted.fetch('/webhooks/shop', signed(body))
        assert.equal(status, 413)
      })
    })

  test('the development provider signs in below a prefix', async () => {
    await using mounted = scoped(await fastify({ ...config, env }))
    const browser = new Browser()
    const { url } = await browser.follow(`${mounted.url}/auth/demo`)
    const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person: 'ada' }) })
    const end = await browser.follow(new URL(chosen.headers.get('location')!, url))
    assert.equal(end.url.href, `${mounted.url}/dashboard`)
    assert.equal(end.response.status, 200)
  })

  test("the application's own routes keep their parser, error handler and hooks", async () => {
    await using app = scoped(await fastifyApp({ ...config, env, prefix: '/gate' }))
    const post = { method: 'POST', url: '/own', payload: { a: 1 } } as const
    const own = await app.inject(post)
    assert.deepEqual(own.json(), { body: { a: 1 } })
    assert.equal(own.headers['x-own'], 'yes')
    assert.equal(own.headers['content-security-policy'], undefined)
    const failed = await app.inject('/own/error')
    assert.equal(failed.statusCode, 418)
    assert.equal((await app.inject('/elsewhere')).json<{ error: string }>().error, 'Not Found')
  })

  test('without a prefix, the application keeps its routes, and the service answers all others', async () => {
    const app = Fastify()
    app.get('/', async () => 'own')
    await app.register(postern, { ...config, env })
    try {
      assert.equal((await app.inject('/')).body, 'own')
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      const start = await fetch(`${url}/auth/mock`, { redirect: 'manual' })
      const { searchParams } = new URL(start.headers.get('location')!)
      assert.equal(searchParams.get('redirect_uri'), `${url}/auth/mock/callback`)
      const body = webhook.replace('evt_1', 'evt_root')
      assert.equal((await fetch(`${url}/webhooks/shop`, signed(body))).status, 200)
    } finally {
      await app.close()
    }
  })

  test('without workers, events wait; a later start handles them', async () => {
    await using receiver = await startReceiver()
    const idle = await fastify({ ...config, env, workers: false })
    const body = webhook.replace('evt_1', 'evt_later')
    const path = '/events?direction=received&order=desc&limit=1'
    try {
      await idle.fetch('/subscribers', {
        method: 'POST',
        headers: admin,
        body: JSON.stringify({ url: receiver.url }),
      })
      assert.equal((await idle.fetch('/webhooks/shop', signed(body))).status, 200)
      const { data } = (await (await idle.fetch(path)).json()) as { data: { status: string }[] }
      assert.equal(data[0]!.status, 'pending')
    } finally {
      await idle.close()
    }
    await using _busy = scoped(await fastify({ ...config, env }))
    await receiver.waitFor(1)
  })

  test('a body that a parser has read is a fault of the program, and never of the signature', async () => {
    const gate = await createHandler({ ...config, env, prefix: '/gate' })
    // As express.json() does.
    const server = createServer((request, response) => {
      request.on('data', () => undefined).on('end', () => gate(request, response))
    })
    await using mounted = scoped(await listen(server, '/gate', gate.close))
    const response = await mounted.fetch('/webhooks/shop', signed(webhook))
    assert.equal(response.status, 500)
    const problem = (await response.json()) as { code: string; advice: string }
    assert.equal(problem.code, 'body-consumed')
    assert.match(problem.advice, /before parsers such as `express.json\(\)`/)
  })

  test('a service of its own may be below the path of BASE_URL', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/gate`
    await using _service = await startTestService(engines[0]!, { env: { PORT: String(port), BASE_URL: url } })
    const page = await fetch(`${url}/login?return_to=/gate/dashboard`)
    assert.match(await page.text(), /href="\/gate\/auth\/demo"/)
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
  })

  test('a prefix that is no path, or is another one than that of BASE_URL, stops the start', async () => {
    await assert.rejects(createHandler({ env, prefix: '/:tenant' }), /the prefix \/:tenant is no path/)
    const other = { ...env, BASE_URL: 'https://app.example.com/door' }
    await assert.rejects(createHandler({ env: other, prefix: '/gate' }), /BASE_URL has the path \/door/)
  })

  test('its log has the start and when it is ready, without secrets', async () => {
    const index = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
    const program = `const { createHandler } = await import(${index}); await (await createHandler()).close()`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...process.env, ...env, LOG_LEVEL: 'debug', LOG_FORMAT: 'json' },
    })
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
    assert.equal(messages[0], 'starting')
    assert.ok(messages.includes('ready'), stdout)
    assert.ok(!stdout.includes(env['POSTERN_SECRET']!))
  })
})
