// Attempts to get around the files for forward authentication in deploy/. Needs the binaries `nginx`, `caddy`, `traefik` and `envoy`; what
// is missing is skipped.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { domain, guardKinds, own, subdomain } from './guards.ts'
import { GuardedApplication, places, type Seen } from './guarded-application.ts'
import type { Answer } from './proxied-client.ts'

for (const kind of guardKinds)
  describe(`attacks on forward authentication through ${kind.name}`, { skip: kind.missing }, () => {
    const site = new GuardedApplication(kind)

    test('what a client sends under the names of the proxy does not count', async (t) => {
      const client = await site.signedIn(t, 'forger')
      const forged = {
        'remote-user': 'admin',
        'remote-email': 'a@example.com',
        'remote-groups': 'admin',
        'remote-token': 'x',
        'remote-name': 'x',
        'remote-client': 'key:1',
        'remote-scope': 'api:write',
        // The same names to frameworks that read headers as variables.
        remote_user: 'admin',
        remote_token: 'x',
        remote_client: 'key:1',
        remote_scope: 'api:write',
      }
      for (const [, base] of places) {
        await client.open(`${base}/`)
        const { headers } = JSON.parse((await client.ask(`${base}/`, { headers: forged })).body) as Seen
        for (const [name, value] of Object.entries(forged))
          assert.notEqual(headers[name], value, `${base} ${name}`)
      }
      const open = JSON.parse(
        (await site.visitor(t).ask(`https://${subdomain}/public/x`, { headers: forged })).body,
      ) as Seen
      for (const name of Object.keys(forged)) assert.equal(open.headers[name] ?? '', '', name)
      const headers = {
        'x-forwarded-uri': '/public/x',
        'x-forwarded-host': own,
        'x-forwarded-method': 'OPTIONS',
        'x-original-uri': '/public/x',
      }
      assert.equal((await site.visitor(t).ask(`https://${subdomain}/`, { headers })).status, 401)
      assert.equal((await client.ask(`https://${subdomain}/admin/x`, { headers })).status, 403)
    })

    test('a path in disguise, another method or an upgrade does not get around a rule', async (t) => {
      const visitor = await site.signedIn(t, 'disguised')
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
      for (const client of [visitor, site.visitor(t)])
        for (const target of targets)
          await assertUnreached(client.ask(`https://${subdomain}/`, { target }), target)
      const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
      for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'])
        await assertUnreached(visitor.ask(`https://${subdomain}/admin/x`, { method }), method)
      for (const client of [visitor, site.visitor(t)])
        await assertUnreached(client.ask(`https://${subdomain}/admin/x`, { headers: upgrade }), 'upgrade')
    })

    async function assertUnreached(asked: Promise<Answer>, what: string): Promise<void> {
      const before = site.seen.length
      // A proxy may also close the connection.
      const status = await asked.then(
        (answer) => answer.status,
        () => 'closed',
      )
      assert.ok([302, 400, 401, 403, 404, 405, 'closed'].includes(status), `${what}: ${status}`)
      assert.equal(site.seen.length, before, `${what}: the application was reached`)
    }

    test('the cookie of one host does not sign in at another', async (t) => {
      const client = await site.signedIn(t, 'carried')
      const cookie = [...client.cookies(subdomain)].map((pair) => pair.join('=')).join('; ')
      for (const host of [own, domain])
        await assertUnreached(site.visitor(t).ask(`https://${host}/app/x`, { headers: { cookie } }), host)
    })

    test('a client cannot take away the headers of the person by naming them in Connection', async (t) => {
      const client = await site.signedIn(t, 'nameless')
      for (const [, base] of places) {
        await client.open(`${base}/`)
        for (const connection of [
          'close, Remote-User, remote-groups, Cookie',
          'Remote_User',
          'remote-token',
        ]) {
          const before = site.seen.length
          const { status, body } = await client.ask(`${base}/x`, { headers: { connection } })
          // Some proxies refuse such a request, and some remove the cookie before they ask.
          if (status === 400 || (status === 401 && connection.includes('Cookie'))) {
            assert.equal(site.seen.length, before)
            continue
          }
          const { headers } = JSON.parse(body) as Seen
          assert.ok(headers['remote-user'], `${base}: ${connection}`)
          assert.equal((headers['remote-token'] ?? '') === '', base !== `https://${subdomain}`, connection)
        }
      }
    })

    test("no cookie of Postern's reaches the application, also if there is no other", async (t) => {
      const client = await site.signedIn(t, 'cookies')
      const browsers = [client, site.visitor(t)]
      for (const [, base] of places) {
        await client.open(`${base}/`)
        for (const browser of browsers)
          for (const more of ['', 'other=1', 'postern_session=planted', 'postern_session=planted; other=1']) {
            const host = new URL(base).host
            const own = [...browser.cookies(host)].map((pair) => pair.join('='))
            const cookie = [...own, ...(more === '' ? [] : [more])].join('; ')
            if (browser === client) assert.match(cookie, /postern_/)
            const before = site.seen.length
            await browser.ask(`${base}/public/x`, { headers: cookie === '' ? {} : { cookie } })
            for (const { headers } of site.seen.slice(before)) {
              assert.doesNotMatch(headers.cookie ?? '', /postern_|planted|[{}]/, `${base}: ${cookie}`)
              assert.equal(/\bother=1/.test(headers.cookie ?? ''), more.includes('other=1'))
            }
          }
      }
    })

    test('no placeholder of the proxy reaches the application', async (t) => {
      const client = await site.signedIn(t, 'placeholders')
      for (const [, base] of places) {
        await client.open(`${base}/`)
        const { headers } = JSON.parse((await client.ask(`${base}/x`)).body) as Seen
        assert.ok(headers['remote-user'])
        for (const [name, value] of Object.entries(headers))
          assert.doesNotMatch(String(value), /[{}]|http\.reverse_proxy/, name)
      }
    })

    test('nobody but the proxy asks at /auth/forward', async (t) => {
      const client = await site.signedIn(t, 'asks', places[0][1])
      const headers = { 'x-forwarded-uri': '/public/x', 'x-forwarded-host': subdomain, accept: '*/*' }
      const paths = [
        '/auth/forward',
        '/auth/forward?for=nginx',
        '/auth/forward/public/x',
        '/auth//forward',
        '/auth/./forward',
        '/app/../auth/forward',
        '/auth/%66orward',
        '/auth%2fforward',
        '/AUTH/forward',
        '/auth/forward;x',
      ]
      for (const target of paths) {
        const { status, headers: sent } = await client.ask(`https://${own}/`, { target, headers })
        if (target.startsWith('/auth/forward')) assert.equal(status, 404, target)
        else assert.ok([400, 401, 403, 404].includes(status), `${target}: ${status}`)
        assert.equal(sent['remote-user'], undefined, target)
      }
    })
  })
