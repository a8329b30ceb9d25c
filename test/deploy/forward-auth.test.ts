// An application behind nginx, Caddy, Traefik and Envoy, guarded by Postern as the files in deploy/ say: on Postern's own host, a subdomain and
// another domain. Needs the binaries `nginx`, `caddy`, `traefik` and `envoy`; what is missing is skipped.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose'
import { engines } from '../harness/engines.ts'
import { startOAuthProvider, type OAuthProvider } from '../harness/oauth-provider.ts'
import { startTestService, type TestService } from '../harness/service.ts'
import { eventually } from '../receiving/harness.ts'
import { domain, guardKinds, own, startGuard, subdomain, type Guard } from './guards.ts'
import { ProxiedClient, type Answer } from './proxied-client.ts'

/** A request as the application got it. */
interface Seen {
  method: string
  url: string
  headers: IncomingHttpHeaders
  bytes: number
  sha256: string
}

const asForm = {
  accept: 'text/html',
  'sec-fetch-dest': 'document',
  'content-type': 'application/x-www-form-urlencoded',
}
const places = [
  ['a path of the own host', `https://${own}/app`],
  ['a subdomain', `https://${subdomain}`],
  ['another domain', `https://${domain}`],
] as const

for (const kind of guardKinds) {
  const skip = kind.installed ? false : `${kind.name} is not installed`

  describe(`forward authentication through ${kind.name}`, { skip }, () => {
    const seen: Seen[] = []
    const streams: ServerResponse[] = []
    let application: Server
    let provider: OAuthProvider
    let service: TestService
    let guard: Guard
    before(async () => {
      application = startApplication(seen, streams)
      application.listen(0, '127.0.0.1')
      await once(application, 'listening')
      provider = await startOAuthProvider()
      const allow = 'signed-in'
      const paths = { '/public/*': 'everyone', '/admin/*': { roles: ['admin'] } } as const
      service = await startTestService(engines[0]!, {
        env: {
          ...provider.env('ACME'),
          NODE_ENV: 'production',
          ALLOW_PRIVATE_NETWORK: 'true',
          BASE_URL: `https://${own}`,
          TRUSTED_PROXIES: '127.0.0.1',
          RATE_LIMIT: 'on',
        },
        config: {
          forwardAuth: {
            hosts: {
              [own]: { allow },
              [subdomain]: { allow, paths, token: true },
              [domain]: { allow },
            },
          },
        },
      })
      const addressOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
      guard = await startGuard(kind, {
        postern: addressOf(service.app.server),
        application: addressOf(application),
      })
      const client = new ProxiedClient(guard)
      await eventually(async () => (await client.ask(`https://${own}/readyz`)).status === 200, 'it is ready')
      client.close()
    })
    after(async () => {
      await service.close()
      await guard.close()
      await provider.close()
      application.closeAllConnections()
      application.close()
    })

    function clientOf(t: { after(work: () => void): void }): ProxiedClient {
      const client = new ProxiedClient(guard)
      t.after(() => client.close())
      return client
    }

    /** Signs a person in on the page to which a guarded one led. */
    async function signIn(
      client: ProxiedClient,
      id: string,
      { url }: { url: URL },
    ): Promise<Answer & { url: URL }> {
      assert.equal(url.host + url.pathname, `${own}/login`)
      provider.profile = { id, displayName: id }
      const returnTo = encodeURIComponent(url.searchParams.get('return_to')!)
      return client.open(`https://${own}/auth/acme?return_to=${returnTo}`)
    }

    async function signedIn(
      t: { after(work: () => void): void },
      id: string,
      at = places[1][1],
    ): Promise<ProxiedClient> {
      const client = clientOf(t)
      const { status } = await signIn(client, id, await client.open(`${at}/`))
      assert.equal(status, 200)
      return client
    }

    for (const [name, base] of places)
      test(`${name}: a page leads to the sign-in and back, and the application learns who it is`, async (t) => {
        const client = clientOf(t)
        const address = `${base}/deep/page?a=1&b=%20&c=x%26y`
        const { status, body, url } = await signIn(
          client,
          `visitor-${base.length}`,
          await client.open(address),
        )
        assert.equal(status, 200, body)
        assert.equal(url.href, address)
        const { headers } = JSON.parse(body) as Seen
        const session = await client.ask(`https://${own}/auth/session`)
        const { user } = JSON.parse(session.body) as { user: { id: string; name: string } }
        assert.equal(headers['remote-user'], user.id)
        assert.equal(headers['remote-name'], user.name)
        assert.equal(headers['remote-email'] ?? '', '')
        assert.doesNotMatch(headers.cookie ?? '', /postern|flow/)
      })

    test('a sign-in holds for all hosts, and its end too', async (t) => {
      const client = await signedIn(t, 'everywhere')
      for (const [, base] of places) {
        const { status, url } = await client.open(`${base}/x`)
        assert.equal(status, 200)
        assert.equal(url.href, `${base}/x`)
      }
      await client.ask(`https://${own}/auth/logout`, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
      })
      for (const [, base] of places) assert.equal((await client.ask(`${base}/x`)).status, 401)
    })

    test('the token of the person verifies from the JWKS', async (t) => {
      const client = await signedIn(t, 'token')
      const { body } = await client.ask(`https://${subdomain}/`)
      const { headers } = JSON.parse(body) as Seen
      const keys = JSON.parse(
        (await client.ask(`https://${own}/.well-known/jwks.json`)).body,
      ) as JSONWebKeySet
      const { payload } = await jwtVerify(String(headers['remote-token']), createLocalJWKSet(keys), {
        issuer: `https://${own}`,
        audience: `https://${subdomain}`,
      })
      assert.equal(payload.sub, headers['remote-user'])
    })

    test('a page with 200 assets, again and again, with a session and without', async (t) => {
      const client = await signedIn(t, 'assets')
      const stranger = clientOf(t)
      const load = (by: ProxiedClient, base: string) =>
        Promise.all(
          Array.from({ length: 200 }, async (_, number) => {
            const headers = { accept: 'image/*', 'sec-fetch-dest': 'image' }
            return (await by.ask(`${base}/assets/${number}.png`, { headers })).status
          }),
        )
      for (let round = 0; round < 3; round += 1)
        for (const [, base] of places.slice(0, 2)) {
          assert.deepEqual(new Set(await load(client, base)), new Set([200]))
          assert.deepEqual(new Set(await load(stranger, base)), new Set([401]))
        }
    })

    test('an upload arrives whole; without a session the application does not see it', async (t) => {
      const client = await signedIn(t, 'upload')
      const body = randomBytes(8_000_000)
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
        const answer = await client.ask(`https://${subdomain}/upload`, { method: 'POST', body, headers })
        assert.equal(answer.status, 200)
        const { bytes, sha256 } = JSON.parse(answer.body) as Seen
        assert.equal(bytes, body.length)
        assert.equal(sha256, createHash('sha256').update(body).digest('hex'))
      }
      const before = seen.length
      const small = { method: 'PUT', body: 'x'.repeat(1_000), headers: { 'content-type': 'text/plain' } }
      assert.equal((await clientOf(t).ask(`https://${subdomain}/upload`, small)).status, 401)
      assert.equal(seen.length, before)
    })

    test('server-sent events arrive one by one', async (t) => {
      const client = await signedIn(t, 'events')
      const headers = { accept: 'text/event-stream' }
      const response = await client.send(`https://${subdomain}/events`, { headers })
      assert.equal(response.statusCode, 200)
      let received = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
      const stream = await eventually(() => streams.at(-1), 'the stream')
      for (let number = 1; number <= 3; number += 1) {
        stream.write(`data: ${number}\n\n`)
        await eventually(() => received.includes(`data: ${number}\n`), `event ${number}`)
      }
      stream.end()
      await once(response, 'end')
      assert.equal((await clientOf(t).ask(`https://${subdomain}/events`, { headers })).status, 401)
    })

    test('a form that was sent after the end of the session is not lost silently', async (t) => {
      const client = await signedIn(t, 'form')
      const form = { method: 'POST', body: 'text=important', headers: asForm }
      assert.equal((await client.ask(`https://${subdomain}/save`, form)).status, 200)
      await client.ask(`https://${own}/auth/logout`, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
      })
      const before = seen.length
      const refused = await client.ask(`https://${subdomain}/save`, form)
      assert.equal(refused.status, 401)
      assert.match(refused.body, /nothing was saved/)
      assert.equal(seen.length, before)
      // The person signs in in another tab, comes back and sends it again.
      await signIn(client, 'form', await client.open(`https://${subdomain}/`))
      const again = await client.ask(`https://${subdomain}/save`, form)
      assert.equal(again.status, 200)
      assert.equal((JSON.parse(again.body) as Seen).bytes, 'text=important'.length)
    })

    test('what a client sends under the names of the proxy does not count', async (t) => {
      const client = await signedIn(t, 'forger')
      const forged = {
        'remote-user': 'admin',
        'remote-email': 'a@example.com',
        'remote-groups': 'admin',
        'remote-token': 'x',
        'remote-name': 'x',
        // The same names to frameworks that read headers as variables.
        remote_user: 'admin',
        remote_token: 'x',
      }
      for (const [, base] of places) {
        await client.open(`${base}/`)
        const { headers } = JSON.parse((await client.ask(`${base}/`, { headers: forged })).body) as Seen
        for (const [name, value] of Object.entries(forged))
          assert.notEqual(headers[name], value, `${base} ${name}`)
      }
      const open = JSON.parse(
        (await clientOf(t).ask(`https://${subdomain}/public/x`, { headers: forged })).body,
      ) as Seen
      for (const name of Object.keys(forged)) assert.equal(open.headers[name] ?? '', '', name)
      const headers = {
        'x-forwarded-uri': '/public/x',
        'x-forwarded-host': own,
        'x-forwarded-method': 'OPTIONS',
        'x-original-uri': '/public/x',
      }
      assert.equal((await clientOf(t).ask(`https://${subdomain}/`, { headers })).status, 401)
      assert.equal((await client.ask(`https://${subdomain}/admin/x`, { headers })).status, 403)
    })

    test('a path in disguise, another method or an upgrade does not get around a rule', async (t) => {
      const visitor = await signedIn(t, 'disguised')
      const targets = [
        '/public/../admin/x',
        '/public/%2e%2e/admin/x',
        '/public/%2E%2E%2Fadmin/x',
        '/public%2f..%2fadmin/x',
        '/public/..;/admin/x',
        '/public/..%5cadmin/x',
        '/admin;x/y',
        '/%61dmin/x',
        '/ADMIN/x',
        '//admin/x',
        '/./admin/x',
        '/admin//x',
        '/admin/x?/public/x',
        `https://${subdomain}/admin/x`,
      ]
      for (const client of [visitor, clientOf(t)])
        for (const target of targets)
          await assertUnreached(client.ask(`https://${subdomain}/`, { target }), target)
      const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
      for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])
        await assertUnreached(visitor.ask(`https://${subdomain}/admin/x`, { method }), method)
      for (const client of [visitor, clientOf(t)])
        await assertUnreached(client.ask(`https://${subdomain}/admin/x`, { headers: upgrade }), 'upgrade')
    })

    async function assertUnreached(asked: Promise<Answer>, what: string): Promise<void> {
      const before = seen.length
      // A proxy may also close the connection.
      const status = await asked.then(
        (answer) => answer.status,
        () => 'closed',
      )
      assert.ok([302, 400, 401, 403, 404, 405, 'closed'].includes(status), `${what}: ${status}`)
      assert.equal(seen.length, before, `${what}: the application was reached`)
    }

    test('the cookie of one host does not sign in at another', async (t) => {
      const client = await signedIn(t, 'carried')
      const cookie = [...client.cookies(subdomain)].map((pair) => pair.join('=')).join('; ')
      for (const host of [own, domain])
        await assertUnreached(clientOf(t).ask(`https://${host}/app/x`, { headers: { cookie } }), host)
    })

    test('a client cannot take away the headers of the person by naming them in Connection', async (t) => {
      const client = await signedIn(t, 'nameless')
      for (const [, base] of places) {
        await client.open(`${base}/`)
        for (const connection of [
          'close, Remote-User, remote-groups, Cookie',
          'Remote_User',
          'remote-token',
        ]) {
          const { status, body } = await client.ask(`${base}/x`, { headers: { connection } })
          if (status === 400) continue
          const { headers } = JSON.parse(body) as Seen
          assert.ok(headers['remote-user'], `${base}: ${connection}`)
          assert.equal(headers['remote-token'] === undefined, base !== `https://${subdomain}`, connection)
        }
      }
    })

    test('nobody but the proxy asks at /auth/forward', async (t) => {
      const headers = { 'x-forwarded-uri': '/public/x', 'x-forwarded-host': subdomain }
      for (const path of ['/auth/forward', '/auth/forward/public/x'])
        assert.ok(
          [403, 404].includes((await clientOf(t).ask(`https://${own}${path}`, { headers })).status),
          path,
        )
    })
  })
}

/** Answers with what it got; `/events` is a stream that the test writes. */
function startApplication(seen: Seen[], streams: ServerResponse[]): Server {
  return createServer((request, response) => {
    const { method = '', url = '', headers } = request
    if (url.endsWith('/events')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      streams.push(response)
      return
    }
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    request.on('end', () => {
      const one = { method, url, headers, bytes, sha256: hash.digest('hex') }
      seen.push(one)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(one))
    })
  })
}
