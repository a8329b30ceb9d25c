// What GET /auth/forward answers to proxies.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { engines, onEachEngine } from '#test/harness/engines.ts'
import { nextMinute } from '#test/harness/minute.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import type { ForwardAuthConfig } from '../../src/forward-auth/config.ts'
import { signIn, whoAmI } from '../login/harness.ts'
import { asPage, forwarded, GuardedSite, ProxiedBrowser, passedOf } from './harness.ts'

const app = 'app.example.com'

onEachEngine('forward authentication', (engine) => {
  const env = { ACME_GROUPS_CLAIM: 'groups', OTHER_GROUPS_CLAIM: 'groups' }
  const config = (own: string): ForwardAuthConfig => ({
    hosts: {
      [own]: { allow: 'signed-in' },
      [app]: {
        allow: 'signed-in',
        paths: {
          '/health': 'everyone',
          '/assets/*': 'everyone',
          '/assets/private/*': 'signed-in',
          '/admin/*': { roles: ['admin'] },
          '/staff/*': { emailDomains: ['staff.example'] },
          '/sales/*': { groups: ['sales'] },
          '/operators/*': { groups: ['operators'] },
          '/acme-sales/*': { providers: ['acme'], groups: ['sales'] },
          '/ada': [{ identities: ['acme:ada'] }, { roles: ['admin'] }],
        },
        token: true,
      },
      'other.example.org': { allow: 'signed-in' },
    },
  })
  const site = new GuardedSite(engine, config, env)

  test('a page without a session is redirected to the sign-in, with its address', async () => {
    const own = await site.ask(undefined, site.ownHost, '/app/x?y=1&z=2', { headers: asPage })
    assert.equal(own.status, 302)
    assert.equal(
      own.headers.get('location'),
      `${site.service.baseUrl}/login?return_to=${encodeURIComponent('/app/x?y=1&z=2')}`,
    )
    const other = await site.ask(undefined, app, '/x?y=1&z=2', { headers: asPage })
    assert.equal(other.status, 302)
    assert.equal(
      other.headers.get('location'),
      `http://${app}/.postern/start?return_to=${encodeURIComponent('/x?y=1&z=2')}`,
    )
    assert.equal(other.headers.get('cache-control'), 'no-store')
  })

  test('a proxy that guards the sign-in of another host is told so, instead of a redirect to it without an end', async () => {
    for (const uri of ['/.postern/start?return_to=%2F', '/.postern/callback?code=x']) {
      const answer = await site.ask(undefined, app, uri, { headers: asPage })
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /pass \/\.postern\/ of this host on to Postern/)
    }
    assert.equal((await site.audited('forward_auth.refused')).at(-1)?.code, 'guarded-sign-in')
    const own = await site.ask(undefined, site.ownHost, '/.postern/start', { headers: asPage })
    assert.equal(own.status, 302)
  })

  test('for nginx the redirect is 401 with Location', async () => {
    const headers = { 'x-forwarded-host': app, 'x-forwarded-uri': '/x', 'x-forwarded-method': 'GET' }
    const answer = await site.service.fetch('/auth/forward?for=nginx', { headers: { ...headers, ...asPage } })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('location'), `http://${app}/.postern/start?return_to=%2Fx`)
    const asset = await site.service.fetch('/auth/forward?for=nginx', { headers })
    assert.equal(asset.status, 401)
    assert.equal(asset.headers.get('location'), null)
  })

  test('what is no page gets 401, and a form a page that says that nothing was saved', async () => {
    for (const [method, headers] of [
      ['GET', { accept: 'image/png', 'sec-fetch-dest': 'image' }],
      ['GET', { accept: 'text/event-stream' }],
      ['GET', { accept: 'text/html', 'sec-fetch-dest': 'iframe' }],
      ['GET', { accept: '*/*' }],
      ['GET', { accept: 'application/json, text/html;q=0.5' }],
      ['POST', { accept: 'application/json' }],
      ['PUT', {}],
      ['OPTIONS', { origin: 'https://spa.example', 'access-control-request-method': 'POST' }],
    ] as const) {
      const answer = await site.ask(undefined, app, '/x', { method, headers })
      assert.equal(answer.status, 401)
      assert.equal(answer.headers.get('location'), null)
      assert.match(((await answer.json()) as { detail: string }).detail, /not passed on/)
    }
    const form = await site.ask(undefined, app, '/save', { method: 'POST', headers: asPage })
    assert.equal(form.status, 401)
    const page = await form.text()
    assert.match(page, /nothing was saved/)
    assert.match(page, new RegExp(`href="http://${app}/.postern/start\\?return_to=%2F"`))
  })

  test('a session of the own host passes, with the headers of the person and without the cookies of the service', async () => {
    const browser = await site.signedIn('zoe', { displayName: 'Zoë, 50 %', emails: [] })
    const own = browser.cookies(site.service.baseUrl)
    // The application's own, also under names that Postern once had.
    for (const name of ['theme', 'flow', 'flow-step']) own.set(name, 'dark')
    own.set('postern_browser-abcdefgh', 'A'.repeat(43))
    const answer = await site.ask(browser, site.ownHost, '/app')
    assert.equal(answer.status, 204)
    const { id } = (await whoAmI(site.service, browser))!
    assert.equal(answer.headers.get('remote-user'), id)
    assert.equal(answer.headers.get('remote-name'), 'Zo%C3%AB, 50 %25')
    assert.equal(answer.headers.get('remote-email'), '')
    assert.equal(answer.headers.get('remote-groups'), '')
    assert.equal(answer.headers.get('remote-token'), '')
    assert.equal(answer.headers.get('cookie'), 'theme=dark; flow=dark; flow-step=dark')
  })

  test('a proxy that skips empty values still replaces a cookie of the service', async () => {
    const browser = await site.signedIn('cookie')
    assert.equal((await site.ask(browser, site.ownHost, '/app')).headers.get('cookie'), 'postern=removed')
    // Without a cookie in the request there is nothing to replace.
    assert.equal((await site.ask(undefined, app, '/health')).headers.get('cookie'), '')
  })

  test('another host signs in by itself when the session exists, returns to the page, and gets a cookie of its own', async () => {
    const browser = await site.signedIn('grace')
    const { response, url } = await browser.open(`http://${app}/deep/page?a=1&b=%20`)
    const { uri, headers } = await passedOf(response)
    assert.equal(uri, '/deep/page?a=1&b=%20')
    assert.equal(url.host, app)
    assert.equal(headers['remote-user'], (await whoAmI(site.service, browser))!.id)
    assert.ok(browser.cookies(`http://${app}`).has('postern_host'))
    assert.doesNotMatch(headers['cookie']!, /postern_/)
    const session = browser.cookies(site.service.baseUrl).get('postern_session')
    assert.notEqual(browser.cookies(`http://${app}`).get('postern_host'), session)
  })

  test('another host without a session leads to /login and back', async () => {
    const browser = new ProxiedBrowser(site.service)
    const { url } = await browser.open(`http://${app}/start?q=1`)
    assert.equal(url.origin + url.pathname, `${site.service.baseUrl}/login`)
    site.provider.profile = { id: 'alan', displayName: 'Alan' }
    const returnTo = encodeURIComponent(url.searchParams.get('return_to')!)
    const { response } = await browser.open(`${site.service.baseUrl}/auth/acme?return_to=${returnTo}`)
    const { uri, headers } = await passedOf(response)
    assert.equal(uri, '/start?q=1')
    assert.equal(headers['remote-name'], 'Alan')
  })

  test('tabs that open a host at the same time all get to their pages', async () => {
    const browser = await site.signedIn('tabs')
    const tabs = Array.from({ length: 6 }, (_, tab) => browser.open(`http://${app}/tab/${tab}`))
    const uris = await Promise.all(tabs.map(async (tab) => (await passedOf((await tab).response)).uri))
    assert.deepEqual(uris, ['/tab/0', '/tab/1', '/tab/2', '/tab/3', '/tab/4', '/tab/5'])
  })

  test('the token names the person, is for this host only, and verifies from the JWKS alone', async () => {
    const browser = await site.signedIn('signed')
    const { headers } = await passedOf((await browser.open(`http://${app}/`)).response)
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', site.service.baseUrl))
    const { payload, protectedHeader } = await jwtVerify(headers['remote-token']!, keys, {
      issuer: site.service.baseUrl,
      audience: `http://${app}`,
      algorithms: ['ES256'],
      typ: 'forward-auth+jwt',
    })
    assert.equal(payload.sub, headers['remote-user'])
    assert.equal(payload['name'], 'signed')
    assert.equal(payload.exp! - payload.iat!, 60)
    assert.equal(protectedHeader.alg, 'ES256')
    // It is no credential of the service itself.
    const bearer = { authorization: `Bearer ${headers['remote-token']}` }
    assert.equal((await site.service.fetch('/auth/session', { headers: bearer })).status, 401)
  })

  test('paths for everyone need no session, and name the person if there is one', async () => {
    for (const uri of ['/health', '/health?x', '/assets', '/assets/app.js', '/assets/x/y']) {
      const answer = await site.ask(undefined, app, uri)
      assert.equal(answer.status, 204, uri)
      assert.equal(answer.headers.get('remote-user'), '')
      assert.equal(answer.headers.get('remote-token'), '')
    }
    for (const uri of ['/healthy', '/assets/private/x', '/assetsx', '/'])
      assert.equal((await site.ask(undefined, app, uri)).status, 401, uri)
  })

  test('rules by role, verified domain and identity; a refusal is audited', async () => {
    const ada = await site.signedIn('ada')
    await ada.open(`http://${app}/`)
    const status = async (uri: string, browser = ada) => (await site.ask(browser, app, uri)).status
    assert.equal(await status('/ada'), 204)
    assert.equal(await status('/admin'), 403)
    assert.equal(await status('/admin/users'), 403)
    const { id } = (await whoAmI(site.service, ada))!
    const entry = { code: 'forbidden', target: `host:${app}`, user_id: id }
    assert.partialDeepStrictEqual((await site.audited('forward_auth.forbidden')).slice(-2), [entry, entry])
    const page = await site.ask(ada, app, '/admin/users', { headers: asPage })
    assert.equal(page.status, 403)
    assert.match(await page.text(), /You are signed in as <strong>ada/)
    const bob = await site.signedIn('bob', { emails: [{ value: 'bob@staff.example' }] })
    await bob.open(`http://${app}/`)
    assert.equal(await status('/ada', bob), 403)
    assert.equal(await status('/staff/x', bob), 403)
    await site.service.database.transaction((tx) =>
      tx
        .updateTable('identities')
        .set({ email: 'bob@staff.example', email_verified: 1 })
        .where('provider_id', '=', 'bob')
        .execute(),
    )
    await site.service.database.transaction((tx) =>
      tx.updateTable('users').set({ email: 'bob@staff.example' }).where('provider_id', '=', 'bob').execute(),
    )
    site.shift = 31_000
    const staff = await site.ask(bob, app, '/staff/x')
    assert.equal(staff.status, 204)
    assert.equal(staff.headers.get('remote-email'), 'bob@staff.example')
  })

  test('groups and providers are those of the sign-in, and not of another identity', async () => {
    const named = (id: string, group: string): void =>
      void (site.provider.profile = { id, displayName: 'gina', groups: [group] })
    const seen = async (browser: ProxiedBrowser): Promise<unknown[]> => {
      const { headers } = await passedOf((await browser.open(`http://${app}/`)).response)
      const paths = ['/sales/x', '/operators/x', '/acme-sales/x']
      const answers = await Promise.all(paths.map((path) => site.ask(browser, app, path)))
      const claims = decodeJwt(headers['remote-token']!)
      return [answers.map(({ status }) => status), headers['remote-groups'], claims['groups']]
    }
    named('gina', 'sales')
    const first = new ProxiedBrowser(site.service)
    await signIn(site.service, first)
    assert.deepEqual(await seen(first), [[204, 403, 204], 'sales', ['sales']])
    named('gina-other', 'operators')
    const headers = { origin: site.service.baseUrl, 'sec-fetch-site': 'same-origin' }
    const link = `${site.service.baseUrl}/auth/other/link`
    const start = await first.go(link, { method: 'POST', headers })
    await first.follow(start.headers.get('location')!)
    site.shift += 31_000
    assert.deepEqual(await seen(first), [[204, 403, 204], 'sales', ['sales']])
    const second = new ProxiedBrowser(site.service)
    await signIn(site.service, second, '/auth/other')
    assert.equal((await whoAmI(site.service, second))!.id, (await whoAmI(site.service, first))!.id)
    assert.deepEqual(await seen(second), [[403, 204, 403], 'operators', ['operators']])
    named('gina-other', 'sales')
    await signIn(site.service, second, '/auth/other')
    site.shift += 31_000
    assert.deepEqual(await seen(second), [[204, 403, 403], 'sales', ['sales']])
    assert.deepEqual(await seen(first), [[204, 403, 204], 'sales', ['sales']])
  })

  test('an admin passes where the role is asked for, from the moment on that the role is given', async () => {
    const browser = await site.signedIn('root')
    const { id } = (await whoAmI(site.service, browser))!
    await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { role: 'admin' } })
    // Another role ends the sessions.
    assert.equal((await site.ask(browser, app, '/admin')).status, 401)
    const again = await site.signedIn('root')
    await again.open(`http://${app}/`)
    assert.equal((await site.ask(again, app, '/admin/users')).status, 204)
  })

  test('Envoy asks with the path behind /auth/forward, its own method and the Host', async () => {
    const browser = await site.signedIn('envoy')
    await browser.open(`http://${app}/`)
    const cookie = [...browser.cookies(`http://${app}`)].map((pair) => pair.join('=')).join('; ')
    const ask = async (path: string, more: Record<string, string>, method = 'GET') => {
      const headers = { host: app, ...more }
      return (await plainRequest(site.service.baseUrl, `/auth/forward${path}`, { method, headers })).status
    }
    // Envoy takes 200 only.
    assert.equal(await ask('/x?y=1', { cookie }), 200)
    assert.equal(await ask('/', { cookie }, 'POST'), 200)
    assert.equal(await ask('/admin', { cookie }), 403)
    assert.equal(await ask('/x', {}), 401)
    assert.equal(await ask('/x', asPage), 302)
    assert.equal(
      await ask(
        '/upload',
        { 'content-type': 'multipart/form-data; boundary=x', 'content-length': '0' },
        'POST',
      ),
      401,
    )
    // What a client adds does not count.
    assert.equal(
      await ask('/admin', {
        cookie,
        'x-forwarded-uri': '/health',
        'x-forwarded-host': 'other.example.org',
      }),
      403,
    )
  })

  for (const [name, end] of [
    [
      'a sign-out',
      (browser: ProxiedBrowser) => browser.go(`${site.service.baseUrl}/auth/logout`, { method: 'POST' }),
    ],
    [
      'a block',
      async (browser: ProxiedBrowser) => {
        const { id } = (await whoAmI(site.service, browser))!
        await site.service.admin(`/users/${id}`, { method: 'PATCH', json: { blocked: true } })
      },
    ],
    [
      'the end of its time',
      async () => {
        site.shift = 31 * 86_400_000
      },
    ],
  ] as const)
    test(`${name} ends the session at all hosts at once`, async () => {
      const browser = await site.signedIn(`ends-by-${name.replaceAll(' ', '-')}`)
      const hosts = [app, 'other.example.org']
      for (const host of hosts) await passedOf((await browser.open(`http://${host}/`)).response)
      for (const host of hosts) assert.equal((await site.ask(browser, host, '/')).status, 204)
      await end(browser)
      for (const host of hosts) assert.equal((await site.ask(browser, host, '/')).status, 401)
      assert.equal((await site.ask(browser, site.ownHost, '/')).status, 401)
    })

  test('linking an identity replaces the tokens of other hosts, as it does that of the session', async () => {
    const browser = await site.signedIn('links')
    await passedOf((await browser.open(`http://${app}/`)).response)
    const cookie = `postern_host=${browser.cookies(`http://${app}`).get('postern_host')}`
    assert.equal((await site.ask(undefined, app, '/', { headers: { cookie } })).status, 204)
    const headers = { origin: site.service.baseUrl, 'sec-fetch-site': 'same-origin' }
    site.provider.profile = { id: `linked-${Math.random()}`, displayName: 'links' }
    const start = await browser.go(`${site.service.baseUrl}/auth/other/link`, { method: 'POST', headers })
    await browser.follow(start.headers.get('location')!)
    assert.equal((await site.ask(undefined, app, '/', { headers: { cookie } })).status, 401)
    // The browser itself gets a new one without being asked.
    await passedOf((await browser.open(`http://${app}/`)).response)
  })
})

