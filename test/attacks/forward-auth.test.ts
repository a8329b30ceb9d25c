// Forward authentication: forged headers, codes and cookies of others, redirects elsewhere. Each is refused, and audited where an
// account or a configured host is concerned.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { engines } from '#test/harness/engines.ts'
import { nextMinute } from '#test/harness/minute.ts'
import { plainRequest } from '#test/harness/plain-request.ts'
import { asPage, forwarded, GuardedSite, passedOf, ProxiedBrowser } from '../forward-auth/harness.ts'
import { whoAmI } from '../login/harness.ts'

const app = 'app.example.com'
const other = 'other.example.org'

describe('attacks on forward authentication', () => {
  const site = new GuardedSite(engines[0]!, (own) => ({
    hosts: {
      [own]: { allow: 'signed-in' },
      [app]: { allow: 'signed-in', paths: { '/public/*': 'everyone', '/admin/*': { roles: ['admin'] } } },
      [other]: { allow: 'signed-in' },
    },
  }))

  /** Follows a sign-in at a host up to the callback, without calling it. */
  async function upToCallback(browser: ProxiedBrowser, address = `http://${app}/page`): Promise<URL> {
    let url = new URL(address)
    while (url.pathname !== '/.postern/callback') {
      const answer = await browser.go(url, { headers: asPage })
      url = new URL(answer.headers.get('location')!, url)
    }
    return url
  }

  let minutes = 0
  let audited = 0
  // Each test has the audit log's allowance of a minute for itself.
  beforeEach(() => {
    site.shift = (minutes += 2) * 60_000
  })

  /** Holds the last entry about a refusal to be new, and to have this code. */
  async function assertAudited(code: string, target: string | null = null): Promise<void> {
    const entries = await site.audited('forward_auth.refused')
    assert.ok(entries.length > audited, 'nothing was audited')
    audited = entries.length
    assert.equal(entries.at(-1)?.code, code)
    assert.equal(entries.at(-1)?.target, target)
  }

  async function assertRefused(answer: Response, code: string, host = app): Promise<void> {
    assert.equal(answer.status, 403)
    assert.equal(answer.headers.get('location'), null)
    assert.deepEqual(answer.headers.getSetCookie(), [])
    await assertAudited(code, `host:${host}`)
  }

  test('login CSRF: a callback of an attacker signs nobody in at the host', async () => {
    const attacker = await site.signedIn('csrf-attacker')
    for (const victim of [new ProxiedBrowser(site.service), await site.signedIn('csrf-victim')]) {
      const callback = await upToCallback(attacker)
      // The victim may be in the middle of a sign-in too.
      await victim.go(`http://${app}/.postern/start?return_to=/`)
      await assertRefused(await victim.go(callback), 'other-browser')
      assert.equal(victim.cookies(`http://${app}`).has('postern_host'), false)
    }
  })

  test('a sign-in that an attacker began for a victim gives the attacker nothing', async () => {
    const [attacker, victim] = [new ProxiedBrowser(site.service), await site.signedIn('led-victim')]
    const start = await attacker.go(`http://${app}/.postern/start?return_to=/`)
    // The attacker's page leads the victim's browser to the service, with the attacker's binding.
    const led = await victim.go(start.headers.get('location')!)
    const callback = new URL(led.headers.get('location')!)
    assert.equal(callback.origin, `http://${app}`)
    await assertRefused(await victim.go(callback), 'other-browser')
  })

  test('a code is used once, also by two requests at the same time; all lead to the page', async () => {
    const browser = await site.signedIn('replay')
    const callback = await upToCallback(browser, `http://${app}/page?x=1`)
    const answers = await Promise.all(Array.from({ length: 8 }, () => browser.go(callback)))
    answers.push(await browser.go(callback))
    for (const { status, headers } of answers)
      assert.deepEqual([status, headers.get('location')], [303, '/page?x=1'])
    assert.equal(answers.filter(({ headers }) => headers.getSetCookie().length > 0).length, 1)
    assert.equal((await site.audited('forward_auth.signed_in')).length, 1)
  })

  test('another host or another browser can neither use a code nor use it up', async () => {
    const browser = await site.signedIn('other-host')
    const stranger = await site.signedIn('stranger')
    for (const one of [browser, stranger]) await one.go(`http://${other}/.postern/start?return_to=/`)
    const callback = await upToCallback(browser)
    const moved = new URL(callback)
    moved.host = other
    await assertRefused(await browser.go(moved), 'other-host', other)
    await assertRefused(await stranger.go(moved), 'other-host', other)
    await assertRefused(await stranger.go(callback), 'other-browser')
    await assertRefused(await new ProxiedBrowser(site.service).go(callback), 'other-browser')
    assert.equal((await browser.go(callback)).headers.getSetCookie().length, 1)
  })

  test('a code expires, and ends with its session: the page begins the sign-in again', async () => {
    const late = await site.signedIn('late')
    const callback = await upToCallback(late)
    site.shift += 61_000
    const ended = await site.signedIn('ended')
    const after = await upToCallback(ended)
    await ended.go(`${site.service.baseUrl}/auth/logout`, { method: 'POST' })
    for (const [browser, url] of [
      [late, callback],
      [ended, after],
    ] as const) {
      const { status, headers } = await browser.go(url)
      assert.deepEqual([status, headers.get('location'), headers.getSetCookie()], [303, '/page', []])
    }
    await passedOf((await late.open(`http://${app}/page`)).response)
    assert.equal((await ended.open(`http://${app}/page`)).url.pathname, '/login')
  })

  test('made-up codes are refused', async () => {
    const browser = await site.signedIn('made-up')
    await browser.go(`http://${app}/.postern/start?return_to=/`)
    const queries = ['x', 'A'.repeat(43), '%00', "' or 1=1 --"].map(
      (code) => `?code=${encodeURIComponent(code)}`,
    )
    for (const query of [...queries, '?code=', ''])
      await assertRefused(await browser.go(`http://${app}/.postern/callback${query}`), 'unknown-code')
  })

  test('the cookie of one host is refused at another', async () => {
    const browser = await site.signedIn('cookie-thief')
    await passedOf((await browser.open(`http://${app}/`)).response)
    const cookie = `postern_host=${browser.cookies(`http://${app}`).get('postern_host')}`
    assert.equal((await site.ask(undefined, app, '/', { headers: { cookie } })).status, 204)
    assert.equal((await site.ask(undefined, other, '/', { headers: { cookie } })).status, 401)
    await assertAudited('other-host', `host:${other}`)
    // Nor is it a session of the service, under any name.
    const value = cookie.split('=')[1]!
    for (const name of ['postern_session', 'postern_host']) {
      const answer = await site.service.fetch('/auth/session', { headers: { cookie: `${name}=${value}` } })
      assert.equal(answer.status, 401)
    }
    assert.equal(
      (await site.ask(undefined, site.ownHost, '/', { headers: { cookie: `postern_session=${value}` } }))
        .status,
      401,
    )
  })

  test('the session cookie of the service is no cookie of another host', async () => {
    const browser = await site.signedIn('session-thief')
    const value = browser.cookies(site.service.baseUrl).get('postern_session')!
    for (const cookie of [
      `postern_session=${value}`,
      `postern_host=${value}`,
      `__Host-postern_host=${value}`,
    ])
      assert.equal((await site.ask(undefined, app, '/', { headers: { cookie } })).status, 401)
  })

  test('no address leads to another site', async () => {
    const browser = await site.signedIn('redirected')
    const targets = [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example/',
      '/\t/evil.example',
      'javascript:alert(1)',
      '\\\\evil.example',
      '/%0d%0aset-cookie:a=b',
    ]
    for (const target of targets) {
      const wanted = encodeURIComponent(target)
      const { url, response } = await browser.open(`http://${app}/.postern/start?return_to=${wanted}`)
      assert.equal(url.host, app, target)
      assert.equal(response.headers.get('set-cookie'), null)
      const direct = await browser.go(
        `${site.service.baseUrl}/.postern/sign-in?host=${app}&browser=${'a'.repeat(43)}&return_to=${wanted}`,
      )
      assert.equal(new URL(direct.headers.get('location')!).host, app)
      // What a proxy passes on as the path.
      const page = await site.ask(undefined, app, target.startsWith('/') ? target.replace('\t', '') : '/', {
        headers: asPage,
      })
      assert.equal(new URL(page.headers.get('location')!).host, app)
    }
  })

  test('codes go to hosts of the configuration only', async () => {
    const browser = await site.signedIn('elsewhere')
    for (const host of [
      'evil.example',
      `${app}.evil.example`,
      `${app}@evil.example`,
      `${app}:81`,
      `evil.example/${app}`,
      '',
      site.ownHost,
    ]) {
      const query = new URLSearchParams({ host, browser: 'a'.repeat(43), return_to: '/' })
      const answer = await browser.go(`${site.service.baseUrl}/.postern/sign-in?${query.toString()}`)
      assert.equal(answer.status, 403, host)
      assert.equal(answer.headers.get('location'), null)
    }
    await assertAudited('unknown-host')
  })

  test('a forged or doubled X-Forwarded-Host is refused', async () => {
    const browser = await site.signedIn('forged-host')
    await browser.open(`http://${app}/`)
    for (const host of ['evil.example', `${app}, ${other}`, `${app}:8443`, `${app}\\@x`, '']) {
      const answer = await site.ask(browser, app, '/', { headers: { 'x-forwarded-host': host, ...asPage } })
      assert.equal(answer.status, 403, host)
      assert.equal(answer.headers.get('location'), null)
      assert.equal(answer.headers.get('remote-user'), null)
    }
    for (const code of ['unknown-host', 'unreadable'])
      assert.ok(
        (await site.audited('forward_auth.refused')).some((entry) => entry.code === code),
        code,
      )
  })

  test('a path in disguise gets no other rule', async () => {
    const browser = await site.signedIn('disguised')
    await browser.open(`http://${app}/`)
    for (const path of [
      '/public/../admin',
      '/public/%2e%2e/admin/x',
      '/public%2f..%2fadmin',
      '//admin',
      '/%61dmin',
      '/public/..;/admin',
      '/admin;x',
      '/ADMIN/x',
    ]) {
      assert.equal((await site.ask(browser, app, path)).status, 403, path)
      assert.notEqual((await site.ask(undefined, app, path)).status, 204, path)
    }
    assert.equal((await site.ask(browser, app, '/public/x#/../admin')).status, 403)
    const doubled = { ...forwarded(app, '/public/x'), 'x-forwarded-uri': '/public/x, /admin' }
    assert.equal((await site.service.fetch('/auth/forward', { headers: doubled })).status, 403)
  })

  test('a peer that is no trusted proxy is not believed', async () => {
    const browser = await site.signedIn('untrusted')
    await browser.open(`http://${app}/`)
    const cookie = [...browser.cookies(`http://${app}`)].map((pair) => pair.join('=')).join('; ')
    const headers = { cookie, ...forwarded(app, '/') }
    const from = (localAddress: string, path: string, more = {}) =>
      plainRequest(site.service.baseUrl, path, { localAddress, headers: { ...headers, ...more } })
    assert.equal((await from('127.0.0.1', '/auth/forward')).status, 204)
    assert.equal((await from('127.0.0.9', '/auth/forward')).status, 403)
    assert.equal((await from('127.0.0.9', '/auth/forward/', { host: app })).status, 403)
    await assertAudited('untrusted-proxy')
    // The pages at the host do not believe it either.
    const start = await from('127.0.0.9', '/.postern/start?return_to=/')
    assert.deepEqual([start.status, start.headers.location], [403, undefined])
  })

  test('client-sent identity headers and odd names do not get through', async () => {
    site.provider.profile = { id: 'odd', displayName: 'a\r\nRemote-Groups: admin, ü, %0d%0a' }
    const browser = new ProxiedBrowser(site.service)
    await browser.open(`${site.service.baseUrl}/auth/acme`)
    const forged = { 'remote-user': 'admin', 'remote-groups': 'admin', 'remote-email': 'root@example.com' }
    const answer = await site.ask(browser, site.ownHost, '/', { headers: forged })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers.get('remote-user'), (await whoAmI(site.service, browser))!.id)
    // They are sent, empty, so that the proxy replaces what the client sent.
    assert.equal(answer.headers.get('remote-groups'), '')
    assert.equal(answer.headers.get('remote-email'), '')
    assert.doesNotMatch(answer.headers.get('remote-name')!, /[\r\n]/)
  })

  test('refusals do not fill the audit log', async () => {
    const before = (await site.audited('forward_auth.refused')).length
    site.stoppedAt = nextMinute()
    for (let count = 0; count < 50; count += 1) {
      const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '198.51.100.77' }
      assert.equal((await site.ask(undefined, app, '/', { headers })).status, 403)
    }
    assert.equal((await site.audited('forward_auth.refused')).length - before, 10)
  })
})
