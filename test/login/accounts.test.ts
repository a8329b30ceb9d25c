import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser } from '#test/harness/browser.ts'
import { onEachEngine } from '#test/harness/engines.ts'
import { adminKey } from '#test/harness/service.ts'
import { assertFails, signIn, upToCallback, whoAmI } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('accounts', (engine) => {
  const site = new Site(engine, {
    providers: ['ACME', 'OTHER', 'THIRD'],
    env: { ADMIN_IDENTITIES: 'acme:boss, other:boss-too', SESSION_IDLE: '3600', SESSION_LIFETIME: '7200' },
  })

  test('signed out: 401 as problem details', async () => {
    for (const path of ['/auth/session', '/auth/sessions', '/auth/identities']) {
      const response = await site.service.fetch(path)
      assert.equal(response.status, 401)
      assert.match(response.headers.get('content-type')!, /problem\+json/)
      assert.equal(response.headers.get('cache-control'), 'no-store')
    }
  })

  test('signing out revokes the session on the server, so that a copied cookie is invalid', async () => {
    const browser = await site.signedIn('out')
    const copied = browser.cookies(site.service.baseUrl).get('postern_session')!
    const script = { ...site.sameOrigin, accept: 'application/json, text/html;q=0.5' }
    assert.equal((await site.call(browser, 'POST', '/auth/logout', script)).status, 204)
    assert.equal(browser.cookies(site.service.baseUrl).get('postern_session'), undefined)
    const again = await site.service.fetch('/auth/session', {
      headers: { cookie: `postern_session=${copied}` },
    })
    assert.equal(again.status, 401)
  })

  test('a plain form signs out and is redirected to /login, also with an expired session', async () => {
    const browser = await site.signedIn('form')
    const form = {
      ...site.sameOrigin,
      accept: 'text/html,*/*',
      'content-type': 'application/x-www-form-urlencoded',
    }
    for (let time = 0; time < 2; time += 1) {
      const answer = await site.call(browser, 'POST', '/auth/logout', form)
      assert.equal(answer.status, 303)
      assert.equal(answer.headers.get('location'), '/login')
    }
    assert.equal(await whoAmI(site.service, browser), undefined)
  })

  test('a page of another site cannot sign out, unlink, revoke or start a link', async () => {
    const browser = await site.signedIn('csrf')
    const [session] = await site.data<{ id: string }>(browser, '/auth/sessions')
    const calls = [
      ['POST', '/auth/logout'],
      ['DELETE', `/auth/sessions/${session!.id}`],
      ['DELETE', '/auth/identities/acme'],
      ['POST', '/auth/other/link'],
    ] as const
    for (const [method, path] of calls) {
      for (const headers of [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'null' },
      ]) {
        assert.equal(
          (await site.call(browser, method, path, headers as Record<string, string>)).status,
          403,
          `${method} ${path}`,
        )
      }
    }
    assert.equal(
      (await site.call(browser, 'GET', '/auth/other/link')).status,
      405,
      'a GET never starts a link',
    )
    assert.ok(await whoAmI(site.service, browser))
  })

  test("a form of the service's pages is accepted, although its Origin is `null`", async () => {
    const browser = await site.signedIn('own-form')
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' }
    assert.equal((await site.call(browser, 'POST', '/auth/logout', headers)).status, 204)
  })

  test('devices are listed without tokens, with the current one marked, and revoked by their owner only', async () => {
    const [first, second, stranger] = [
      await site.signedIn('dev'),
      await site.signedIn('dev'),
      await site.signedIn('stranger'),
    ]
    const sessions = await site.data<{ id: string; current: boolean }>(first, '/auth/sessions')
    assert.equal(sessions.length, 2)
    assert.equal(sessions.filter(({ current }) => current).length, 1)
    const token = first.cookies(site.service.baseUrl).get('postern_session')!
    assert.ok(!JSON.stringify(sessions).includes(token))
    const other = sessions.find(({ current }) => !current)!
    assert.equal((await site.call(stranger, 'DELETE', `/auth/sessions/${other.id}`)).status, 404)
    assert.equal((await site.call(first, 'DELETE', '/auth/sessions/nonsense%00')).status, 404)
    assert.ok(await whoAmI(site.service, second))
    assert.equal((await site.call(first, 'DELETE', `/auth/sessions/${other.id}`)).status, 204)
    assert.equal((await site.call(first, 'DELETE', `/auth/sessions/${other.id}`)).status, 404)
    assert.equal(await whoAmI(site.service, second), undefined)
  })

  test('a session expires when idle, is extended by use, and has an absolute expiry', async () => {
    const [used, idle] = [await site.signedIn('clock'), await site.signedIn('clock')]
    const seen = async (): Promise<number> => {
      const { id } = (await site.data<{ id: string; current: boolean }>(used, '/auth/sessions')).find(
        ({ current }) => current,
      )!
      const row = await site.service.database.reader
        .selectFrom('sessions')
        .select('last_seen_at')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      return row.last_seen_at
    }
    const before = await seen()
    site.shift = 20_000
    await whoAmI(site.service, used)
    assert.equal(await seen(), before, 'last seen is written at most once a minute')
    site.shift = 3_500_000
    await whoAmI(site.service, used)
    while ((await seen()) === before) await new Promise((resume) => setImmediate(resume))
    site.shift = 3_700_000
    assert.ok(await whoAmI(site.service, used))
    assert.equal(await whoAmI(site.service, idle), undefined)
    while ((await seen()) < Date.now() + 3_600_000) await new Promise((resume) => setImmediate(resume))
    site.shift = 7_100_000
    assert.ok(await whoAmI(site.service, used))
    site.shift = 7_210_000
    assert.equal(await whoAmI(site.service, used), undefined)
  })

  test('linking: the identity signs in as the same user, and the session gets a new token', async () => {
    const browser = await site.signedIn('linker')
    const token = browser.cookies(site.service.baseUrl).get('postern_session')
    assert.equal((await site.link(browser, 'linked')).headers.get('location'), '/dashboard')
    assert.notEqual(browser.cookies(site.service.baseUrl).get('postern_session'), token)
    const identities = await site.data<{ provider: string; providerId: string }>(browser, '/auth/identities')
    assert.deepEqual(
      identities.map(({ provider, providerId }) => `${provider}:${providerId}`),
      ['acme:linker', 'other:linked'],
    )
    const me = (await whoAmI(site.service, browser))!
    assert.equal((await whoAmI(site.service, await site.signedIn('linked', '/auth/other')))!.id, me.id)
    assert.equal(
      (await site.link(browser, 'linked')).headers.get('location'),
      '/dashboard',
      'twice is no fault',
    )
  })

  test('an identity of another user cannot be linked and stays there', async () => {
    const owner = await site.signedIn('owner', '/auth/other')
    const browser = await site.signedIn('thief')
    const answer = await site.link(browser, 'owner')
    assert.match(answer.headers.get('location')!, /^\/login\?error=identity-taken/)
    assert.notEqual((await whoAmI(site.service, browser))!.id, (await whoAmI(site.service, owner))!.id)
    assert.equal((await site.data(browser, '/auth/identities')).length, 1)
  })

  test('a link that is finished after a sign-out, or by another user, links nothing', async () => {
    for (const swap of [true, false]) {
      const browser = await site.signedIn(`swapped-${swap}`)
      const start = await site.call(browser, 'POST', '/auth/other/link', site.sameOrigin)
      if (swap) await signIn(site.service, browser)
      else await site.call(browser, 'POST', '/auth/logout', site.sameOrigin)
      site.provider.profile = { id: `never-${swap}` }
      const answer = await site.finish(browser, start)
      assert.match(answer.headers.get('location')!, /^\/login\?error=session-changed/)
      const row = await site.service.database.reader
        .selectFrom('identities')
        .selectAll()
        .where('provider_id', '=', `never-${swap}`)
        .executeTakeFirst()
      assert.equal(row, undefined)
    }
  })

  test('linking needs a browser session, and refuses an API key', async () => {
    assert.equal((await site.service.fetch('/auth/other/link', { method: 'POST' })).status, 401)
    const headers = { authorization: `Bearer ${adminKey}` }
    assert.equal((await site.service.fetch('/auth/other/link', { method: 'POST', headers })).status, 403)
    assert.equal((await site.service.fetch('/auth/session', { headers })).status, 403)
  })

  test('a form that starts a link gets a page with a redirect, because form-action blocks redirects', async () => {
    const browser = await site.signedIn('form-link')
    const form = {
      ...site.sameOrigin,
      'sec-fetch-dest': 'document',
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
    }
    const answer = await site.call(browser, 'POST', '/auth/other/link', form)
    assert.equal(answer.status, 200)
    const target = answer.headers.get('refresh')!.replace('0;url=', '')
    assert.ok(target.startsWith(`${site.provider.url}/authorize?`))
    assert.ok((await answer.text()).includes(target.replaceAll('&', '&amp;')))
  })

  test('the last identity cannot be unlinked; the user record moves to a remaining one', async () => {
    const browser = await site.signedIn('unlinker')
    const refused = await site.call(browser, 'DELETE', '/auth/identities/acme')
    assert.equal(refused.status, 409)
    assert.equal(((await refused.json()) as { code: string }).code, 'last-identity')
    await site.link(browser, 'unlinker-2')
    assert.equal((await site.call(browser, 'DELETE', '/auth/identities/third')).status, 404)
    assert.equal((await site.call(browser, 'DELETE', '/auth/identities/acme')).status, 204)
    const { id } = (await whoAmI(site.service, browser))!
    const user = await site.service.database.reader
      .selectFrom('users')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    assert.equal(`${user.provider}:${user.provider_id}`, 'other:unlinker-2')
    assert.notEqual(
      (await whoAmI(site.service, await site.signedIn('unlinker')))!.id,
      id,
      'the unlinked identity is nobody now',
    )
  })

  test('two concurrent unlinks leave one identity', async () => {
    for (let round = 0; round < 5; round += 1) {
      const browser = await site.signedIn(`race-${round}`)
      await site.link(browser, `race-${round}`)
      const answers = await Promise.all(
        ['acme', 'other'].map((name) => site.call(browser, 'DELETE', `/auth/identities/${name}`)),
      )
      assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['204', '409'])
      assert.equal((await site.data(browser, '/auth/identities')).length, 1)
    }
  })

  test('ADMIN_IDENTITIES makes admins by any linked identity, and by nothing else', async () => {
    assert.equal((await whoAmI(site.service, await site.signedIn('boss')))!.role, 'admin')
    assert.equal((await whoAmI(site.service, await site.signedIn('boss', '/auth/other')))!.role, 'user')
    const browser = await site.signedIn('rises')
    assert.equal((await whoAmI(site.service, browser))!.role, 'user')
    await site.link(browser, 'boss-too')
    assert.equal((await whoAmI(site.service, browser))!.role, 'admin')
    await site.call(browser, 'DELETE', '/auth/identities/other')
    assert.equal((await whoAmI(site.service, browser))!.role, 'user')
  })

  test('return_to leads only to pages of the service', async () => {
    const good = new Browser()
    site.provider.profile = { id: 'returns' }
    assert.equal(
      await signIn(site.service, good, '/auth/acme?return_to=%2Forders%3Fpage%3D2%23top'),
      '/orders?page=2#top',
    )
    for (const bad of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/%09/evil.example',
      'javascript:alert(1)',
    ]) {
      const path = `/auth/acme?return_to=${bad.includes('%') ? bad : encodeURIComponent(bad)}`
      assert.equal(await signIn(site.service, new Browser(), path), '/dashboard')
    }
  })

  test('malformed cookies and Authorization headers are 401, never 500', async () => {
    for (const cookie of [
      'postern_session=x',
      'postern_session=%00',
      'postern_session=%',
      `postern_session=${'a'.repeat(8_000)}`,
    ]) {
      assert.equal((await site.service.fetch('/auth/session', { headers: { cookie } })).status, 401)
    }
    for (const authorization of [
      'Bearer',
      'Bearer x y',
      'Basic eDp5',
      'Bearer eyJ.eyJ.x',
      'Bearer eyJhbGciOiJub25lIn0.eyJh.AA',
      'Bearer pk_x',
    ]) {
      assert.equal((await site.service.fetch('/auth/session', { headers: { authorization } })).status, 401)
    }
  })

  test('/login has a button for each provider, escaped error messages, and the signed-in user', async () => {
    const anonymous = await (await site.service.fetch('/login?return_to=/orders')).text()
    for (const name of ['acme', 'other', 'third', 'demo'])
      assert.ok(anonymous.includes(`href="/auth/${name}?return_to=%2Forders"`))
    const failed = await (await site.service.fetch('/login?error=access-denied&id=abc12345')).text()
    assert.match(failed, /You canceled the sign-in/)
    assert.match(failed, /<span>abc1<\/span><span>2345<\/span>/)
    const hostile = await (
      await site.service.fetch('/login?error=%3Cscript%3Ex&id=%3Cscript%3Ey&return_to=%22%3E%3Cscript%3Ez')
    ).text()
    assert.ok(!hostile.includes('<script'))
    const browser = await site.signedIn('<b>Ada</b>')
    const page = await site.call(browser, 'GET', '/login')
    assert.ok((await page.clone().text()).includes('signed in as <strong>&lt;b&gt;Ada&lt;/b&gt;'))
    assert.match(page.headers.get('content-security-policy')!, /script-src 'self'/)
  })

  test('demo mode: other loopback names are redirected to BASE_URL', async () => {
    const { port } = new URL(site.service.baseUrl)
    for (const path of ['/login?x=1', '/auth/demo?return_to=/a']) {
      const response = await fetch(`http://localhost:${port}${path}`, { redirect: 'manual' })
      assert.equal(response.headers.get('location'), site.service.baseUrl + path)
    }
  })

  test('a login state cannot link, and a link state cannot sign in', async () => {
    const browser = await site.signedIn('states')
    const callback = await upToCallback(site.service, browser)
    site.provider.profile = { id: 'states-other' }
    await browser.go(callback)
    assert.equal((await site.data(browser, '/auth/identities')).length, 1)
    const start = await site.call(browser, 'POST', '/auth/other/link', site.sameOrigin)
    const back = await browser.go(start.headers.get('location')!)
    await site.call(browser, 'POST', '/auth/logout', site.sameOrigin)
    await assertFails(site.service, browser, new URL(back.headers.get('location')!), 'session-changed')
  })
})