describe('limits of forward authentication', () => {
  const site = new GuardedSite(engines[0]!, (own) => ({ hosts: { [own]: { allow: 'signed-in' } } }), {
    RATE_LIMIT: 'on',
  })
  const token = (number: number) => `postern_session=${String(number).padStart(43, 'x')}`

  test('neither assets without a session nor those with one or with an ended one reach a limit', async () => {
    const browser = await site.signedIn('assets')
    const cookie = [...browser.cookies(site.service.baseUrl)].map((pair) => pair.join('=')).join('; ')
    const ask = (uri: string, more: Record<string, string>) =>
      plainRequest(site.service.baseUrl, '/auth/forward', {
        headers: { ...forwarded(site.ownHost, uri), ...more },
      })
    for (let count = 0; count < 4_000; count += 1)
      assert.equal((await ask(`/assets/${count}`, { cookie })).status, 204)
    for (let count = 0; count < 1_000; count += 1)
      assert.equal((await ask('/x', { cookie: token(0) })).headers['retry-after'], undefined)
  })

  test('an address with many invalid cookies waits; valid ones pass meanwhile', async () => {
    const browser = await site.signedIn('valid')
    assert.equal((await site.ask(browser, site.ownHost, '/')).status, 204)
    site.stoppedAt = nextMinute()
    let waits: Response | undefined
    for (let count = 1; count < 700 && !waits; count += 1) {
      const answer = await site.ask(undefined, site.ownHost, '/', {
        headers: { ...asPage, cookie: token(count) },
      })
      if (answer.status !== 302) waits = answer
    }
    assert.equal(waits?.status, 401)
    assert.equal(waits.headers.get('location'), null)
    assert.ok(Number(waits.headers.get('retry-after')) > 0)
    assert.equal((await site.ask(browser, site.ownHost, '/')).status, 204)
    const elsewhere = { cookie: token(9_999), 'x-forwarded-for': '198.51.100.1', ...asPage }
    assert.equal((await site.ask(undefined, site.ownHost, '/', { headers: elsewhere })).status, 302)
    site.shift = 61_000
    assert.equal(
      (await site.ask(undefined, site.ownHost, '/', { headers: { ...asPage, cookie: token(10_000) } }))
        .status,
      302,
    )
  })
})
