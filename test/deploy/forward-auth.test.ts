// An application behind nginx, Caddy, Traefik and Envoy, guarded by Postern as the files in deploy/ say. Needs the binaries `nginx`, `caddy`,
// `traefik` and `envoy`; what is missing is skipped.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose'
import { eventually } from '../receiving/harness.ts'
import { guardKinds, own, subdomain } from './guards.ts'
import { GuardedApplication, places, type Seen } from './guarded-application.ts'
import type { ProxiedClient } from './proxied-client.ts'

const asForm = {
  accept: 'text/html',
  'sec-fetch-dest': 'document',
  'content-type': 'application/x-www-form-urlencoded',
}

for (const kind of guardKinds)
  describe(`forward authentication through ${kind.name}`, { skip: kind.missing }, () => {
    const site = new GuardedApplication(kind)

    for (const [name, base] of places)
      test(`${name}: a page leads to the sign-in and back, and the application learns who it is`, async (t) => {
        const client = site.visitor(t)
        const address = `${base}/deep/page?a=1&b=%20&c=x%26y`
        const { status, body, url } = await site.signIn(
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
        assert.doesNotMatch(headers.cookie ?? '', /postern_|flow/)
      })

    test('a sign-in holds for all hosts, and its end too', async (t) => {
      const client = await site.signedIn(t, 'everywhere')
      for (const [, base] of places) {
        const { status, url } = await client.open(`${base}/x`)
        assert.equal(status, 200)
        assert.equal(url.href, `${base}/x`)
      }
      await site.signOut(client)
      for (const [, base] of places) assert.equal((await client.ask(`${base}/x`)).status, 401)
    })

    test('the token of the person verifies from the JWKS', async (t) => {
      const client = await site.signedIn(t, 'token')
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

    test('a program with a key reaches what its scopes allow, and the application does not get the key', async (t) => {
      const client = site.visitor(t)
      const headers = { authorization: `Bearer ${await site.newKey(client, 'api:read')}` }
      const { status, body } = await client.ask(`https://${subdomain}/api/x?a=1`, { headers })
      assert.equal(status, 200)
      const seen = (JSON.parse(body) as Seen).headers
      assert.match(String(seen['remote-user']), /^key:/)
      assert.deepEqual([seen['remote-client'], seen['remote-scope']], [seen['remote-user'], 'api:read'])
      assert.doesNotMatch(seen.authorization ?? '', /pk_/)
      const write = await client.ask(`https://${subdomain}/api/x`, { method: 'POST', headers })
      assert.equal(write.status, 403)
      for (const refused of [write, await client.ask(`https://${subdomain}/api/x`)])
        assert.match(refused.headers['www-authenticate'] ?? '', /^Bearer [^B]*scope="api:(?:read|write)"$/)
      // Elsewhere the header is the application's own.
      const { headers: open } = JSON.parse(
        (await client.ask(`https://${subdomain}/public/x`, { headers: { authorization: 'Basic YTpi' } }))
          .body,
      ) as Seen
      assert.deepEqual([open.authorization, open['remote-client'] ?? ''], ['Basic YTpi', ''])
      const without = JSON.parse((await client.ask(`https://${subdomain}/public/x`)).body) as Seen
      assert.equal(without.headers.authorization, undefined)
    })

    test('a preflight reaches the application where the rule says so', async (t) => {
      const client = site.visitor(t)
      const ask = (path: string, asked = 'PUT') => {
        const headers = { origin: 'https://spa.example', 'access-control-request-method': asked }
        return client.ask(`https://${subdomain}${path}`, { method: 'OPTIONS', headers })
      }
      assert.equal((await ask('/cors/x')).status, 200)
      for (const path of ['/', '/api/x']) assert.equal((await ask(path)).status, 401)
      const refused = await client.ask(`https://${subdomain}/api/x`, {
        headers: { origin: 'https://spa.example' },
      })
      assert.equal(refused.status, 401)
      assert.equal(refused.headers['access-control-allow-origin'], 'https://spa.example')
      assert.match(refused.headers['access-control-expose-headers'] ?? '', /WWW-Authenticate/)
      // Only Envoy sends the client what Postern answers with a success.
      assert.equal((await ask('/api/x', 'GET')).status, kind.name === 'envoy' ? 204 : 403)
    })

    test('a page with 200 assets, again and again, with a session and without', async (t) => {
      const client = await site.signedIn(t, 'assets')
      const stranger = site.visitor(t)
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

    for (const [name, base] of places) {
      test(`${name}: an upload arrives whole; without a session the application does not see it`, async (t) => {
        const client = await site.signedIn(t, 'upload', base)
        const body = randomBytes(8_000_000)
        for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
          const answer = await client.ask(`${base}/upload`, { method: 'POST', body, headers })
          assert.equal(answer.status, 200)
          const { bytes, sha256 } = JSON.parse(answer.body) as Seen
          assert.equal(bytes, body.length)
          assert.equal(sha256, createHash('sha256').update(body).digest('hex'))
        }
        const before = site.seen.length
        const small = { method: 'PUT', body: 'x'.repeat(1_000), headers: { 'content-type': 'text/plain' } }
        assert.equal((await site.visitor(t).ask(`${base}/upload`, small)).status, 401)
        assert.equal(site.seen.length, before)
      })

      test(`${name}: server-sent events arrive one by one`, async (t) => {
        const client = await site.signedIn(t, 'events', base)
        const headers = { accept: 'text/event-stream' }
        const response = await client.send(`${base}/events`, { headers })
        assert.equal(response.statusCode, 200)
        let received = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk))
        const stream = await eventually(() => site.streams.at(-1), 'the stream')
        for (let number = 1; number <= 3; number += 1) {
          stream.write(`data: ${number}\n\n`)
          await eventually(() => received.includes(`data: ${number}\n`), `event ${number}`)
        }
        stream.end()
        await once(response, 'end')
        assert.equal((await site.visitor(t).ask(`${base}/events`, { headers })).status, 401)
      })

      test(`${name}: a form that was sent after the end of the session is not lost silently`, async (t) => {
        const client = await site.signedIn(t, 'form', base)
        const form = { method: 'POST', body: 'text=important', headers: asForm }
        assert.equal((await client.ask(`${base}/save`, form)).status, 200)
        await site.signOut(client)
        const before = site.seen.length
        const refused = await client.ask(`${base}/save`, form)
        assert.equal(refused.status, 401)
        assert.match(refused.body, /nothing was saved/)
        assert.equal(site.seen.length, before)
        // The person signs in in another tab, comes back and sends it again.
        await site.signIn(client, 'form', await client.open(`${base}/`))
        const again = await client.ask(`${base}/save`, form)
        assert.equal(again.status, 200)
        assert.equal((JSON.parse(again.body) as Seen).bytes, 'text=important'.length)
      })
    }
  })

for (const kind of guardKinds)
  describe(`preflights that Postern answers behind ${kind.name}`, { skip: kind.missing }, () => {
    const site = new GuardedApplication(kind, { answersPreflights: true })

    test('by the rule for the path and the asked method, and without the application', async (t) => {
      const client = await site.signedIn(t, 'preflights')
      const preflight = (path: string, asked: string, origin = 'https://spa.example') => {
        const headers = { origin, 'access-control-request-method': asked, authorization: 'Bearer x' }
        return client.ask(`https://${subdomain}${path}`, { method: 'OPTIONS', headers })
      }
      const before = site.seen.length
      const { status, headers } = await preflight('/api/x?a=%20b', 'GET')
      assert.equal(status, 204)
      assert.equal(headers['access-control-allow-origin'], 'https://spa.example')
      assert.equal(headers['access-control-allow-methods'], 'GET')
      for (const answer of [
        await preflight('/api/x', 'POST'),
        await preflight('/api/x', 'GET', 'https://evil.example'),
        await preflight('/api/../admin/x', 'GET'),
        await preflight('/', 'GET'),
      ]) {
        assert.ok([400, 401, 403].includes(answer.status), `${answer.status}`)
        for (const name of ['access-control-allow-methods', 'remote-user', 'remote-token'])
          assert.equal(answer.headers[name] ?? '', '')
      }
      assert.equal(site.seen.length, before)
      assert.equal((await client.ask(`https://${subdomain}/api/x`)).status, 200)
      assert.equal((await client.ask(`https://${subdomain}/api/x`, { method: 'OPTIONS' })).status, 403)
    })
  })
