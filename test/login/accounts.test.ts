import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, rowsOf } from '#test/harness/index.ts'
import { whoAmI } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('accounts', (engine) => {
  const site = new Site(engine, {
    providers: ['ACME', 'OTHER', 'THIRD'],
    env: { ADMIN_IDENTITIES: 'acme:boss, other:boss-too', SESSION_IDLE: '3600', SESSION_LIFETIME: '7200' },
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

  test("a form of the service's pages is accepted, although its Origin is `null`", async () => {
    const browser = await site.signedIn('own-form')
    const headers = { origin: 'null', 'sec-fetch-site': 'same-origin' }
    assert.equal((await site.call(browser, 'POST', '/auth/logout', headers)).status, 204)
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
    const user = (await rowsOf(site.service, 'users', { id }))[0]!
    assert.equal(`${user.provider}:${user.provider_id}`, 'other:unlinker-2')
    assert.notEqual(
      (await whoAmI(site.service, await site.signedIn('unlinker')))!.id,
      id,
      'the unlinked identity is nobody now',
    )
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
})
